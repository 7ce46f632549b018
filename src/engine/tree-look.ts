import { hash } from "node:crypto";
import { type BigIntStats, fstatSync, readlinkSync, readSync } from "node:fs";
import { codeOf } from "../store/disk/disk.ts";
import {
  childPath,
  childrenOf,
  closeFolder,
  enterChild,
  type Folder,
  glance,
  WalkError,
} from "../store/disk/folder.ts";
import { TimeSlices } from "../store/disk/time-slices.ts";
import { openFile, openFolder } from "../store/disk/walk.ts";
import { UNFINISHED } from "../store/disk/whole-file.ts";
import type { TreeChanges } from "./record-tree.ts";
import { fileStamp, type IndexedEntry, type IndexedFolder, pathsBelow } from "./tree-index.ts";
import type { TreeRules } from "./tree-survey.ts";

/** A part of a tree that is looked at: a folder with everything in it, or only with the files right in it. */
export interface LookArea {
  path: string;
  depth: "all" | "files";
}

export interface LookPorts {
  folder: string;
  index: IndexedFolder;
  rules: TreeRules;
  /** Of a clock that only goes forward, in milliseconds. */
  elapsed(): number;
}

/** Larger files are never sent with a fact. */
const SMALL_BYTES = 128 * 1024;
/** What is sent with a fact at most; the rest follows by itself. */
const MOST_BYTES = 512 * 1024;
const MOST_FILES = 200;
/** Two changes of a file within this time may have the same stamp, on older kernels. */
const STAMP_MS = 20;
const DEEPEST = 64;

/**
 * One look at what has changed in a tree beside its streams, since what its index says.
 *
 * TREE-LOOK-1. A file is read again only if its stamp has changed: size, times, inode, mode. A stamp is not trusted while a
 *     further change could have the same one.
 * TREE-LOOK-2. What is taken is what the file was at one moment, as far as the system tells: one that was changed while it
 *     was read is taken at another time, and counts as behind until then.
 * TREE-LOOK-3. No link is followed, neither on the way nor at the end: others write in these folders meanwhile.
 * TREE-LOOK-4. The process is not blocked: it yields every few milliseconds.
 */
export class TreeLook {
  readonly #ports: LookPorts;
  readonly #slices = new TimeSlices();
  readonly #seen = new Set<string>();
  readonly #entries = new Map<string, { path: string; entry: IndexedEntry; siblings: IndexedFolder; name: string }>();
  readonly #gone: { path: string; siblings: IndexedFolder; name: string }[] = [];
  readonly #contents: Uint8Array[] = [];
  #bytes = 0;
  #names = 0;
  /** Files whose content has to be put on its own. */
  readonly later: string[] = [];

  constructor(ports: LookPorts) {
    this.#ports = ports;
  }

