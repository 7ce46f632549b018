import { crc32 } from "node:zlib";
import type { CrashDisk } from "./crash-disk.ts";
import { applyChange, type Change, type Inode, type Tree } from "./crash-medium.ts";

/** Every instant at which the power could have failed, with the disks that could be found afterwards (crash-disk.ts). */
export function* crashPoints(
  disk: CrashDisk,
  how: { random: () => number; budget: number; from?: number },
): Generator<CrashPoint> {
  const walk = new Walk(disk.start);
  for (let at = 0; at <= disk.log.length; at++) {
    if (at >= (how.from ?? 0)) yield { at, states: walk.survivors(how.random, how.budget) };
    const change = disk.log[at];
    if (change !== undefined) walk.take(change, at);
  }
}

export interface CrashPoint {
  /** How many changes of the log had been made. */
  at: number;
  /** At most `budget` different disks; all of them when there are no more. */
  states: Iterable<Survivor>;
}

/** `print` is the same for the same disk. */
export interface Survivor extends Tree {
  print: number;
}

/** What happens to one unsafe change: it is kept, lost, or kept in part. */
type Fate = "kept" | "lost" | Tear;
type Tear = "first byte" | "first half" | "all but the last byte" | "half, then zeros" | "second half" | "scattered";
const TEARS: Tear[] = [
  "first byte",
  "first half",
  "all but the last byte",
  "half, then zeros",
  "second half",
  "scattered",
];
const SECTOR = 16;

interface Pending {
  change: Change;
  at: number;
  safe: boolean;
  doomed: boolean;
}

class Walk {
  readonly #base: Map<number, Inode>;
  #nextInode: number;
  #pending: Pending[] = [];

  constructor(start: Tree) {
    this.#base = new Map([...start.inodes].map(([number, inode]) => [number, copyOf(inode)]));
    this.#nextInode = start.nextInode;
  }

  take(change: Change, at: number): void {
    if (change.kind === "through") {
      for (const one of this.#pending) if (one.at === change.change) one.safe = true;
    } else if (change.kind === "safe" || change.kind === "unsafe") {
      for (const one of this.#pending) {
        if (targetOf(one.change) !== change.inode || one.at >= change.upto || one.doomed) continue;
        if (change.kind === "safe") one.safe = true;
        else if (!one.safe) one.doomed = true;
      }
    } else {
      if (change.kind === "link") this.#nextInode = Math.max(this.#nextInode, change.inode + 1);
      this.#pending.push({ change, at, safe: false, doomed: false });
    }
    this.#fold();
  }

  *survivors(random: () => number, budget: number): Generator<Survivor> {
    const unsafe = this.#pending.filter((one) => !one.safe);
    const seen = new Set<number>();
    for (const fates of fatesOf(unsafe, random, budget)) {
      if (seen.size >= budget) return;
      const tree = this.#tree(unsafe, fates, random);
      const print = fingerprint(tree);
      if (seen.has(print)) continue;
      seen.add(print);
      yield { ...tree, print };
    }
  }

  /** What is safe and waits for nothing unsafe before it is simply there. */
  #fold(): void {
    const blocked = new Set<number>();
    this.#pending = this.#pending.filter((one) => {
      const target = targetOf(one.change);
      if (one.safe && !blocked.has(target)) {
        applyChange(this.#base, one.change);
        return false;
      }
      blocked.add(target);
      return true;
    });
  }

  #tree(unsafe: readonly Pending[], fates: readonly Fate[], random: () => number): Tree {
    const inodes = new Map([...this.#base].map(([number, inode]) => [number, copyOf(inode)]));
    const fate = new Map(unsafe.map((one, index) => [one, fates[index] ?? "kept"]));
    for (const one of this.#pending) {
      const change = surviving(one.change, fate.get(one) ?? "kept", inodes, random);
      if (change !== undefined) applyChange(inodes, change);
    }
    return { inodes, nextInode: this.#nextInode };
  }
}

/** The telling cases first: all, nothing, each alone, all but one, each torn; then any mixture. */
function* fatesOf(unsafe: readonly Pending[], random: () => number, budget: number): Generator<Fate[]> {
  const all = (fate: Fate) => unsafe.map(() => fate);
  yield all("kept");
  if (unsafe.length === 0) return;
  yield all("lost");
  const one = (index: number, its: Fate, others: Fate) => unsafe.map((_, at) => (at === index ? its : others));
  const cases: (() => Fate[])[] = [];
  for (const [index, { change }] of unsafe.entries()) {
    cases.push(() => one(index, "kept", "lost"));
    cases.push(() => one(index, "lost", "kept"));
    if (change.kind !== "write") continue;
    for (const tear of TEARS)
      for (const others of ["kept", "lost"] as const) cases.push(() => one(index, tear, others));
  }
  // When there are more cases than budget, a fair choice of them, never only those of the oldest changes.
  const systematic = Math.ceil(budget * 0.7);
  for (let taken = 0; taken < systematic && cases.length > 0; taken++) {
    const [next] = cases.splice(Math.floor(random() * cases.length), 1);
    if (next !== undefined) yield next();
  }
  for (let tries = 0; tries < budget; tries++) yield unsafe.map(({ change }) => anyFate(change, random));
}

function anyFate(change: Change, random: () => number): Fate {
  const chance = random();
  if (change.kind !== "write" || chance < 0.7) return chance < 0.35 ? "kept" : "lost";
  return TEARS[Math.floor(random() * TEARS.length)] ?? "kept";
}

function surviving(change: Change, fate: Fate, inodes: Map<number, Inode>, random: () => number): Change | undefined {
  if (fate === "kept" || (change.kind !== "write" && fate !== "lost")) return change;
  if (fate === "lost" || change.kind !== "write") return undefined;
  const { bytes, at } = change;
  const half = bytes.length >> 1;
  const before = Buffer.alloc(bytes.length);
  const inode = inodes.get(change.inode);
  if (inode?.kind === "file") inode.bytes.subarray(at, at + bytes.length).copy(before);
  switch (fate) {
    case "first byte":
      return { ...change, bytes: bytes.subarray(0, 1) };
    case "first half":
      return { ...change, bytes: bytes.subarray(0, half) };
    case "all but the last byte":
      return { ...change, bytes: bytes.subarray(0, -1) };
    case "half, then zeros":
      return { ...change, bytes: Buffer.concat([bytes.subarray(0, half), before.subarray(half)]) };
    case "second half":
      return { ...change, bytes: Buffer.concat([before.subarray(0, half), bytes.subarray(half)]) };
    case "scattered": {
      for (let from = 0; from < bytes.length; from += SECTOR)
        if (random() < 0.5) bytes.copy(before, from, from, from + SECTOR);
      return { ...change, bytes: before };
    }
  }
}

function targetOf(change: Change): number {
  return "dir" in change ? change.dir : "inode" in change ? change.inode : -1;
}

function copyOf(inode: Inode): Inode {
  return inode.kind === "dir" ? { kind: "dir", names: new Map(inode.names) } : { ...inode };
}

function fingerprint({ inodes }: Tree): number {
  let print = 0;
  for (const [number, inode] of inodes) {
    print = crc32(`${number}`, print);
    if (inode.kind === "file") print = crc32(`${inode.bytes.length}`, crc32(inode.bytes, print));
    else for (const [name, target] of inode.names) print = crc32(`${name}>${target}`, print);
  }
  return print;
}
