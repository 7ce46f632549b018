import { createHash } from "node:crypto";
import { chmod, type FileHandle, lstat, mkdir, open, readdir, readlink, rename, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { Repair } from "../store/store.ts";
import { PART_BYTES, partsOf, smallContents } from "./contents.ts";
import type { Database } from "./database.ts";
import { EngineError } from "./engine-address.ts";
import { GIVEN_BACK } from "./home-trees.ts";
import { bytesFrom, type ChunkMark, marksOf, sha256, streamsOf } from "./streams.ts";
import { openToRead, partsFrom, readRange } from "./tree-survey.ts";

export interface ExportedTree {
  tree: string;
  streams: number;
  files: number;
  /** Written now; what was there already is not counted. */
  writtenBytes: number;
  entries: readonly ExportedEntry[];
  /** Files that had been changed on the host that worked there last, and did not reach the engine any more. */
  lost: readonly { path: string; what: string }[];
}

/** The trees of an engine, and whether all of each is there. */
export async function treesOf(database: Database): Promise<{ tree: string; isReady: boolean }[]> {
  const rows = await database.query("select tree, state = 'ready' as is_ready from trees order by tree");
  return treeRows.parse(rows).map(({ tree, is_ready }) => ({ tree, isReady: is_ready }));
}

/**
 * Writes a tree of the engine into a folder of its own.
 *
 * EXPORT-1. When it resolves, the folder has what the engine has and nothing else, compared by hashes; and synced, unless
 *     it is a working copy, which is brought to what the engine has after a power failure anyway.
 * EXPORT-2. What was interrupted goes on: what is there already and right is not written again.
 * EXPORT-3. A file appears whole, by a rename.
 * EXPORT-4. A file that the engine does not have as it last was is `lost`: it is as it was earlier, or not there.
 */
export async function exportTree(
  database: Database,
  tree: string,
  folder: string,
  { isKept = () => false, isSynced = true }: ExportOptions = {},
): Promise<ExportedTree> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const rows = await database.query(
    "select path, kind, mode, encode(hash, 'hex') as hash, target, is_behind from files where tree = $1 order by path collate \"C\"",
    [tree],
  );
  const all = entryRows.parse(rows);
  const entries = all.filter(({ kind, hash }) => kind !== "file" || hash !== null);
  const streams = await streamsOf(database, tree);
  const kinds = kindsOf(entries, streams.keys());
  await rm(join(folder, GIVEN_BACK), { force: true });
  await removeOthers(folder, "", kinds, isKept);
  const sync = isSynced ? (file: FileHandle) => file.sync() : async () => {};
  let writtenBytes = 0;
  for (const { path, kind } of entries) if (kind === "folder") await makeFolder(join(folder, path));
  for (const path of streams.keys()) writtenBytes += await exportStream(database, tree, path, join(folder, path), sync);
  const contents = new NextContents(database, entries);
  for (const entry of entries) {
    if (entry.kind === "file") writtenBytes += await exportFile(contents, entry, join(folder, entry.path), sync);
    if (entry.kind === "link") await exportLink(entry.target ?? "", join(folder, entry.path));
  }
  // From the depths up: a folder that may not be written to is closed once everything is in it.
  for (const { path, kind, mode } of entries.toReversed()) if (kind === "folder") await chmod(join(folder, path), mode);
  if (isSynced) await syncFolder(folder);
  const files = entries.filter(({ kind }) => kind === "file").length;
  return { tree, streams: streams.size, files, writtenBytes, entries: all, lost: all.flatMap(lostIn) };
}

/** In words for the log: each of the first, and the number of the others. */
export function lostWords({ tree, lost }: ExportedTree): Repair[] {
  const named = lost.slice(0, MOST_NAMED).map(({ path, what }) => ({ file: `${tree}/${path}`, what, aside: null }));
  const more = lost.length - named.length;
  if (more > 0) named.push({ file: tree, what: `the same is true of ${more} more of its files`, aside: null });
  return named;
}

