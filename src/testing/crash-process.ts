import { basename } from "node:path";
import type { Disk, DiskFile, FileLock } from "../store/disk/disk.ts";
import { type CrashMedium, NO_BYTES, systemError, type WriteAttempt } from "./crash-medium.ts";

/** The crash disk as one process sees it. After `kill` nothing it asks for happens, and it never hears back. */
export class ProcessDisk implements Disk {
  readonly #disk: CrashMedium;
  readonly #alive: () => boolean;

  constructor(disk: CrashMedium, alive: () => boolean) {
    this.#disk = disk;
    this.#alive = alive;
  }

  open(path: string, how: "read" | "write" | "journal"): DiskFile {
    const disk = this.#disk;
    let number = disk.numberAt(path);
    if (number === undefined && !this.#alive()) number = 0;
    if (number === undefined) {
      if (how === "read") throw systemError("ENOENT", path);
      this.#attempt("open", path);
      number = disk.add(path, { kind: "file", bytes: NO_BYTES });
    }
    return new ProcessFile(disk, this.#alive, path, number, how === "journal");
  }

  makeDir(path: string): boolean {
    if (this.#disk.inodeAt(path) !== undefined) return false;
    if (this.#alive()) this.#disk.add(path, { kind: "dir", names: new Map() });
    return true;
  }

  list(dir: string): string[] {
    const inode = this.#disk.inodeAt(dir);
    return inode?.kind === "dir" ? [...inode.names.keys()] : [];
  }

  size(path: string): number | undefined {
    const inode = this.#disk.inodeAt(path);
    return inode?.kind === "file" ? inode.bytes.length : inode && 4096;
  }

  rename(from: string, to: string): void {
    this.#attempt("rename", from);
    const inode = this.#disk.numberAt(from);
    if (inode === undefined) throw systemError("ENOENT", from);
    const dir = this.#disk.dirOf(from);
    if (dir !== this.#disk.dirOf(to)) throw new Error("The crash disk renames within one folder only.");
    if (!this.#alive()) return;
    this.#disk.change({ kind: "rename", dir, from: basename(from), to: basename(to), inode });
    this.#disk.moved(from, to);
  }

  remove(path: string): void {
    this.#attempt("remove", path);
    if (this.#alive() && this.#disk.numberAt(path) !== undefined) {
      this.#disk.change({ kind: "unlink", dir: this.#disk.dirOf(path), name: basename(path) });
      this.#disk.moved(path);
    }
  }

  syncDir(dir: string): Promise<void> {
    return makeSafe(this.#disk, this.#alive, "syncDir", dir, this.#disk.numberAt(dir));
  }

  syncDirNow(dir: string): void {
    this.#attempt("syncDir", dir);
    const inode = this.#disk.numberAt(dir);
    if (inode === undefined) throw systemError("ENOENT", dir);
    if (this.#alive()) this.#disk.record({ kind: "safe", inode, upto: this.#disk.log.length });
  }

  lock(path: string): FileLock | undefined {
    const { locks } = this.#disk;
    if (locks.has(path)) return undefined;
    locks.add(path);
    return { release: () => void locks.delete(path), renew: () => "held" as const };
  }

  room(): number {
    return Number.POSITIVE_INFINITY;
  }

  watch(): () => void {
    throw new Error("The crash disk has one process at a time.");
  }

  #attempt(what: WriteAttempt["what"], path: string): void {
    const fault = this.#alive() ? this.#disk.fault({ what, path }) : undefined;
    if (fault !== undefined) throw systemError(fault.code, path);
  }
}

class ProcessFile implements DiskFile {
  readonly #disk: CrashMedium;
  readonly #alive: () => boolean;
  readonly #path: string;
  readonly #number: number;
  readonly #through: boolean;

  constructor(disk: CrashMedium, alive: () => boolean, path: string, number: number, through: boolean) {
    this.#disk = disk;
    this.#alive = alive;
    this.#path = path;
    this.#number = number;
    this.#through = through;
  }

  size(): number {
    return this.#bytes().length;
  }

  read(into: Uint8Array, at: number): Promise<number> {
    return Promise.resolve(this.readNow(into, at));
  }

  readNow(into: Uint8Array, at: number): number {
    return this.#bytes()
      .subarray(at, at + into.length)
      .copy(into);
  }

  write(bytes: Uint8Array, at: number): void {
    this.#write("write", bytes, at);
  }

  writeThrough(bytes: Uint8Array, at: number, done: (error: Error | null) => void): void {
    let change = -1;
    let failure: Error | null = null;
    try {
      change = this.#write("through", bytes, at);
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
    }
    this.#disk.later(() => {
      if (!this.#alive()) return;
      if (failure === null && this.#through) this.#disk.record({ kind: "through", change });
      done(failure);
    });
  }

  truncate(size: number): void {
    this.#attempt("truncate");
    if (!this.#alive()) return;
    this.#disk.change({ kind: "truncate", inode: this.#number, size });
    this.#disk.record({ kind: "safe", inode: this.#number, upto: this.#disk.log.length });
  }

  sync(): Promise<void> {
    return makeSafe(this.#disk, this.#alive, "sync", this.#path, this.#number);
  }

  syncNow(): void {
    this.#attempt("sync");
    if (this.#alive()) this.#disk.record({ kind: "safe", inode: this.#number, upto: this.#disk.log.length });
  }

  close(): void {}

  #write(what: "write" | "through", bytes: Uint8Array, at: number): number {
    if (!this.#alive()) return -1;
    const fault = this.#disk.fault({ what, path: this.#path });
    // A copy: the store uses its buffers again.
    const copy = Buffer.from(fault === undefined ? bytes : bytes.subarray(0, fault.partial ?? 0));
    const change = this.#disk.change({ kind: "write", inode: this.#number, at, bytes: copy });
    if (fault !== undefined) throw systemError(fault.code, this.#path);
    return change;
  }

  #bytes(): Buffer {
    const inode = this.#disk.inode(this.#number);
    if (inode.kind === "dir") throw systemError("EISDIR", this.#path);
    return inode.bytes;
  }

  #attempt(what: WriteAttempt["what"]): void {
    const fault = this.#alive() ? this.#disk.fault({ what, path: this.#path }) : undefined;
    if (fault !== undefined) throw systemError(fault.code, this.#path);
  }
}

function makeSafe(
  disk: CrashMedium,
  alive: () => boolean,
  what: "sync" | "syncDir",
  path: string,
  inode: number | undefined,
): Promise<void> {
  if (inode === undefined) return Promise.reject(systemError("ENOENT", path));
  const upto = disk.log.length;
  const fault = alive() ? disk.fault({ what, path }) : undefined;
  return new Promise((resolve, reject) => {
    disk.later(() => {
      if (!alive()) return;
      disk.record({ kind: fault === undefined ? "safe" : "unsafe", inode, upto });
      if (fault === undefined) resolve();
      else reject(systemError(fault.code, path));
    });
  });
}
