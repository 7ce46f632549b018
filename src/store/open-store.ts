import type { AgentId } from "../protocol/index.ts";
import { type Disk, isDiskFull } from "./disk/disk.ts";
import { nodeDisk } from "./disk/node-disk.ts";
import { DiskFullError, NotFoundError, ReadOnlyError, StoreUsageError } from "./errors.ts";
import { type HolderAddress, type HomeLock, lockHome, prepareHome, requireHome } from "./home/home.ts";
import { FileAgentLog, type Shared } from "./journal/agent-log.ts";
import { Damage } from "./journal/damage.ts";
import { Journal } from "./journal/journal.ts";
import { OpenFiles } from "./journal/open-files.ts";
import { recover } from "./journal/recovery.ts";
import { agentDir, agentsDir, EVENTS_FILE, isAgentId } from "./paths.ts";
import type { Store } from "./store.ts";

export interface StoreOptions {
  root: string;
  clock: { now(): number };
  /** The real one, unless a test says otherwise. */
  disk?: Disk;
  /**
   * Only to look, while another process may be working: without the lock, nothing is written and nothing repaired.
   * It shows what the plain files hold; after a crash the last moments appear once a writer has opened the home.
   */
  readOnly?: boolean;
  /**
   * Together with `readOnly`: snapshots are written nevertheless. Only for another thread of the process that holds the
   * lock, and only for agents that are not open in it: a snapshot has one writer.
   */
  savesSnapshots?: boolean;
  /** A journal larger than this is replaced and its files are synced. */
  journalLimit?: number;
}

/** Opens a home: takes its lock, finishes what a crash interrupted, and is then ready for appends. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const {
    root,
    clock,
    disk = nodeDisk,
    readOnly = false,
    savesSnapshots = false,
    journalLimit = 8 * 1024 * 1024,
  } = options;
  const files = new OpenFiles(disk, root);
  const damage = new Damage(disk, root, !readOnly);
  if (readOnly) {
    requireHome(disk, root);
    return new FileStore({ disk, root, clock, files, damage, journal: undefined, savesSnapshots }, undefined);
  }
  const lock = lockHome(disk, root, clock.now());
  try {
    await prepareHome(disk, root);
    const { nextNumber } = await recover(disk, root, files, damage);
    const journal = new Journal(disk, root, files, {
      nextNumber,
      limit: journalLimit,
      isOurs: () => lock.renew(),
    });
    return new FileStore({ disk, root, clock, files, damage, journal, savesSnapshots: false }, { lock, journal });
  } catch (error) {
    files.closeAll();
    lock.release(clock.now());
    throw isDiskFull(error) ? new DiskFullError(root, error) : error;
  }
}

class FileStore implements Store {
  readonly root: string;
  readonly #shared: Shared;
  /** Of a home that is open for writing. */
  readonly #writing: { lock: HomeLock; journal: Journal } | undefined;
  readonly #logs = new Map<AgentId, Promise<FileAgentLog>>();
  #closing: Promise<void> | undefined;

  constructor(shared: Shared, writing: { lock: HomeLock; journal: Journal } | undefined) {
    this.root = shared.root;
    this.#shared = shared;
    this.#writing = writing;
  }

  get repairs() {
    return this.#shared.damage.repairs;
  }

  async agents(): Promise<AgentId[]> {
    const { disk, root } = this.#shared;
    // A folder without facts is what a crash left of an agent that nobody was told about.
    const exists = (id: AgentId) => this.#logs.has(id) || (disk.size(`${agentDir(root, id)}/${EVENTS_FILE}`) ?? 0) > 0;
    return disk.list(agentsDir(root)).filter(isAgentId).filter(exists).sort();
  }

  async create(id: AgentId): Promise<FileAgentLog> {
    const { disk, root, journal } = this.#shared;
    if (!isAgentId(id))
      throw new StoreUsageError(
        `"${id}" is not an agent id: it must be "agent-" and 4 to 32 lower-case letters or digits.`,
      );
    if (journal === undefined) throw new ReadOnlyError(`The home ${root} is open read-only; no agent can be created.`);
    if (!disk.makeDir(agentDir(root, id)))
      throw new StoreUsageError(`${id} already exists. Open it, or choose another id.`);
    await disk.syncDir(agentsDir(root));
    return this.#log(id);
  }

  async open(id: AgentId): Promise<FileAgentLog> {
    const { disk, root } = this.#shared;
    const there = isAgentId(id) && disk.size(agentDir(root, id)) !== undefined;
    if (!there) throw new NotFoundError(`There is no agent "${id}" in ${root}. \`agiraph ls\` lists those that exist.`);
    return this.#log(id);
  }

  announce(address: HolderAddress): void {
    this.#writing?.lock.announce(address);
  }

  get writeError() {
    return this.#writing?.journal.writeError;
  }

  onWriteError(listener: (writeError: Error | undefined) => void): () => void {
    const journal = this.#writing?.journal;
    if (journal) journal.onWriteError = listener;
    return () => {
      if (journal?.onWriteError === listener) journal.onWriteError = () => {};
    };
  }

  room(): number {
    return this.#shared.disk.room(this.root);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      await this.#writing?.journal.close();
    } finally {
      this.#writing?.lock.release(this.#shared.clock.now());
    }
  }

  #log(id: AgentId): Promise<FileAgentLog> {
    let log = this.#logs.get(id);
    if (log === undefined) {
      log = FileAgentLog.open(this.#shared, id, () => this.#logs.delete(id));
      this.#logs.set(id, log);
      log.catch(() => this.#logs.delete(id));
    }
    return log;
  }
}
