import { mkdir } from "node:fs/promises";
import type { AgentId } from "../protocol/index.ts";
import type { Disk } from "../store/disk/disk.ts";
import { nodeDisk } from "../store/disk/node-disk.ts";
import { NotFoundError, ReadOnlyError, StoreUsageError } from "../store/errors.ts";
import { type HolderAddress, type HomeLock, lockHome, prepareHome } from "../store/home/home.ts";
import { FileAgentLog } from "../store/journal/agent-log.ts";
import { Damage } from "../store/journal/damage.ts";
import { OpenFiles } from "../store/journal/open-files.ts";
import { agentDir, isAgentId } from "../store/paths.ts";
import type { Store } from "../store/store.ts";
import { cleanContents } from "./clean-contents.ts";
import type { Database } from "./database.ts";
import { EngineError } from "./engine-address.ts";
import { EngineWriter } from "./engine-writer.ts";
import { type ExportedTree, exportTree } from "./export-tree.ts";
import { FollowedTree } from "./followed-tree.ts";
import { rulesFor } from "./home-trees.ts";
import type { Host } from "./host.ts";
import { FencedError, streamsOf, type TreeClaim } from "./streams.ts";
import { indexOf } from "./tree-index.ts";

export interface EngineStoreOptions {
  /** The home of this host: a working copy. */
  root: string;
  database: Database;
  /** It has joined, and tells `lost` when it was lost. */
  host: Host;
  clock: { now(): number };
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Where programs keep logins, below a home of theirs: those never go to the engine. */
  loginFiles: readonly string[];
  disk?: Disk;
}

/** Between two tries to reach the engine. */
const PAUSE_MS = 250;
/** How often somebody looks whether contents are to be cleaned away. */
const CLEAN_MS = 600_000;
/** Files that a take-over could not bring; of the others only the number is said. */
const MOST_NAMED = 20;

/**
 * A store whose truth is in an engine; the home of this host is a working copy.
 *
 * ENGINE-STORE-1. What holds for every store (STORE-1 to STORE-4): durable is what the engine has committed.
 * ENGINE-STORE-2. An agent is open in one host at a time. Opening it brings the working copy to what the engine has.
 * ENGINE-STORE-2a. Files that had not reached the engine when a host ended are named in the log of the agent.
 * ENGINE-STORE-3. What another host has taken over is fenced here: appends are refused, and what was not acknowledged
 *     is not in the engine.
 */
export async function openEngineStore(options: EngineStoreOptions): Promise<Store> {
  const { root, clock, disk = nodeDisk } = options;
  const lock = lockHome(disk, root, clock.now());
  try {
    await prepareHome(disk, root);
    return new EngineStore({ ...options, disk }, lock);
  } catch (error) {
    lock.release(clock.now());
    throw error;
  }
}

interface OpenAgentLog {
  log: Promise<FileAgentLog>;
  writer?: EngineWriter;
  files?: FollowedTree;
}

/** An agent that is this host's, and of which the working copy is what the engine has. */
interface ClaimedTree {
  claim: TreeClaim;
  exported: ExportedTree;
}

class EngineStore implements Store {
  readonly root: string;
  readonly #options: EngineStoreOptions & { disk: Disk };
  readonly #lock: HomeLock;
  readonly #files: OpenFiles;
  readonly #damage: Damage;
  readonly #open = new Map<AgentId, OpenAgentLog>();
  /** Those that are being given back. */
  readonly #leaving = new Map<AgentId, Promise<void>>();
  #writeError: Error | undefined;
  #onWriteError: (error: Error | undefined) => void = () => {};
  #closing: Promise<void> | undefined;

  constructor(options: EngineStoreOptions & { disk: Disk }, lock: HomeLock) {
    this.root = options.root;
    this.#options = options;
    this.#lock = lock;
    this.#files = new OpenFiles(options.disk, options.root);
    this.#damage = new Damage(options.disk, options.root, true);
    options.host.signal.addEventListener("abort", () => this.#lost(), { once: true });
    void this.#clean();
  }

  get repairs() {
    return this.#damage.repairs;
  }

  async agents(): Promise<AgentId[]> {
    const rows = await this.#options.database.query<{ tree: string }>(
      "select tree from streams where path = 'events.jsonl' and size > 0 order by tree",
    );
    return rows.map(({ tree }) => tree.slice(TREES.length)).filter(isAgentId);
  }

