import type { Clock } from "../protocol/clock.ts";
import type { AgentId } from "../protocol/index.ts";
import { agentDir } from "../store/paths.ts";
import { AgentDirectory } from "./agent-directory.ts";
import type { Database } from "./database.ts";
import { exportTree } from "./export-tree.ts";
import { FactNews } from "./fact-news.ts";
import { rulesFor } from "./home-trees.ts";
import type { Beat, Host } from "./host.ts";
import { anotherHost, type ListedHost, listHosts, setDraining } from "./host-list.ts";
import { HostNotices } from "./host-notices.ts";
import { type Owner, otherOwnerOf } from "./owners.ts";
import { type CarriedReply, type CarriedRequest, Tunnel } from "./tunnel.ts";
import { type WatchedTree, WatchedTrees } from "./watched-trees.ts";

export interface EngineHostsPorts {
  database: Database;
  host: Host;
  /** The home of this host. */
  root: string;
  clock: Clock;
  newId(): string;
  elapsed(): number;
}

/** The hosts of an engine, for one of them: who has which agent, what is asked of them, and what happens there. */
export class EngineHosts {
  readonly directory: AgentDirectory;
  readonly watched: WatchedTrees;
  readonly #ports: EngineHostsPorts;
  readonly #notices: HostNotices;
  readonly #tunnel: Tunnel;
  readonly #news: FactNews;

  constructor(ports: EngineHostsPorts) {
    const { database, host, root, clock, newId, elapsed } = ports;
    const { signal } = host;
    const { sleep } = clock;
    this.#ports = ports;
    this.directory = new AgentDirectory({ queries: database, host: host.id, signal, sleep });
    this.#notices = new HostNotices({ database, signal, sleep });
    this.#tunnel = new Tunnel({ database, notices: this.#notices, host: host.id, signal, newId, elapsed });
    this.watched = new WatchedTrees({ database, notices: this.#notices, root, clock, signal });
    this.#news = new FactNews(database, sleep, signal);
  }

  /** Once the host has joined. */
  begin(): void {
    void this.#notices.listen();
    this.onBeat(({ hosts }) => {
      // Nobody who shows a list waits longer for what happens elsewhere.
      if (hosts > 1 && this.directory.isWatched) void this.directory.refresh().catch(() => {});
    });
  }

  get name(): string {
    return this.#ports.host.name;
  }

  get isAway(): boolean {
    return this.#ports.host.isAway;
  }

  onBeat(hearer: (beat: Beat) => void): () => void {
    return this.#ports.host.onBeat(hearer);
  }

  /** Fires when this host was lost, or has left. */
  get signal(): AbortSignal {
    return this.#ports.host.signal;
  }

  list(): Promise<ListedHost[]> {
    return listHosts(this.#ports.database);
  }

  /** Says which hosts those are. */
  drain(host: string, isDraining: boolean): Promise<string[]> {
    return setDraining(this.#ports.database, host, isDraining);
  }

  another(): Promise<Owner | undefined> {
    return anotherHost(this.#ports.database, this.#ports.host.id);
  }

  ownerOf(id: AgentId): Promise<Owner | undefined> {
    return otherOwnerOf(this.#ports.database, id, this.#ports.host.id);
  }

  ask(to: Owner, request: CarriedRequest): Promise<CarriedReply> {
    return this.#tunnel.ask(to.id, request);
  }

  /** From now on what others ask of this host is carried out. */
  answer(carry: (request: CarriedRequest) => Promise<CarriedReply>): void {
    void this.#tunnel.serve(carry);
  }

  watch(id: AgentId): Promise<WatchedTree> {
    return this.watched.watch(id);
  }

  /** Brings what this home has of an agent of another host to what the engine has. */
  async copy(id: AgentId): Promise<void> {
    const { database, root } = this.#ports;
    await this.watched.withoutWriting(id, async () => {
      const tree = `agents/${id}`;
      const { isKept } = rulesFor(tree, []);
      if (await this.ownerOf(id)) await exportTree(database, tree, agentDir(root, id), { isKept, isSynced: false });
    });
  }

  /** A fact of an agent of this host is recorded. */
  heard(id: AgentId): void {
    if ((this.#ports.host.last?.hosts ?? 1) > 1) this.#news.tell(id);
  }
}
