import { type AgentSummaryData, type Situation, summarise } from "../projections/index.ts";
import type { AgentId, Fact } from "../protocol/index.ts";
import type { AgentLog, Store } from "../store/store.ts";
import type { Agent } from "./agent.ts";
import { saveSituation, situationOf } from "./state/situations.ts";
import { bytesToFold, currentSummary, LIST_BYTES, preliminaryOf } from "./views/agent-list.ts";

export interface OpenAgentsPorts {
  store: Store;
  now(): number;
  /** How many may be held open although they rest. */
  keptOpen?: number;
  /** Folds long logs elsewhere; without it they are folded here. */
  catchUp?: { run(id: AgentId): Promise<void>; close(): Promise<void> };
  /** How many bytes a list may fold before it answers. */
  listBytes?: number;
  /** Whether an agent may be closed; if it rests, unless something else decides. */
  mayRest?(agent: Agent): boolean;
  /** Told of each agent as soon as it is open. */
  opened?(agent: Agent): void;
}

interface Slot {
  opening: Promise<Agent>;
  /** Once it is open. */
  agent: Agent | undefined;
  /** When it was last asked for, and how often. */
  used: number;
  asked: number;
}

const KEPT_OPEN = 64;
/** An agent that was requested this recently may be about to be used. */
const GRACE_MS = 60_000;
/** More than this is folded in a thread, and no list waits for it: less takes a few hundredths of a second. */
const LONG_BYTES = 1024 * 1024;
/** How often those who show a list hear that more of it has been loaded. */
const TELL_MS = 1000;
/** When a long log that could not be folded is tried again. */
const RETRY_MS = 60_000;

/**
 * The agents of a home that are open in this process. The others are a summary in memory and files on disk.
 *
 * OPEN-AGENTS-1. An agent is open at most once: if it is requested while it is being closed, it is opened again
 *     afterwards.
 * OPEN-AGENTS-2. Only agents at rest are closed, least recently used first, and only if more are open than necessary.
 * OPEN-AGENTS-3. A summary is as new as the log: it comes from the open agent, from one kept at the log's end, or by
 *     folding.
 * OPEN-AGENTS-4. A list does not wait for a long log: `listed` marks such an agent as loading and has it loaded.
 * OPEN-AGENTS-5. A log is folded once for all concurrent requests.
 */
export class OpenAgents {
  readonly #ports: OpenAgentsPorts;
  readonly #open = new Map<AgentId, Slot>();
  readonly #leaving = new Map<AgentId, Promise<void>>();
  readonly #summaries = new Map<AgentId, AgentSummaryData>();
  readonly #listeners = new Set<(fact: Fact) => void>();
  readonly #folding = new Map<AgentId, Promise<AgentSummaryData>>();
  readonly #toLoad = new Set<AgentId>();
  /** Long logs that could not be folded, why, and when: they are not tried again for every list. */
  readonly #failures = new Map<AgentId, { error: unknown; ms: number }>();
  readonly #loadedListeners = new Set<() => void>();
  #isClosed = false;

  constructor(ports: OpenAgentsPorts) {
    this.#ports = ports;
  }