  get changes(): TreeChanges {
    const gone = this.#gone.flatMap(({ path, siblings, name }) => [
      path,
      ...pathsBelow(siblings.get(name)?.below ?? new Map(), path),
    ]);
    return { entries: [...this.#entries.values()], gone, contents: this.#contents };
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0 && this.#gone.length === 0;
  }

  /** The engine has what was found: from now on the index says so. */
  committed(): void {
    for (const { siblings, name } of this.#gone) siblings.delete(name);
    for (const { siblings, name, entry } of this.#entries.values()) siblings.set(name, entry);
  }

  /** Returns how many names it has looked at. */
  async at({ path, depth }: LookArea): Promise<number> {
    const parts = path === "" ? [] : path.split("/");
    const opened = this.#onTheWay(parts);
    if (!opened) return 0;
    this.#names = 0;
    try {
      await this.#folder(opened.folder, path, opened.below, depth, parts.length);
    } finally {
      closeFolder(opened.folder);
    }
    return this.#names;
  }

  /** The folder of an area; those above it are entries too. */
  #onTheWay(parts: readonly string[]): { folder: Folder; below: IndexedFolder } | undefined {
    let folder: Folder | undefined;
    let below = this.#ports.index;
    try {
      folder = openFolder(this.#ports.folder, []);
      for (const [depth, name] of parts.entries()) {
        const stats = glance(folder, name);
        const path = parts.slice(0, depth + 1).join("/");
        if (!stats?.isDirectory() || this.#ports.rules.staysBehind(path) !== undefined) {
          closeFolder(folder);
          return undefined;
        }
        below = this.#asFolder(path, name, stats, below);
        const next = enterChild(folder, name);
        closeFolder(folder);
        folder = next;
      }
      return { folder, below };
    } catch (error) {
      if (folder) closeFolder(folder);
      if (isOutOfReach(error)) return undefined;
      throw error;
    }
  }

  async #folder(folder: Folder, path: string, known: IndexedFolder, depth: LookArea["depth"], level: number) {
    const there = new Set<string>();
    for (const { name } of childrenOf(folder, Number.POSITIVE_INFINITY).children) {
      if (this.#slices.isDue) await this.#slices.rest();
      this.#names++;
      const full = path === "" ? name : `${path}/${name}`;
      if (this.#isPassedOver(name, full)) continue;
      const stats = glanceAt(folder, name);
      if (stats === "closed") there.add(name);
      if (!stats || stats === "closed" || !(stats.isFile() || stats.isDirectory() || stats.isSymbolicLink())) continue;
      there.add(name);
      if (stats.isDirectory()) {
        const below = this.#asFolder(full, name, stats, known);
        if (depth === "all" && level < DEEPEST) await this.#enter(folder, name, full, below, level);
      } else if (!this.#seen.has(full)) {
        this.#seen.add(full);
        if (stats.isSymbolicLink()) this.#link(folder, { name, path: full, stats, siblings: known });
        else this.#file(folder, { name, path: full, stats, siblings: known });
      }
    }
    for (const name of known.keys()) {
      const full = path === "" ? name : `${path}/${name}`;
      if (!there.has(name) && !this.#seen.has(full)) {
        this.#seen.add(full);
        this.#gone.push({ path: full, siblings: known, name });
      }
    }
  }

  async #enter(folder: Folder, name: string, path: string, known: IndexedFolder, level: number): Promise<void> {
    let child: Folder;
    try {
      child = enterChild(folder, name);
    } catch (error) {
      // It is closed to us, or was replaced just now: the next look sees what it is then.
      if (isOutOfReach(error)) return;
      throw error;
    }
    try {
      await this.#folder(child, path, known, "all", level + 1);
    } finally {
      closeFolder(child);
    }
  }

  #isPassedOver(name: string, path: string): boolean {
    const { rules } = this.#ports;
    const isUnfinished = name.startsWith(UNFINISHED) || name.includes("\ufffd");
    return isUnfinished || rules.isStream(path) || rules.staysBehind(path) !== undefined;
  }

  #asFolder(path: string, name: string, stats: BigIntStats, siblings: IndexedFolder): IndexedFolder {
    const known = siblings.get(name);
    const mode = modeOf(stats);
    const isSame = known?.kind === "folder" && known.mode === mode;
    const pending = this.#entries.get(path);
    if (pending) return pending.entry.below;
    if (isSame) return known.below;
    const below: IndexedFolder = known?.kind === "folder" ? known.below : new Map();
    // What is below a file or a link in the index is nothing, so nothing more has to go.
    this.#take(path, name, siblings, { ...NOTHING, kind: "folder", mode, below });
    return below;
  }

  #link(folder: Folder, { name, path, stats, siblings }: Found): void {
    const known = siblings.get(name);
    const stamp = fileStamp(stats);
    if (known?.kind === "link" && known.stamp === stamp) return;
    const target = targetOf(folder, name);
    if (target === undefined || target.includes("\ufffd")) return;
    if (known?.kind === "link" && known.target === target) {
      known.stamp = stamp;
      return;
    }
    this.#replace(path, name, siblings, {
      ...{ ...NOTHING, kind: "link", mode: modeOf(stats), target, stamp },
      below: new Map(),
    });
  }

  #file(folder: Folder, found: Found): void {
    const { name, stats, siblings } = found;
    const entry = siblings.get(name);
    const known = entry?.kind === "file" ? entry : undefined;
    const isSame = known?.stamp === fileStamp(stats);
    if (isSame && !known.isBehind) {
      if (known.readAt === undefined || this.#ports.elapsed() - known.readAt < STAMP_MS) return;
    }
    const isSmall = stats.size <= SMALL_BYTES && this.#contents.length < MOST_FILES;
    const read = isSmall && this.#bytes < MOST_BYTES ? readSmall(folder, name, stats) : undefined;
    if (!read) {
      this.#leave(found, known);
      return;
    }
    const name256 = hash("sha256", read);
    const now = { kind: "file" as const, mode: modeOf(stats), hash: name256, target: null, isBehind: false };
    // Read again a while later: no further change can have that stamp any more.
    const readAt = isSame && known.hash === name256 ? undefined : this.#ports.elapsed();
    const next: IndexedEntry = { ...now, stamp: fileStamp(stats), readAt, below: new Map() };
    if (known?.hash === name256 && known.mode === now.mode && !known.isBehind) {
      Object.assign(known, next);
      return;
    }
    if (known?.hash !== name256) {
      this.#contents.push(read);
      this.#bytes += read.length;
    }
    this.#replace(found.path, name, siblings, next);
  }

  /** It is put on its own; until then the engine knows that what it has is behind. */
  #leave({ path, name, stats, siblings }: Found, known: IndexedEntry | undefined): void {
    this.later.push(path);
    const mode = modeOf(stats);
    const isSame = known?.stamp === fileStamp(stats);
    if (known?.mode === mode && (known.isBehind || isSame)) return;
    const before = known ?? { ...NOTHING, kind: "file" as const };
    this.#replace(path, name, siblings, { ...before, mode, isBehind: true, below: new Map() });
  }

  /** What is below a folder that has become something else goes with it. */
  #replace(path: string, name: string, siblings: IndexedFolder, entry: IndexedEntry): void {
    const known = siblings.get(name);
    if (known?.kind === "folder")
      for (const below of known.below.keys())
        this.#gone.push({ path: `${path}/${below}`, siblings: known.below, name: below });
    this.#take(path, name, siblings, entry);
  }

  #take(path: string, name: string, siblings: IndexedFolder, entry: IndexedEntry): void {
    this.#entries.set(path, { path, name, siblings, entry });
  }
}

