import { dirname, join } from "node:path";
import { type Disk, type DiskFile, isOutOfFiles } from "../disk/disk.ts";

/**
 * The plain files being written: opened when first needed, least recently used ones closed, with a list of what
 * must be synced before a journal may be removed.
 *
 * OPEN-FILES-1. Everything written since the last `takeUnsynced` is in the next one, even if its file was closed
 *     meanwhile.
 * OPEN-FILES-2. A name that may not be on disk yet is listed with every folder above it, up to the home.
 * OPEN-FILES-3. Files that are made `ready` together are open together: if no more may be opened, only others are
 *     closed.
 */
export class OpenFiles {
  readonly #disk: Disk;
  readonly #root: string;
  readonly #cap: number;
  readonly #open = new Map<string, DiskFile>();
  #files = new Set<string>();
  #dirs = new Set<string>();

  constructor(disk: Disk, root: string, cap = 256) {
    this.#disk = disk;
    this.#root = root;
    this.#cap = cap;
  }

  write(path: string, bytes: Buffer, offset: number): void {
    const file = this.get(path);
    this.#files.add(path);
    file.write(bytes, offset);
  }

  /** Before the first of them is written: where there is no file for all, none of them was touched. */
  ready(paths: readonly string[]): void {
    // So many take turns anyway.
    if (paths.length > this.#cap || paths.every((path) => this.#open.has(path))) return;
    const needed = new Set(paths);
    for (const path of paths) this.get(path, needed);
  }

  get(path: string, needed?: ReadonlySet<string>): DiskFile {
    const known = this.#open.get(path);
    if (known !== undefined) {
      if (this.#open.size > this.#cap / 2) {
        this.#open.delete(path);
        this.#open.set(path, known);
      }
      return known;
    }
    const full = join(this.#root, path);
    if (this.#disk.size(full) === undefined) {
      this.#makeParents(dirname(path));
      this.distrust(path);
    }
    const file = this.#opened(full, needed);
    this.#open.set(path, file);
    this.#closeOldest();
    return file;
  }

  /** Where no more files may be open, some of ours are closed for it (OPEN-FILES-3). */
  #opened(full: string, needed?: ReadonlySet<string>): DiskFile {
    try {
      return this.#disk.open(full, "write");
    } catch (error) {
      const others = [...this.#open.keys()].filter((path) => !needed?.has(path));
      if (!isOutOfFiles(error) || others.length === 0) throw error;
      for (const path of others.slice(0, Math.ceil(others.length / 2))) this.close(path);
      return this.#disk.open(full, "write");
    }
  }

  /** Takes back what was written beyond `size`, durably. */
  cut(path: string, size: number): void {
    if ((this.#disk.size(join(this.#root, path)) ?? 0) > size) this.get(path).truncate(size);
  }

  /** After a crash a name may be visible and yet not on disk: it is synced before the next journal is removed. */
  distrust(path: string): void {
    this.#files.add(path);
    for (let dir = dirname(path); ; dir = dirname(dir)) {
      this.#dirs.add(dir);
      if (dir === ".") return;
    }
  }

  /** What is to be synced before the journal that holds it may go. */
  takeUnsynced(): Unsynced {
    const unsynced = { files: [...this.#files], dirs: [...this.#dirs] };
    this.#files = new Set();
    this.#dirs = new Set();
    return unsynced;
  }

  /** Files, then folders. While writes go on, a single lane: removing a journal must not take the threads they need. */
  async sync({ files, dirs }: Unsynced, lanes: number): Promise<void> {
    await inLanes(files, lanes, (path) => this.#syncFile(path));
    await inLanes(dirs, lanes, (dir) => this.#syncDir(join(this.#root, dir)));
  }

  async #syncDir(path: string): Promise<void> {
    // As with files: what was taken away by hand, or was not made after all, has nothing to sync.
    if (this.#disk.size(path) !== undefined) await this.#disk.syncDir(path);
  }

  async #syncFile(path: string): Promise<void> {
    const open = this.#open.get(path);
    // The file was removed by hand: there is nothing left to sync.
    if (open === undefined && this.#disk.size(join(this.#root, path)) === undefined) return;
    const file = open ?? this.#disk.open(join(this.#root, path), "write");
    // Closing a file while it is synced in another thread would sync whatever gets its number next.
    if (open !== undefined) this.#open.delete(path);
    try {
      await file.sync();
    } finally {
      if (open !== undefined && !this.#open.has(path)) this.#open.set(path, file);
      else file.close();
    }
  }

  /** Forgets an open file, e.g. before it is moved away. */
  close(path: string): void {
    this.#open.get(path)?.close();
    this.#open.delete(path);
  }

  closeAll(): void {
    for (const path of [...this.#open.keys()]) this.close(path);
  }

  #closeOldest(): void {
    if (this.#open.size <= this.#cap) return;
    const oldest = this.#open.keys().next();
    if (!oldest.done) this.close(oldest.value);
  }

  #makeParents(dir: string): void {
    if (dir === "." || this.#disk.size(join(this.#root, dir)) !== undefined) return;
    this.#makeParents(dirname(dir));
    this.#disk.makeDir(join(this.#root, dir));
  }
}

async function inLanes<T>(items: readonly T[], lanes: number, act: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  const lane = async () => {
    for (const item of rest) await act(item);
  };
  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane));
}

export interface Unsynced {
  files: readonly string[];
  dirs: readonly string[];
}
