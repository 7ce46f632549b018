import type { PageState } from "../shell/shown.ts";
import { AgentFeed } from "./agent-feed.ts";
import { hasBeenHidden, hasBeenPressed, Listeners } from "./animation-frame.ts";
import {
  type AgentSummary,
  ApiError,
  type InboxItem,
  listAgents,
  listInbox,
  listMeshes,
  type MeshProjectView,
  meshProject,
  whenLockedOut,
} from "./api.ts";
import { isRecord } from "./event-frames.ts";
import { LiveSocket } from "./socket.ts";

const SHORTEST_MS = 1000;
const LONGEST_MS = 15_000;

/**
 * All agents of the home: their summaries, what waits for the person, and the feeds of those that are open. One store
 * for the page, outside React.
 */
class AgentList {
  state: PageState = "loading";
  problem = "";
  /** Whether there is something to be shown, however it stands now. */
  hasCome = false;
  /** Whether what is shown may be old: nobody tells us what happens. */
  isLost = false;
  /** The same: what we asked for did not come. */
  isOld = false;
  /** How often the connection has come to stand: what did not come before may come now. */
  opened = 0;
  list: AgentSummary[] = [];
  /** Deleted, and to be had back. */
  away: AgentSummary[] = [];
  unreadable: { id: string; why: string }[] = [];
  /** Whether there are more agents than are listed. */
  isCut = false;
  inbox: InboxItem[] = [];
  /** Whether the inbox has come, which is later than the list. */
  hasInbox = false;
  /** Whose record is an agent too, but none that thinks. */
  meshes: MeshProjectView[] = [];
  readonly #feeds = new Map<string, AgentFeed>();
  readonly #listeners = new Listeners();
  #isRefreshing = false;
  #isStale = false;
  /** Projects in whose meshes something has moved: nothing else need be asked for again. */
  #stirred = new Set<string>();
  #soon: ReturnType<typeof setTimeout> | undefined;
  #patience = SHORTEST_MS;
  #socket: LiveSocket | undefined;

  /** From now on the lists follow what happens. */
  start(): void {
    if (this.#socket) return;
    document.addEventListener("visibilitychange", hasBeenHidden);
    for (const type of ["pointerdown", "pointerup", "pointercancel"])
      document.addEventListener(type, hasBeenPressed, true);
    // A login may be over while its connections stand.
    whenLockedOut(() => this.state === "ready" && void this.refresh());
    // Logged in elsewhere: where the connections stand, none comes back to tell of it.
    const lookAgain = () => this.state === "locked" && !document.hidden && void this.refresh();
    document.addEventListener("visibilitychange", lookAgain);
    window.addEventListener("focus", lookAgain);
    this.#socket = new LiveSocket({
      address: () => "/events",
      heard: (frame) => this.#heard(frame),
      changed: (state) => {
        this.isLost = state === "lost";
        if (state === "open") this.opened += 1;
        if (state === "open" || this.state === "loading") void this.refresh();
        // Locked out, it says so.
        if ((state === "lost" && this.state === "ready") || state === "refused") void this.refresh();
        this.#listeners.changed();
      },
    });
  }

  /** Changes with everything that is read from here. */
  get version(): number {
    return this.#listeners.version;
  }

  subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener);

  feed(id: string): AgentFeed {
    let feed = this.#feeds.get(id);
    if (!feed) {
      feed = new AgentFeed(id);
      this.#feeds.set(id, feed);
    }
    return feed;
  }

  /** Asked while it is asking, it asks once more. */
  async refresh(): Promise<void> {
    this.#isStale = true;
    await this.#ask();
  }

  async #ask(): Promise<void> {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    try {
      while (this.#isStale || this.#stirred.size > 0) {
        const stirred = [...this.#stirred];
        this.#stirred.clear();
        if (!this.#isStale) {
          await Promise.all(stirred.map((id) => this.#refreshMeshes(id)));
          continue;
        }
        this.#isStale = false;
        const waiting = Promise.all([listInbox(), listMeshes().catch(() => this.meshes)]);
        waiting.catch(() => {}); // where the list does not come either, that is told
        this.#show(await listAgents());
        // What waits for the person is only known once every log has been read; the list need not wait for that.
        [this.inbox, this.meshes] = await waiting;
        this.hasInbox = true;
        this.isOld = false;
        this.#patience = SHORTEST_MS;
      }
    } catch (error) {
      const isLocked = error instanceof ApiError && (error.status === 401 || error.status === 403);
      if (isLocked) this.state = "locked";
      else if (!this.hasCome) this.state = "unreachable";
      this.problem = error instanceof Error ? error.message : String(error);
      this.isOld = true;
      // Without a key it is of no use; else nobody else would ask again while the socket is quiet.
      this.#isStale = !isLocked;
      if (!isLocked) this.#askSoon(this.#patience);
      this.#patience = Math.min(this.#patience * 2, LONGEST_MS);
    } finally {
      this.#isRefreshing = false;
      this.#listeners.changed();
    }
  }

  #show(all: Awaited<ReturnType<typeof listAgents>>): void {
    // By what it is itself: which meshes there are may be what could not be read.
    this.list = all.agents.filter(({ archived, meshes_of }) => !archived && !meshes_of);
    this.away = all.agents.filter(({ archived }) => archived);
    this.unreadable = all.unreadable;
    this.isCut = all.next_after !== null;
    this.state = "ready";
    this.hasCome = true;
    this.#listeners.changed();
  }

  async #refreshMeshes(id: string): Promise<void> {
    const isKnown = this.meshes.some((project) => project.id === id);
    const now = isKnown ? await meshProject(id).catch(() => undefined) : undefined;
    // What is not known, or cannot be read, is told of when everything is asked for.
    if (!now) this.#isStale = true;
    // Others may have come meanwhile.
    else this.meshes = this.meshes.map((project) => (project.id === id ? now : project));
  }

  /** A busy home changes many times a second; a list need not. */
  #heard(frame: unknown): void {
    if (!isRecord(frame) || typeof frame.type !== "string") return;
    const { type, agent_id } = frame;
    // What failed and is done after all waits for nobody any more.
    const isInInbox = (is: (item: InboxItem) => unknown) =>
      this.inbox.some((item) => item.agent.id === agent_id && is(item));
    const mayEndWaiting =
      (type === "mesh.completed" && isInInbox((item) => item.mesh_task)) ||
      (type === "mesh.session" && isInInbox((item) => item.mesh_session));
    if (type.startsWith("mesh.") && !mayEndWaiting) this.#stirred.add(String(agent_id));
    else this.#isStale = true;
    this.#askSoon();
  }

  #askSoon(ms = 300): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      void this.#ask();
    }, ms);
  }
}

export const agents = new AgentList();
