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

/** Bytes for the end of a stream, which is at `at`. */
export interface StreamPart {
  path: string;
  at: number;
  bytes: Uint8Array;
}

/** The claim by which a host may add to the streams of a tree. */
export interface TreeClaim {
  tree: string;
  epoch: number;
}

/** Somebody else has the tree now, or has added to it: nothing was changed, and the claim is worth nothing any more. */
export class FencedError extends Error {
  override readonly name = "FencedError";
  constructor(tree: string) {
    super(
      `Another host works on ${tree} now. What was recorded here before is safe there; nothing more is recorded here.`,
    );
  }
}

/**
 * Adds to streams of a tree, in one step.
 *
 * STREAM-1. All of it or nothing. FencedError if the claim is not the newest one, or if a stream does not end where the
 *     caller thinks it does.
 */
export async function addToStreams(
  queries: Queries,
  { tree, epoch }: TreeClaim,
  parts: readonly StreamPart[],
): Promise<void> {
  const columns = [parts.map(({ path }) => path), parts.map(({ at }) => at), parts.map(({ bytes }) => bytes)];
  try {
    const rows = await queries.query<{ added: boolean }>("select add_to_streams($1, $2, $3, $4, $5) as added", [
      tree,
      epoch,
      ...columns,
    ]);
    if (rows[0]?.added !== true) throw new FencedError(tree);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === ENDS_ELSEWHERE) throw new FencedError(tree);
    throw error;
  }
}

/** As `add_to_streams` raises it. */
const ENDS_ELSEWHERE = "AG001";

/** The chunks of a stream in order, by where they are and their hash. */
export async function marksOf(queries: Queries, tree: string, path: string): Promise<ChunkMark[]> {
  const rows = await queries.query(
    "select at, length(bytes) as bytes, encode(sha256(bytes), 'hex') as sha256 from chunks where tree = $1 and path = $2 order by at",
    [tree, path],
  );
  return markRows.parse(rows);
}

/** The bytes of a stream from a chunk on. */
export async function* bytesFrom(queries: Queries, tree: string, path: string, at: number): AsyncGenerator<Buffer> {
  for (let next = at; ; ) {
    const rows = await queries.query<{ bytes: Buffer }>(
      "select bytes from chunks where tree = $1 and path = $2 and at >= $3 order by at limit $4",
      [tree, path, next, CHUNKS_AT_ONCE],
    );
    for (const { bytes } of rows) {
      next += bytes.length;
      yield bytes;
    }
    if (rows.length < CHUNKS_AT_ONCE) return;
  }
}

/** At most so many of 512 KiB are in memory; those of a commit are far smaller. */
const CHUNKS_AT_ONCE = 200;

export function sha256(bytes: Uint8Array): string {
  return hash("sha256", bytes);
}

/** PostgreSQL sends numbers of 64 bits as text. */
const bigint = z.coerce.number().int().nonnegative();
const streamRows = z.array(z.object({ path: z.string(), size: bigint }));
const markRows = z.array(z.object({ at: bigint, bytes: z.number(), sha256: z.string() }));
