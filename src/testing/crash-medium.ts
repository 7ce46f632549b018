import { basename, dirname } from "node:path";

/** What is on the crash disk now, and the record of how it came there. */
export class CrashMedium {
  readonly log: Change[] = [];
  readonly start: Tree;
  /** Asked before each change; an answer makes it fail, a write after its first `partial` bytes. */
  fault: (attempt: WriteAttempt) => { code: string; partial?: number } | undefined = () => undefined;
  readonly #inodes = new Map<number, Inode>();
  readonly #locks = new Set<string>();
  readonly #recording: boolean;
  /** Where a path leads, and those that lead nowhere, until a name is made, moved or removed. */
  readonly #numbers = new Map<string, number>();
  readonly #missing = new Set<string>();
  #nextInode: number;

  /** Without recording it is only a fast disk in memory, where waiting takes no turn of the event loop. */
  constructor(tree: Tree = EMPTY, { recording = true } = {}) {
    this.start = tree;
    this.#recording = recording;
    this.#nextInode = tree.nextInode;
    for (const [number, inode] of tree.inodes) {
      this.#inodes.set(number, inode.kind === "dir" ? { kind: "dir", names: new Map(inode.names) } : { ...inode });
    }
  }

  get locks(): Set<string> {
    return this.#locks;
  }

  inodeAt(path: string): Inode | undefined {
    const number = this.numberAt(path);
    return number === undefined ? undefined : this.#inodes.get(number);
  }

  numberAt(path: string): number | undefined {
    const known = this.#numbers.get(path);
    if (known !== undefined || this.#missing.has(path)) return known;
    let number = ROOT;
    for (const name of path.split("/")) {
      if (name === "") continue;
      const inode = this.#inodes.get(number);
      const next = inode?.kind === "dir" ? inode.names.get(name) : undefined;
      if (next === undefined) {
        this.#missing.add(path);
        return undefined;
      }
      number = next;
    }
    this.#numbers.set(path, number);
    return number;
  }

  add(path: string, inode: Inode): number {
    const number = this.#nextInode++;
    this.#inodes.set(number, inode);
    this.#missing.clear();
    this.change({ kind: "link", dir: this.dirOf(path), name: basename(path), inode: number, as: inode.kind });
    return number;
  }

  dirOf(path: string): number {
    const dir = this.numberAt(dirname(path));
    if (dir === undefined) throw systemError("ENOENT", path);
    return dir;
  }

  /** A file's name went away or leads to another file. (Folders stay where they are.) */
  moved(...paths: string[]): void {
    for (const path of paths) this.#numbers.delete(path);
    this.#missing.clear();
  }

  /** Makes a change visible, and records it. Returns its place in the log. */
  change(change: Change): number {
    applyChange(this.#inodes, change);
    return this.record(change);
  }

  record(change: Change): number {
    return this.#recording ? this.log.push(change) - 1 : -1;
  }

  inode(number: number): Inode {
    const inode = this.#inodes.get(number);
    if (inode === undefined) throw systemError("ENOENT", `inode ${number}`);
    return inode;
  }

  /** Lets others act while something is under way, when that is being recorded. */
  later(act: () => void): void {
    if (this.#recording) setImmediate(act);
    else queueMicrotask(act);
  }
}

/** What was changed, and what was made safe. `upto` is the log's length when the sync began. */
export type Change =
  | { kind: "link"; dir: number; name: string; inode: number; as: Inode["kind"] }
  | { kind: "unlink"; dir: number; name: string }
  | { kind: "rename"; dir: number; from: string; to: string; inode: number }
  | { kind: "write"; inode: number; at: number; bytes: Buffer }
  | { kind: "truncate"; inode: number; size: number }
  | { kind: "safe"; inode: number; upto: number }
  | { kind: "unsafe"; inode: number; upto: number }
  | { kind: "through"; change: number };

export interface WriteAttempt {
  what: "write" | "through" | "truncate" | "sync" | "syncDir" | "open" | "rename" | "remove";
  path: string;
}

export type Inode = { kind: "file"; bytes: Buffer } | { kind: "dir"; names: Map<string, number> };
export interface Tree {
  inodes: ReadonlyMap<number, Inode>;
  nextInode: number;
}

const ROOT = 1;
const EMPTY: Tree = { inodes: new Map([[ROOT, { kind: "dir", names: new Map() }]]), nextInode: 2 };

/** Bytes are never changed in place: trees share them. */
export function applyChange(inodes: Map<number, Inode>, change: Change): void {
  switch (change.kind) {
    case "link": {
      const known = inodes.get(change.inode);
      inodes.set(
        change.inode,
        known ?? (change.as === "dir" ? { kind: "dir", names: new Map() } : { kind: "file", bytes: NO_BYTES }),
      );
      namesOf(inodes, change.dir).set(change.name, change.inode);
      return;
    }
    case "unlink":
      namesOf(inodes, change.dir).delete(change.name);
      return;
    case "rename":
      // The new name may survive where the old one, and everything in the file, was lost.
      if (!inodes.has(change.inode)) fileOf(inodes, change.inode);
      namesOf(inodes, change.dir).delete(change.from);
      namesOf(inodes, change.dir).set(change.to, change.inode);
      return;
    case "write": {
      const file = fileOf(inodes, change.inode);
      const bytes = Buffer.alloc(Math.max(file.bytes.length, change.at + change.bytes.length));
      file.bytes.copy(bytes);
      change.bytes.copy(bytes, change.at);
      file.bytes = bytes;
      return;
    }
    case "truncate": {
      const file = fileOf(inodes, change.inode);
      const bytes = Buffer.alloc(change.size);
      file.bytes.copy(bytes, 0, 0, change.size);
      file.bytes = bytes;
      return;
    }
    case "safe":
    case "unsafe":
    case "through":
  }
}

export const NO_BYTES = Buffer.alloc(0);

/** What is in a folder can be safe before the folder's own name is. */
function namesOf(inodes: Map<number, Inode>, number: number): Map<string, number> {
  const inode = inodes.get(number);
  if (inode?.kind === "dir") return inode.names;
  const names = new Map<string, number>();
  inodes.set(number, { kind: "dir", names });
  return names;
}

function fileOf(inodes: Map<number, Inode>, number: number): { kind: "file"; bytes: Buffer } {
  const inode = inodes.get(number);
  if (inode?.kind === "file") return inode;
  const file = { kind: "file" as const, bytes: NO_BYTES };
  inodes.set(number, file);
  return file;
}

export function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