const MOST_NAMED = 20;

/** Only the streams of a working copy: of everything else it has what the engine has, or something newer. */
export async function exportStreams(database: Database, tree: string, folder: string): Promise<void> {
  const streams = await streamsOf(database, tree);
  kindsOf([], streams.keys());
  for (const path of streams.keys())
    await exportStream(database, tree, path, join(folder, path), () => Promise.resolve());
}

function lostIn({ path, hash, is_behind }: ExportedEntry): { path: string; what: string }[] {
  if (!is_behind) return [];
  const what =
    hash === null
      ? "it had not reached the engine when its host ended, and is not there"
      : "its last changes had not reached the engine when its host ended; it is as it was before them";
  return [{ path, what }];
}

export interface ExportOptions {
  /** What of the folder stays although the engine does not have it. */
  isKept?: (path: string) => boolean;
  isSynced?: boolean;
}

type Sync = (file: FileHandle) => Promise<void>;

/** Brings one stream of a tree to what the engine has. */
export async function exportStream(
  database: Database,
  tree: string,
  path: string,
  to: string,
  sync: Sync = async () => {},
): Promise<number> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await using file = await open(to, "a+", 0o600);
  const marks = await marksOf(database, tree, path);
  const same = await sameUntil(file, marks);
  const wanted = marks.slice(same.chunks);
  await file.truncate(same.at);
  let written = 0;
  let waiting: Buffer[] = [];
  for await (const bytes of bytesFrom(database, tree, path, same.at)) {
    const mark = wanted.shift();
    // Somebody adds to it meanwhile: that belongs to the next export.
    if (!mark) break;
    if (mark.at !== same.at + written || sha256(bytes) !== mark.sha256)
      throw new EngineError(`${tree}: ${path} is damaged in the engine, or was changed while it was exported.`);
    written += bytes.length;
    waiting.push(bytes);
    if (waiting.length < CHUNKS_A_WRITE) continue;
    await file.appendFile(Buffer.concat(waiting));
    waiting = [];
  }
  if (wanted.length > 0) throw new EngineError(`${tree}: ${path} was changed while it was exported. Export again.`);
  await file.appendFile(Buffer.concat(waiting));
  await sync(file);
  return written;
}

/** How far the file is what the engine has. */
async function sameUntil(file: FileHandle, marks: readonly ChunkMark[]): Promise<{ at: number; chunks: number }> {
  let at = 0;
  for (const [chunks, mark] of marks.entries()) {
    if (sha256(await readRange(file, at, mark.bytes)) !== mark.sha256) return { at, chunks };
    at += mark.bytes;
  }
  return { at, chunks: marks.length };
}

/** Those of a commit are small; no more than this are in memory. */
const CHUNKS_A_WRITE = 100;

/** The contents of entries, asked for in their order: small ones many at once. */
class NextContents {
  readonly #database: Database;
  readonly #left: string[];
  #asked = new Set<string>();
  #small = new Map<string, Buffer>();

  constructor(database: Database, entries: readonly ExportedEntry[]) {
    this.#database = database;
    this.#left = entries.flatMap(({ hash }) => hash ?? []);
  }

