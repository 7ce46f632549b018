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
import type { Repair, Store } from "../store/store.ts";
import type { AgentNote } from "./agent-directory.ts";
import { cleanContents } from "./clean-contents.ts";
import type { Database } from "./database.ts";
import { ElsewhereError } from "./elsewhere-error.ts";
import { EngineWriter } from "./engine-writer.ts";
import { type ExportedTree, exportStreams, exportTree, lostWords } from "./export-tree.ts";
import { FollowedTree } from "./followed-tree.ts";
import { changedByHand, type HandWritten, takeGivenBack } from "./given-back.ts";
import { rulesFor } from "./home-trees.ts";
import type { Host } from "./host.ts";
import { FencedError, sha256, streamsOf, type TreeClaim } from "./streams.ts";
import { type IndexedFolder, indexOf } from "./tree-index.ts";

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
  /** Before this host's copy of an agent is written: nobody else may write there. */
  claimed?(id: AgentId): Promise<void>;
  /** What all hosts are to know of an agent that is given back now. */
  lastNote?(id: AgentId): AgentNote | undefined;
  /** When nothing of it is needed any more. */
  closed?(): Promise<void>;
}

/** Between two tries to reach the engine. */
const PAUSE_MS = 250;
/** How often somebody looks whether contents are to be cleaned away. */
const CLEAN_MS = 600_000;
const BY_HAND =
  "it was written here by hand while this host did not have the agent; what the engine has is used instead";

/**
 * A store whose truth is in an engine; the home of this host is a working copy.
 *
 * ENGINE-STORE-1. What holds for every store (STORE-1 to STORE-4): durable is what the engine has committed.
 * ENGINE-STORE-2. An agent is open in one host at a time. Opening it brings the working copy to what the engine has.
 * ENGINE-STORE-2a. Files that had not reached the engine when a host ended are named in the log of the agent.
 * ENGINE-STORE-2b. What a person wrote by hand while nobody was at work counts, if no other host had the agent since.
 *     Otherwise it is set aside, and named in the log.
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
  epoch?: number;
}

/** An agent that is this host's, and of which the working copy is what the engine has. */
interface ClaimedTree {
  claim: TreeClaim;
  index: IndexedFolder;
  /** What is to be said of files that are not as they were. */
  repairs: Repair[];
  /** Something may have been written by hand since. */
  isAsLeft: boolean;
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
    const { host, clock, closed } = this.#options;
    await Promise.all([...this.#open].map(([id, open]) => this.#end(id, open)));
    await Promise.all(this.#leaving.values());
    await host.leave();
    this.#files.closeAll();
    this.#lock.release(clock.now());
    await closed?.();
  }

  async #end(id: AgentId, open: OpenAgentLog): Promise<void> {
    await open.log.catch(() => {});
    const { writer, files, epoch } = open;
    await writer?.drained();
    writer?.end(new ReadOnlyError(`The home ${this.root} was closed.`));
    await files?.finish();
    if (epoch !== undefined) await this.#release(id, epoch);
  }

  async #claimed(id: AgentId): Promise<ClaimedTree> {
    const { database, host } = this.#options;
    await this.#leaving.get(id);
    const epoch = isAgentId(id) ? await host.claim(treeOf(id)) : undefined;
    if (epoch !== undefined) {
      await this.#options.claimed?.(id);
      const tree = treeOf(id);
      await mkdir(agentDir(this.root, id), { recursive: true, mode: 0o700 });
      return this.#copied({ tree, epoch }, agentDir(this.root, id));
    }
    const [there] = isAgentId(id)
      ? await database.query<{ name: string | null }>(
          "select name from trees left join hosts on host = owner where tree = $1",
          [treeOf(id)],
        )
      : [];
    if (there) throw new ElsewhereError(id, there.name);
    throw new NotFoundError(`There is no agent "${id}" in the engine. \`agiraph ls\` lists those that exist.`);
  }

  /** Brings the working copy to what the engine has (ENGINE-STORE-2, -2a, -2b). */
  async #copied(claim: TreeClaim, folder: string): Promise<ClaimedTree> {
    const { database, loginFiles } = this.#options;
    const before = takeGivenBack(folder);
    if (before?.epoch === claim.epoch - 1 && before.isSameBoot) {
      await exportStreams(database, claim.tree, folder);
      return { claim, index: before.index, repairs: [], isAsLeft: true };
    }
    const { tree } = claim;
    const { isKept } = rulesFor(tree, loginFiles);
    const byHand = before ? changedByHand(folder, before) : [];
    const exported = await exportTree(database, tree, folder, { isKept, isSynced: false });
    const repairs = [...lostWords(exported), ...this.#setAside(exported, byHand)];
    return { claim, index: indexOf(folder, exported.entries), repairs, isAsLeft: false };
  }

  #setAside({ tree, entries }: ExportedTree, byHand: readonly HandWritten[]): Repair[] {
    const hashes = new Map(entries.map(({ path, hash }) => [path, hash]));
    const others = byHand.filter(({ path, bytes }) => hashes.get(path) !== sha256(bytes));
    return others.flatMap(({ path, bytes }) => this.#damage.setAside(`${tree}/${path}`, 0, bytes, BY_HAND) ?? []);
  }

  async #log(
    id: AgentId,
    { claim, index, repairs, isAsLeft }: ClaimedTree,
    opening: OpenAgentLog,
  ): Promise<FileAgentLog> {
    const { database, host, clock, disk, sleep, loginFiles } = this.#options;
    const { tree } = claim;
    const folder = agentDir(this.root, id);
    const files = new FollowedTree({
      ...{ database, claim, folder, sleep, rules: rulesFor(tree, loginFiles) },
      index,
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
    opening.epoch = claim.epoch;
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
      const left = files.finish().then(() => this.#release(id, claim.epoch));
      this.#leaving.set(
        id,
        left.catch(() => {}).finally(() => this.#leaving.delete(id)),
      );
    });
    this.#damage.repairs.push(...repairs);
    if (repairs.length > 0)
      await log.append({ facts: repairs.map((data) => ({ type: "log.repaired", data })) }).durable;
    if (isAsLeft) files.lookSoon();
    return log;
  }

  async #clean(): Promise<void> {
    const { database, host, sleep } = this.#options;
    while (!host.signal.aborted) {
      await sleep(CLEAN_MS, host.signal).catch(() => {});
      if (!host.signal.aborted) await cleanContents(database).catch(() => {});
    }
  }

  /** With what is to be known of it from now on: without an owner, nobody can ask it. */
  async #release(id: AgentId, epoch: number): Promise<void> {
    const { host, lastNote } = this.#options;
    await host.release(treeOf(id), epoch, lastNote?.(id)).catch(() => {});
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