interface Found {
  path: string;
  name: string;
  stats: BigIntStats;
  siblings: IndexedFolder;
}

const NOTHING = { hash: null, target: null, stamp: "", isBehind: false, readAt: undefined };

/** The content at one moment; undefined where it cannot be read, or was changed meanwhile. */
function readSmall(folder: Folder, name: string, stats: BigIntStats): Buffer | undefined {
  try {
    const file = openFile(folder, name);
    try {
      const buffer = Buffer.allocUnsafe(Number(stats.size));
      let filled = 0;
      while (filled < buffer.length) {
        const count = readSync(file.fd, buffer, filled, buffer.length - filled, filled);
        if (count === 0) return undefined;
        filled += count;
      }
      return fileStamp(fstatSync(file.fd, { bigint: true })) === fileStamp(stats) ? buffer : undefined;
    } finally {
      file.close();
    }
  } catch (error) {
    if (isOutOfReach(error)) return undefined;
    throw error;
  }
}

/** A folder may let its names be read, and nothing more: what the engine has of it stays. */
function glanceAt(folder: Folder, name: string): BigIntStats | "closed" | undefined {
  try {
    return glance(folder, name);
  } catch (error) {
    if (isOutOfReach(error)) return "closed";
    throw error;
  }
}

function targetOf(folder: Folder, name: string): string | undefined {
  try {
    return readlinkSync(childPath(folder, name));
  } catch {
    return undefined;
  }
}

/** It is closed to us, or is not there any more, or is something else now. */
export function isOutOfReach(error: unknown): boolean {
  return error instanceof WalkError || ["EACCES", "EPERM", "EIO", "ENOENT"].includes(codeOf(error) ?? "");
}

export function modeOf({ mode }: BigIntStats): number {
  return Number(mode) & 0o7777;
}
