import { type BroughtFile, bringFile } from "./bring-file.ts";
import type { Database } from "./database.ts";
import { recordTree } from "./record-tree.ts";
import type { TreeClaim } from "./streams.ts";
import { type IndexedEntry, type IndexedFolder, indexedAt } from "./tree-index.ts";

export interface LaterFilesPorts {
  database: Database;
  claim: TreeClaim;
  folder: string;
  index: IndexedFolder;
  elapsed(): number;
  /** One at a time: whoever looks at the index and changes it. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
}

/** A file that keeps changing is put again after this time, or after so many times as long as it took. */
const PACE_MS = 2000;
const PACE = 10;
/** What goes in one step at most. */
const MOST_BYTES = 1024 * 1024;
const MOST_FILES = 500;

/** Files that are too large, or too many, to go with a fact. */
export class LaterFiles {
  readonly #ports: LaterFilesPorts;
  /** When each may be put at the soonest. */
  readonly #waiting = new Map<string, number>();
  readonly #pace = new Map<string, number>();

  constructor(ports: LaterFilesPorts) {
    this.#ports = ports;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(paths: readonly string[]): void {
    for (const path of paths) if (!this.#waiting.has(path)) this.#waiting.set(path, this.#pace.get(path) ?? 0);
  }

  all(): string[] {
    return [...this.#waiting.keys()];
  }

  due(): string[] {
    const now = this.#ports.elapsed();
    return [...this.#waiting].flatMap(([path, from]) => (from <= now ? path : []));
  }

  /** One after the other; those that cannot be read now stay for another time. */
  async put(paths: readonly string[], signal: AbortSignal): Promise<void> {
    let batch: Read[] = [];
    let bytes = 0;
    for (const path of paths) {
      if (signal.aborted) return;
      const read = await this.#read(path);
      if (!read) continue;
      batch.push(read);
      bytes += read.put.content?.length ?? 0;
      if (bytes < MOST_BYTES && batch.length < MOST_FILES) continue;
      await this.#commit(batch);
      batch = [];
      bytes = 0;
    }
    await this.#commit(batch);
  }

  async #read(path: string): Promise<Read | undefined> {
    const { database, folder, index, elapsed } = this.#ports;
    const known = indexedAt(index, path)?.entry;
    if (known?.kind !== "file") {
      this.#waiting.delete(path);
      this.#pace.delete(path);
      return undefined;
    }
    const began = elapsed();
    const put = await bringFile(database, folder, path);
    const pace = elapsed() + Math.max(PACE_MS, PACE * (elapsed() - began));
    this.#waiting.set(path, pace);
    if (put && put.content === undefined) this.#pace.set(path, pace);
    return put && { path, put, known };
  }

  async #commit(batch: readonly Read[]): Promise<void> {
    if (batch.length === 0) return;
    const { database, claim, index, elapsed } = this.#ports;
    await this.#ports.inTurn(async () => {
      // What a look has taken meanwhile is newer.
      const current = batch.filter(({ path, known }) => indexedAt(index, path)?.entry === known);
      const changed = current.filter(
        ({ put, known }) => known.isBehind || known.hash !== put.hash || known.mode !== put.mode,
      );
      const entries = changed.map(({ path, put: { mode, hash } }) => {
        const entry = { kind: "file" as const, mode, hash, target: null, isBehind: false };
        return { path, entry };
      });
      const contents = changed.flatMap(({ put, known }) => (put.content && put.hash !== known.hash ? put.content : []));
      if (entries.length > 0) await recordTree(database, claim, [], { entries, gone: [], contents });
      for (const { put, known, path } of current) {
        const isSure = known.stamp === put.stamp && known.hash === put.hash;
        Object.assign(known, { mode: put.mode, hash: put.hash, stamp: put.stamp, isBehind: false });
        known.readAt = isSure ? undefined : elapsed();
        this.#waiting.delete(path);
      }
    });
  }
}

interface Read {
  path: string;
  put: BroughtFile;
  known: IndexedEntry;
}
