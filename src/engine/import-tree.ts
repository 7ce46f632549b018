import { createHash } from "node:crypto";
import { join } from "node:path";
import { known, PART_BYTES, putLarge, putSmall } from "./contents.ts";
import type { Database } from "./database.ts";
import { EngineError } from "./engine-address.ts";
import { addToStreams, CHUNK_BYTES, marksOf, sha256, streamsOf, type TreeClaim } from "./streams.ts";
import { type MovedEntry, openToRead, partsFrom, readRange, surveyTree, type TreeRules } from "./tree-survey.ts";

export interface ImportedTree {
  tree: string;
  streams: number;
  files: number;
  /** Of streams and contents that were not in the engine before. */
  sentBytes: number;
  left: { path: string; why: string }[];
}

/**
 * Brings a tree of a home into the engine.
 *
 * IMPORT-1. It counts as there (`ready`) once the engine has the same as the folder: streams by the hash of each chunk,
 *     files by the hash of their content, computed by the engine.
 * IMPORT-2. What was interrupted goes on where it stopped; what is there already is not sent again.
 * IMPORT-3. A stream of which the engine has more, or something else, is refused: nothing recorded is ever taken back.
 */
export async function importTree(
  database: Database,
  tree: string,
  folder: string,
  rules: TreeRules,
): Promise<ImportedTree> {
  const { entries, left } = await surveyTree(folder, rules);
  const claim = await begin(database, tree);
  const streams = entries.filter((entry) => entry.kind === "stream");
  await refuseForeignStreams(database, tree, streams);
  let sentBytes = 0;
  for (const stream of streams) sentBytes += await importStream(database, claim, folder, stream);
  const hashes = await hashesOf(folder, entries);
  sentBytes += await sendContents(database, folder, entries, hashes);
  await writeEntries(database, tree, entries, hashes);
  return { tree, streams: streams.length, files: hashes.size, sentBytes, left };
}

/** From here on nobody else has it, and what is there does not count as whole. */
async function begin(database: Database, tree: string): Promise<TreeClaim> {
  await database.query("insert into trees (tree, state) values ($1, 'moving') on conflict do nothing", [tree]);
  const [row] = await database.query<{ epoch: string }>(
    "update trees set state = 'moving', epoch = epoch + 1, changed = now() where tree = $1 and owner is null returning epoch",
    [tree],
  );
  if (!row) throw new EngineError(`A host works on ${tree} in the engine. Stop it there before you import it again.`);
  return { tree, epoch: Number(row.epoch) };
}

async function refuseForeignStreams(database: Database, tree: string, streams: readonly MovedEntry[]): Promise<void> {
  const here = new Set(streams.map(({ path }) => path));
  for (const path of (await streamsOf(database, tree)).keys()) if (!here.has(path)) throw otherHistory(tree, path);
}

async function importStream(
  database: Database,
  claim: TreeClaim,
  folder: string,
  { path, size }: MovedEntry & { kind: "stream" },
): Promise<number> {
  const { tree } = claim;
  const file = await openToRead(join(folder, path));
  try {
    let at = 0;
    for (const mark of await marksOf(database, tree, path)) {
      if (mark.at !== at || sha256(await readRange(file, at, mark.bytes)) !== mark.sha256)
        throw otherHistory(tree, path);
      at += mark.bytes;
    }
    const from = at;
    for await (const bytes of partsFrom(file, CHUNK_BYTES, at)) {
      await addToStreams(database, claim, [{ path, at, bytes }]);
      at += bytes.length;
    }
    // An empty stream is one too.
    if (at === 0) await addToStreams(database, claim, [{ path, at, bytes: Buffer.alloc(0) }]);
    if (at !== size) throw changed(path);
    return at - from;
  } finally {
    await file.close();
  }
}

/** By path. */
async function hashesOf(folder: string, entries: readonly MovedEntry[]): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for (const entry of entries) {
    if (entry.kind !== "file") continue;
    const file = await openToRead(join(folder, entry.path));
    const sum = createHash("sha256");
    try {
      for await (const part of partsFrom(file, PART_BYTES)) sum.update(part);
    } finally {
      await file.close();
    }
    hashes.set(entry.path, sum.digest("hex"));
  }
  return hashes;
}

async function sendContents(
  database: Database,
  folder: string,
  entries: readonly MovedEntry[],
  hashes: ReadonlyMap<string, string>,
): Promise<number> {
  const there = await known(database, [...new Set(hashes.values())]);
  let sent = 0;
  let small: Buffer[] = [];
  let waiting = 0;
  const flush = async () => {
    await putSmall(database, small);
    small = [];
    waiting = 0;
  };
  for (const entry of entries) {
    const hash = hashes.get(entry.path);
    if (entry.kind !== "file" || hash === undefined || there.has(hash)) continue;
    there.add(hash);
    sent += entry.size;
    const file = await openToRead(join(folder, entry.path));
    try {
      if (entry.size > PART_BYTES) {
        if (!(await putLarge(database, hash, entry.size, partsFrom(file, PART_BYTES)))) throw changed(entry.path);
        continue;
      }
      const bytes = await readRange(file, 0, PART_BYTES);
      if (sha256(bytes) !== hash) throw changed(entry.path);
      small.push(bytes);
      waiting += bytes.length;
    } finally {
      await file.close();
    }
    if (waiting >= BATCH_BYTES || small.length >= BATCH_FILES) await flush();
  }
  await flush();
  return sent;
}

/** What is in the tree now, in one step: with it the tree is ready. */
async function writeEntries(
  database: Database,
  tree: string,
  entries: readonly MovedEntry[],
  hashes: ReadonlyMap<string, string>,
): Promise<void> {
  const kept = entries.filter((entry) => entry.kind !== "stream");
  const column = <T>(of: (entry: (typeof kept)[number]) => T) => kept.map(of);
  await database.transaction(async (queries) => {
    await queries.query("delete from files where tree = $1", [tree]);
    await queries.query(
      `insert into files (tree, path, kind, mode, hash, target)
       select $1, * from unnest($2::text[], $3::text[], $4::int[], $5::bytea[], $6::text[])`,
      [
        tree,
        column(({ path }) => path),
        column(({ kind }) => kind),
        column(({ mode }) => mode),
        column(({ path }) => {
          const hash = hashes.get(path);
          return hash === undefined ? null : Buffer.from(hash, "hex");
        }),
        column((entry) => (entry.kind === "link" ? entry.target : null)),
      ],
    );
    await queries.query("update trees set state = 'ready', changed = now() where tree = $1", [tree]);
  });
}

const BATCH_BYTES = 8 * 1024 * 1024;
const BATCH_FILES = 1000;

function otherHistory(tree: string, path: string): EngineError {
  return new EngineError(
    `${tree}: the engine has records in ${path} that this home does not have. Nothing of it was changed. Export the engine's to another home, and archive one of the two.`,
  );
}

function changed(path: string): EngineError {
  return new EngineError(`${path} was changed while it was imported. Stop whatever writes there, and import again.`);
}