  async create(id: AgentId): Promise<FileAgentLog> {
    if (!isAgentId(id))
      throw new StoreUsageError(
        `"${id}" is not an agent id: it must be "agent-" and 4 to 32 lower-case letters or digits.`,
      );
    const made = await this.#options.database.query(
      "insert into trees (tree, state) values ($1, 'ready') on conflict do nothing returning 1",
      [treeOf(id)],
    );
    if (made.length === 0) throw new StoreUsageError(`${id} already exists. Open it, or choose another id.`);
    return this.open(id);
  }

  open(id: AgentId): Promise<FileAgentLog> {
    const known = this.#open.get(id);
    if (known) return known.log;
    const opening: OpenAgentLog = { log: this.#claimed(id).then((claimed) => this.#log(id, claimed, opening)) };
    this.#open.set(id, opening);
    opening.log.catch(() => this.#open.delete(id));
    return opening.log;
  }

  announce(address: HolderAddress): void {
    this.#lock.announce(address);
  }

  get writeError() {
    return this.#writeError;
  }

  onWriteError(listener: (writeError: Error | undefined) => void): () => void {
    this.#onWriteError = listener;
    return () => {
      if (this.#onWriteError === listener) this.#onWriteError = () => {};
    };
  }

  room(): number {
    return this.#options.disk.room(this.root);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { host, clock } = this.#options;
    await Promise.all([...this.#open.values()].map((open) => this.#end(open)));
    await Promise.all(this.#leaving.values());
    await host.leave();
    this.#files.closeAll();
    this.#lock.release(clock.now());
  }

  async #end(open: OpenAgentLog): Promise<void> {
    await open.log.catch(() => {});
    const { writer, files } = open;
    await writer?.drained();
    writer?.end(new ReadOnlyError(`The home ${this.root} was closed.`));
    await files?.finish();
  }

  async #claimed(id: AgentId): Promise<ClaimedTree> {
    const { database, host, loginFiles } = this.#options;
    await this.#leaving.get(id);
    const epoch = isAgentId(id) ? await host.claim(treeOf(id)) : undefined;
    if (epoch !== undefined) {
      const tree = treeOf(id);
      await mkdir(agentDir(this.root, id), { recursive: true, mode: 0o700 });
      const { isKept } = rulesFor(tree, loginFiles);
      return {
        claim: { tree, epoch },
        exported: await exportTree(database, tree, agentDir(this.root, id), { isKept, isSynced: false }),
      };
    }
    const [there] = isAgentId(id)
      ? await database.query<{ name: string | null }>(
          "select name from trees left join hosts on host = owner where tree = $1",
          [treeOf(id)],
        )
      : [];
    if (there) throw new EngineError(`${id} is at work on another host (${there.name ?? "unknown"}).`);
    throw new NotFoundError(`There is no agent "${id}" in the engine. \`agiraph ls\` lists those that exist.`);
  }

  async #log(id: AgentId, { claim, exported }: ClaimedTree, opening: OpenAgentLog): Promise<FileAgentLog> {
    const { database, host, clock, disk, sleep, loginFiles } = this.#options;
    const { tree } = claim;
    const folder = agentDir(this.root, id);
    const files = new FollowedTree({
      ...{ database, claim, folder, sleep, rules: rulesFor(tree, loginFiles) },
      index: indexOf(folder, exported.entries),
      elapsed: () => host.elapsed(),
      onFenced: (error) => writer.end(error),
    });
    const writer = new EngineWriter({
      tree,
      files: this.#files,
      add: (parts, facts) => files.commit(parts, facts),
      ends: async (paths) => {
        const ends = await streamsOf(database, tree);
        return new Map(paths.map((path) => [path, ends.get(path) ?? 0]));
      },
      pause: () => sleep(PAUSE_MS, host.signal).catch(() => {}),
      isOurs: () => !host.signal.aborted,
      onFailure: (error) => this.#failed(error),
    });
    opening.writer = writer;
    opening.files = files;
    const shared = {
      disk,
      root: this.root,
      clock,
      files: this.#files,
      damage: this.#damage,
      journal: writer,
      savesSnapshots: false,
    };
    const log = await FileAgentLog.open(shared, id, () => {
      this.#open.delete(id);
      const left = files.finish().then(() => host.release(tree));
      this.#leaving.set(
        id,
        left.catch(() => {}).finally(() => this.#leaving.delete(id)),
      );
    });
    await this.#tellLost(log, exported);
    return log;
  }

  /** ENGINE-STORE-2a. */
  async #tellLost(log: FileAgentLog, { tree, lost }: ExportedTree): Promise<void> {
    if (lost.length === 0) return;
    const named = lost.slice(0, MOST_NAMED).map(({ path, what }) => ({ file: `${tree}/${path}`, what, aside: null }));
    const more = lost.length - named.length;
    if (more > 0) named.push({ file: tree, what: `the same is true of ${more} more of its files`, aside: null });
    this.#damage.repairs.push(...named);
    await log.append({ facts: named.map((data) => ({ type: "log.repaired", data })) }).durable;
  }

  async #clean(): Promise<void> {
    const { database, host, sleep } = this.#options;
    while (!host.signal.aborted) {
      await sleep(CLEAN_MS, host.signal).catch(() => {});
      if (!host.signal.aborted) await cleanContents(database).catch(() => {});
    }
  }

  #failed(error: Error): void {
    this.#writeError = error;
    this.#onWriteError(error);
  }

  #lost(): void {
    for (const [id, { writer, files }] of this.#open) {
      writer?.end(new FencedError(treeOf(id)));
      files?.drop();
    }
  }
}

const TREES = "agents/";

function treeOf(id: AgentId): string {
  return `${TREES}${id}`;
}
