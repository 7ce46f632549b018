import { constants } from "node:os";

/**
 * The only access to the disk: everything the store does to files goes through here, so that a crash can be simulated.
 *
 * KERNEL-1. What was written with `write` is visible at once and durable only after a `sync` of that file.
 * KERNEL-2. What was written with `writeThrough` to a "journal" file is durable when `done` is called without an error.
 * KERNEL-3. A new, renamed or removed name is durable only after a `syncDir` of its folder.
 * KERNEL-4. Errors carry the system's `code` (ENOENT, ENOSPC, EIO …).
 * KERNEL-5. New folders are 0700, new files 0600.
 */
export interface Disk {
  /** "write" and "journal" make the file when it is missing; "read" throws ENOENT. */
  open(path: string, how: "read" | "write" | "journal"): DiskFile;
  /** Makes one folder; false when it was there already. */
  makeDir(path: string): boolean;
  /** Names in a folder, in no order; none when there is no such folder. */
  list(dir: string): string[];
  /** In bytes; undefined when there is no such file. */
  size(path: string): number | undefined;
  /** Bytes that are free where the path lies. */
  room(path: string): number;
  rename(from: string, to: string): void;
  /** Missing is fine. */
  remove(path: string): void;
  syncDir(dir: string): Promise<void>;
  syncDirNow(dir: string): void;
  /** A lock that dies with its holder. Undefined when it is held. */
  lock(path: string): FileLock | undefined;
  /** Tells when another process changes the file. Returns the end of it. */
  watch(path: string, onChange: () => void): () => void;
}

export interface FileLock {
  release(): void;
  /**
   * A lock is on a file, not on its name. "replaced": the file was removed or replaced; the one that has the name now is
   * made if need be, and locked too. "lost": another process has the lock of that one.
   */
  renew(): "held" | "replaced" | "lost";
}

export interface DiskFile {
  size(): number;
  read(into: Uint8Array, at: number): Promise<number>;
  readNow(into: Uint8Array, at: number): number;
  /** Whole, or it throws. Into the page cache only (KERNEL-1). */
  write(bytes: Uint8Array, at: number): void;
  /** A short write is an error with the code ENOSPC. */
  writeThrough(bytes: Uint8Array, at: number, done: (error: Error | null) => void): void;
  /** Cuts, durably. */
  truncate(size: number): void;
  sync(): Promise<void>;
  syncNow(): void;
  close(): void;
}

/** The system's error code. Node has no name for an exhausted quota (EDQUOT), only its number. */
export function codeOf(error: unknown): string | undefined {
  if (error instanceof Error && "errno" in error && error.errno === -constants.errno.EDQUOT) return "EDQUOT";
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

export function isDiskFull(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ENOSPC" || code === "EDQUOT";
}

/** The limit of open files, of this process or of the machine, is reached. */
export function isOutOfFiles(error: unknown): boolean {
  const code = codeOf(error);
  return code === "EMFILE" || code === "ENFILE" || (error instanceof Error && error.name === "TooManyFilesError");
}

/**
 * A full disk, as reported by the system or by the store: it is temporary, and work that stopped for it can continue
 * later.
 */
export function isForWantOfRoom(error: unknown): boolean {
  return isDiskFull(error) || isOutOfFiles(error) || (error instanceof Error && error.name === "DiskFullError");
}

/** A small file as a whole; undefined if there is none. */
export function readWhole(disk: Disk, path: string): Buffer | undefined {
  let file: DiskFile;
  try {
    file = disk.open(path, "read");
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
  try {
    const bytes = Buffer.allocUnsafe(file.size());
    let filled = 0;
    while (filled < bytes.length) {
      const count = file.readNow(bytes.subarray(filled), filled);
      if (count === 0) break;
      filled += count;
    }
    return bytes.subarray(0, filled);
  } finally {
    file.close();
  }
}