  /** Its parts; the entries before it are not asked for any more. */
  async *of(hash: string): AsyncGenerator<Buffer> {
    const from = this.#asked.has(hash) ? -1 : this.#left.indexOf(hash);
    if (from >= 0) {
      const next = this.#left.slice(from, from + CONTENTS_AT_ONCE);
      this.#left.splice(0, from);
      this.#asked = new Set(next);
      this.#small = await smallContents(this.#database, next);
    }
    const small = this.#small.get(hash);
    if (small) yield small;
    else yield* partsOf(this.#database, hash);
  }
}

/** At most so many of 64 KiB are in memory. */
const CONTENTS_AT_ONCE = 200;

async function exportFile(
  contents: NextContents,
  { path, mode, hash }: ExportedEntry,
  to: string,
  sync: Sync,
): Promise<number> {
  if (hash === null) throw new EngineError(`${path} has no content in the engine.`);
  if ((await hashAt(to)) === hash) {
    await chmod(to, mode);
    return 0;
  }
  const part = `${to}.part`;
  await rm(part, { force: true });
  let written = 0;
  const sum = createHash("sha256");
  {
    await using file = await open(part, "wx", 0o600);
    for await (const bytes of contents.of(hash)) {
      sum.update(bytes);
      written += bytes.length;
      await writeAll(file, bytes);
    }
    await file.chmod(mode);
    await sync(file);
  }
  if (sum.digest("hex") !== hash)
    throw new EngineError(`${path}: its content in the engine is damaged. Import it again from a home that has it.`);
  await rename(part, to);
  return written;
}

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
}

/** Undefined where there is no such file. */
async function hashAt(path: string): Promise<string | undefined> {
  const file = await openToRead(path).catch(() => undefined);
  if (!file) return undefined;
  try {
    const sum = createHash("sha256");
    for await (const bytes of partsFrom(file, PART_BYTES)) sum.update(bytes);
    return sum.digest("hex");
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}

async function exportLink(target: string, to: string): Promise<void> {
  if ((await readlink(to).catch(() => undefined)) === target) return;
  await rm(to, { force: true });
  await symlink(target, to);
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
}

type Kind = "file" | "folder" | "link";

/**
 * What each path is, with the folders on the way. Anyone who can write to the engine must not lead us out of it: no
 * path has "..", and none goes through a link.
 */
function kindsOf(entries: readonly ExportedEntry[], streams: Iterable<string>): Map<string, Kind> {
  const kinds = new Map<string, Kind>(entries.map(({ path, kind }) => [path, kind]));
  for (const path of streams) kinds.set(path, "file");
  for (const path of [...kinds.keys()]) {
    const parts = path.split("/");
    if (parts.some((part) => ["", ".", ".."].includes(part)) || path.includes("\0"))
      throw new EngineError(`The engine has a file with a path that leads elsewhere: ${JSON.stringify(path)}`);
    for (let depth = 1; depth < parts.length; depth++) {
      const above = parts.slice(0, depth).join("/");
      if ((kinds.get(above) ?? "folder") !== "folder")
        throw new EngineError(`The engine has a file below what is no folder: ${JSON.stringify(path)}`);
      kinds.set(above, "folder");
    }
  }
  return kinds;
}

/** What an earlier export has written and the engine does not have any more, or has as something else. */
async function removeOthers(
  folder: string,
  below: string,
  kinds: ReadonlyMap<string, Kind>,
  isKept: (path: string) => boolean,
): Promise<void> {
  for (const name of await readdir(join(folder, below))) {
    const path = below === "" ? name : `${below}/${name}`;
    const full = join(folder, path);
    if (isKept(path)) continue;
    const found = await lstat(full);
    const kind = found.isDirectory() ? "folder" : found.isSymbolicLink() ? "link" : "file";
    if (kind === "folder") await chmod(full, 0o700);
    if (kinds.get(path) !== kind) await rm(full, { recursive: true, force: true });
    else if (kind === "folder") await removeOthers(folder, path, kinds, isKept);
  }
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}

/** Nothing else is ever a tree of ours, and so nothing else becomes a folder here. */
const treeRows = z.array(
  z.object({ tree: z.string().regex(/^(?:agents\/agent-[a-z0-9]{4,32}|memory)$/), is_ready: z.boolean() }),
);
const entryRows = z.array(
  z.object({
    path: z.string(),
    kind: z.enum(["file", "folder", "link"]),
    mode: z.number(),
    hash: z.string().nullable(),
    target: z.string().nullable(),
    is_behind: z.boolean(),
  }),
);
export type ExportedEntry = z.infer<typeof entryRows>[number];
