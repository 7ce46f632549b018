import { hash } from "node:crypto";
import { z } from "zod";
import type { Queries } from "./database.ts";

/** A piece of a stream, as it is compared without being sent. */
export interface ChunkMark {
  at: number;
  bytes: number;
  sha256: string;
}

/** No larger: a chunk is in memory as a whole, here and there. */
export const CHUNK_BYTES = 512 * 1024;

/** The streams of a tree, with their sizes. */
export async function streamsOf(queries: Queries, tree: string): Promise<Map<string, number>> {
  const rows = await queries.query("select path, size from streams where tree = $1", [tree]);
  return new Map(streamRows.parse(rows).map(({ path, size }) => [path, size]));
}

/**
 * Adds bytes at the end of a stream.
 *
 * STREAM-1. False, and nothing is changed, if the stream does not end at `at`: somebody else has added to it.
 */
export async function appendTo(
  queries: Queries,
  { tree, path, at }: { tree: string; path: string; at: number },
  bytes: Uint8Array,
): Promise<boolean> {
  const added = await queries.query(
    `with grown as (
       insert into streams (tree, path, size) select $1, $2, $4 where $3 = 0
       on conflict (tree, path) do update set size = streams.size + $4 where streams.size = $3
       returning 1
     ), moved as (
       update streams set size = size + $4
       where $3 > 0 and tree = $1 and path = $2 and size = $3
       returning 1
     )
     select 1 from grown union all select 1 from moved`,
    [tree, path, at, bytes.length],
  );
  if (added.length === 0) return false;
  await queries.query("insert into chunks (tree, path, at, bytes) values ($1, $2, $3, $4)", [tree, path, at, bytes]);
  return true;
}

/** The chunks of a stream in order, by where they are and their hash. */
export async function marksOf(queries: Queries, tree: string, path: string): Promise<ChunkMark[]> {
  const rows = await queries.query(
    "select at, length(bytes) as bytes, encode(sha256(bytes), 'hex') as sha256 from chunks where tree = $1 and path = $2 order by at",
    [tree, path],
  );
  return markRows.parse(rows);
}

export async function chunkAt(queries: Queries, tree: string, path: string, at: number): Promise<Buffer | undefined> {
  const [row] = await queries.query<{ bytes: Buffer }>(
    "select bytes from chunks where tree = $1 and path = $2 and at = $3",
    [tree, path, at],
  );
  return row?.bytes;
}

export function sha256(bytes: Uint8Array): string {
  return hash("sha256", bytes);
}

/** PostgreSQL sends numbers of 64 bits as text. */
const bigint = z.coerce.number().int().nonnegative();
const streamRows = z.array(z.object({ path: z.string(), size: bigint }));
const markRows = z.array(z.object({ at: bigint, bytes: z.number(), sha256: z.string() }));