  /** All that are open here now. */
  all(): Agent[] {
    return [...this.#open.values()].flatMap(({ agent }) => agent ?? []);
  }

  /** The agent if it is open here now. */
  opened(id: AgentId): Agent | undefined {
    return this.#open.get(id)?.agent;
  }

  get(id: AgentId, open: (log: AgentLog) => Promise<Agent>): Promise<Agent> {
    const known = this.#open.get(id);
    if (known) {
      known.used = this.#ports.now();
      known.asked++;
      return known.opening;
    }
    return this.#hold(id, this.#ready(id), open);
  }

  /** An agent that was just made; its first fact is not on disk yet. */
  add(log: AgentLog, open: (log: AgentLog) => Promise<Agent>): Promise<Agent> {
    return this.#hold(log.id, Promise.resolve(log), open);
  }

  /** Every fact of every open agent, once it is on disk. Nothing happens to the others. Returns the unsubscribe. */
  subscribe(listener: (fact: Fact) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** All agents of the home that can be read, newest first. */
  async summaries(): Promise<AgentSummaryData[]> {
    const all: AgentSummaryData[] = [];
    for (const id of await this.#ports.store.agents()) {
      // One that cannot be read is shown by nobody; `agent(id)` says why.
      const summary = await this.summary(id).catch(() => undefined);
      if (summary) all.push(summary);
    }
    return all.sort((a, b) => b.created_ts - a.created_ts);
  }

  /**
   * The same without waiting for long logs: those that have not been folded are marked `loading` and are loaded one after
   * the other. `onLoaded` tells when.
   */
  async listed(): Promise<AgentSummaryData[]> {
    const all: AgentSummaryData[] = [];
    let left = this.#ports.listBytes ?? LIST_BYTES;
    for (const id of await this.#ports.store.agents()) {
      const look = async () => {
        const known = this.#known(id);
        if (known) return known;
        this.#throwFailure(id);
        const log = await this.#ports.store.open(id);
        const current = await currentSummary(log);
        if (current) return this.#remember(current);
        const bytes = bytesToFold(log);
        if (bytes > Math.min(left, LONG_BYTES)) return preliminaryOf(log);
        left -= bytes;
        return this.summary(id);
      };
      const summary = await look().catch(() => undefined);
      if (summary) all.push(summary);
    }
    this.#load(all.flatMap(({ id, loading }) => (loading ? [id] : [])));
    return all.sort((a, b) => b.created_ts - a.created_ts);
  }

  /** Called when agents that were listed as loading have been loaded, not for each of many. Returns the unsubscribe. */
  onLoaded(listener: () => void): () => void {
    this.#loadedListeners.add(listener);
    return () => this.#loadedListeners.delete(listener);
  }

  async summary(id: AgentId): Promise<AgentSummaryData> {
    const known = this.#known(id);
    if (known) return known;
    this.#throwFailure(id);
    const folding = this.#folding.get(id) ?? this.#fold(id).finally(() => this.#folding.delete(id));
    this.#folding.set(id, folding);
    return folding;
  }

  /** Of an agent that need not be open. */
  async situation(id: AgentId): Promise<Situation> {
    return this.opened(id)?.now ?? situationOf(await this.#ready(id));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#ports.catchUp?.close();
    await Promise.all(this.#leaving.values());
    const agents = await Promise.allSettled([...this.#open.values()].map(({ opening }) => opening));
    await Promise.all(agents.map((opened) => (opened.status === "fulfilled" ? opened.value.close() : undefined)));
  }

  #hold(id: AgentId, opening: Promise<AgentLog>, open: (log: AgentLog) => Promise<Agent>): Promise<Agent> {
    const opened = opening.then((log) => {
      log.subscribe(this.#tell);
      return open(log);
    });
    const slot: Slot = { opening: opened, agent: undefined, used: this.#ports.now(), asked: 1 };
    this.#open.set(id, slot);
    opened.then(
      (agent) => {
        slot.agent = agent;
        this.#ports.opened?.(agent);
        this.closeSome();
      },
      () => this.#open.delete(id),
    );
    return opened;
  }

  #known(id: AgentId): AgentSummaryData | undefined {
    const agent = this.#open.get(id)?.agent;
    const known = this.#summaries.get(id);
    if (known && (agent === undefined || known.seq === agent.now.seq)) return known;
    return agent && this.#remember(summarise(agent.now));
  }

  #throwFailure(id: AgentId): void {
    const failure = this.#failures.get(id);
    if (failure && this.#ports.now() - failure.ms < RETRY_MS) throw failure.error;
    this.#failures.delete(id);
  }

  #remember(summary: AgentSummaryData): AgentSummaryData {
    this.#summaries.set(summary.id, summary);
    return summary;
  }

  /** As it was kept, if nothing has happened since; otherwise folded, and kept for the next time. */
  async #fold(id: AgentId): Promise<AgentSummaryData> {
    const kept = await currentSummary(await this.#ports.store.open(id));
    if (kept) return this.#known(id) ?? this.#remember(kept);
    const log = await this.#ready(id);
    const current = await currentSummary(log);
    if (current) return this.#known(id) ?? this.#remember(current);
    if (this.#isClosed) throw new Error(`The home was closed before ${id} had been read.`);
    const now = await situationOf(log);
    // Slot meanwhile: it is newer, and keeps its own snapshots.
    const newer = this.#known(id);
    if (newer) return newer;
    await saveSituation(log, now).catch(() => {});
    return this.#known(id) ?? this.#remember(summarise(now));
  }

  /** The log, once it is not being closed any more and little of it has to be read. */
  async #ready(id: AgentId): Promise<AgentLog> {
    await this.#leaving.get(id);
    const log = await this.#ports.store.open(id);
    const { catchUp } = this.#ports;
    // An agent that is open keeps its own snapshots.
    if (catchUp && !this.opened(id) && bytesToFold(log) > LONG_BYTES) await catchUp.run(id);
    return log;
  }

  #load(ids: readonly AgentId[]): void {
    const isIdle = this.#toLoad.size === 0;
    for (const id of ids) this.#toLoad.add(id);
    if (isIdle && ids.length > 0) void this.#loadAll();
  }

  async #loadAll(): Promise<void> {
    let told = this.#ports.now();
    for (const id of this.#toLoad) {
      if (this.#isClosed) return;
      await this.summary(id).catch((error: unknown) => this.#failures.set(id, { error, ms: this.#ports.now() }));
      this.#toLoad.delete(id);
      if (this.#toLoad.size > 0 && this.#ports.now() - told < TELL_MS) continue;
      told = this.#ports.now();
      for (const listener of this.#loadedListeners) listener();
    }
  }

  readonly #tell = (fact: Fact): void => {
    for (const listener of this.#listeners) listener(fact);
  };

  /** Those that are not needed, if more are open than may be kept so. */
  closeSome(): void {
    const { keptOpen = KEPT_OPEN, now } = this.#ports;
    const tooMany = this.#open.size - keptOpen;
    if (tooMany <= 0) return;
    const old = [...this.#open].filter(
      ([, { agent, used }]) => agent && this.#mayRest(agent) && now() - used >= GRACE_MS,
    );
    old.sort(([, a], [, b]) => a.used - b.used);
    for (const [id, { agent }] of old.slice(0, tooMany)) if (agent) this.#close(id, agent);
  }

  /** Closes all, wherever they are in their work: they go on elsewhere. */
  async leaveAll(): Promise<void> {
    await Promise.allSettled([...this.#open.values()].map(({ opening }) => opening));
    for (const [id, { agent }] of [...this.#open]) if (agent) this.#close(id, agent);
    await Promise.allSettled([...this.#leaving.values()]);
  }

  /** Closes an agent that was opened only to look at it, if nobody else has asked for it. */
  giveBack(agent: Agent): void {
    const { id } = agent.log;
    const slot = this.#open.get(id);
    if (slot?.agent === agent && slot.asked === 1 && this.#mayRest(agent)) this.#close(id, agent);
  }

  #mayRest(agent: Agent): boolean {
    return this.#ports.mayRest?.(agent) ?? agent.isResting;
  }

  #close(id: AgentId, agent: Agent): void {
    this.#open.delete(id);
    this.#summaries.set(id, summarise(agent.now));
    const leaving = agent
      .close()
      .then(() => agent.log.close())
      .finally(() => this.#leaving.delete(id));
    this.#leaving.set(id, leaving);
  }
}
