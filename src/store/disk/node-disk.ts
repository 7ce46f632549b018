import {
  close,
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  open,
  openSync,
  read,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  write,
  writeSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { codeOf, type Disk, type DiskFile, type FileLock } from "./disk.ts";
import { watchFolder } from "./watch-folder.ts";

/** The real disk. Uses callbacks on the hot path, since a promise of `fs` costs more than the write. */
export const nodeDisk: Disk = {
  open: (path, how) => new NodeFile(openSync(path, flags[how], 0o600), path),
  makeDir(path) {
    try {
      mkdirSync(path, { mode: 0o700 });
      return true;
    } catch (error) {
      if (codeOf(error) === "EEXIST") return false;
      throw error;
    }
  },
  list(dir) {
    try {
      return readdirSync(dir);
    } catch (error) {
      if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return [];
      throw error;
    }
  },
  size: (path) => statSync(path, { throwIfNoEntry: false })?.size,
  room(path) {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  },
  rename: renameSync,
  remove: (path) => rmSync(path, { force: true }),
  syncDir: (dir) =>
    new Promise((resolve, reject) => {
      open(dir, constants.O_RDONLY | constants.O_DIRECTORY, (openError, fd) => {
        if (openError !== null) return reject(openError);
        fsync(fd, (error) => close(fd, () => (error === null ? resolve() : reject(error))));
      });
    }),
  syncDirNow(dir) {
    const fd = openSync(dir, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  },
  lock: lockBySqlite,
  watch(path, onChange) {
    // The folder, since the file may not be there yet.
    const onName = (name: string | null) => {
      if (name === null || name === basename(path)) onChange();
    };
    const watcher = watchFolder(dirname(path), onName, { persistent: false });
    return () => watcher.close();
  },
};

/** Elsewhere the flag is missing or means less than a sync does. With it, one visit to the thread pool is enough. */
const WRITES_THROUGH = process.platform === "linux";

const flags = {
  read: constants.O_RDONLY | constants.O_NOFOLLOW,
  write: constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW,
  journal: constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | (WRITES_THROUGH ? constants.O_DSYNC : 0),
};

class NodeFile implements DiskFile {
  readonly #fd: number;
  readonly #path: string;

  constructor(fd: number, path: string) {
    this.#fd = fd;
    this.#path = path;
  }

  size(): number {
    return fstatSync(this.#fd).size;
  }

  read(into: Uint8Array, at: number): Promise<number> {
    return new Promise((resolve, reject) => {
      read(this.#fd, into, 0, into.length, at, (error, count) => (error === null ? resolve(count) : reject(error)));
    });
  }

  readNow(into: Uint8Array, at: number): number {
    return readSync(this.#fd, into, 0, into.length, at);
  }

  write(bytes: Uint8Array, at: number): void {
    let done = 0;
    while (done < bytes.length) {
      const count = writeSync(this.#fd, bytes, done, bytes.length - done, at + done);
      // The kernel writes less only when there is no room for more; asking again gives its reason.
      if (count === 0) throw noSpace(this.#path);
      done += count;
    }
  }

  writeThrough(bytes: Uint8Array, at: number, done: (error: Error | null) => void): void {
    write(this.#fd, bytes, 0, bytes.length, at, (error, count) => {
      const failure = error ?? (count < bytes.length ? noSpace(this.#path) : null);
      if (failure !== null || WRITES_THROUGH) done(failure);
      else fdatasync(this.#fd, done);
    });
  }

  truncate(size: number): void {
    ftruncateSync(this.#fd, size);
    fdatasyncSync(this.#fd);
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fdatasync(this.#fd, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  syncNow(): void {
    fdatasyncSync(this.#fd);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

function noSpace(path: string): Error {
  return Object.assign(new Error(`ENOSPC: only part of the data fit, write '${path}'`), { code: "ENOSPC" });
}

/**
 * Node has no flock; SQLite's lock is the system's own file lock, which dies with its process, and it also keeps two
 * openers in one process apart. The file stays empty: nothing is ever written to it.
 */
function lockBySqlite(path: string): FileLock | undefined {
  const first = lockFile(path);
  if (first === undefined) return undefined;
  const held = [first];
  return {
    release() {
      for (const { release } of held) release();
    },
    renew() {
      const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
      if (stats && held.some(({ dev, ino }) => dev === stats.dev && ino === stats.ino)) return "held";
      const next = lockFile(path);
      if (next) held.push(next);
      return next ? "replaced" : "lost";
    },
  };
}

function lockFile(path: string): { dev: bigint; ino: bigint; release(): void } | undefined {
  const { DatabaseSync } = quietly(() => process.getBuiltinModule("node:sqlite"));
  makeEmpty(path);
  const { dev, ino } = statSync(path, { bigint: true });
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec("PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (error instanceof Error && /locked|busy/i.test(error.message)) return undefined;
    throw error;
  }
  const after = statSync(path, { bigint: true, throwIfNoEntry: false });
  // Replaced while it was being opened: which of the two is locked nobody knows.
  if (after?.dev === dev && after.ino === ino) return { dev, ino, release: () => database.close() };
  database.close();
  return lockFile(path);
}

/**
 * Never opens a file that is there: the system drops all of a process's locks on a file when the process closes any of
 * its handles to it. For the same reason nothing else in the program may open the lock's file.
 */
function makeEmpty(path: string): void {
  try {
    closeSync(openSync(path, flags.write | constants.O_EXCL, 0o600));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

/** `node:sqlite` warns on loading that it is new; users of Agiraph can do nothing about it. */
function quietly<T>(load: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}
