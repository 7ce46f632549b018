import type { Queries } from "./database.ts";
import { FencedError, type StreamPart, type TreeClaim } from "./streams.ts";

/** An entry of a tree that is no stream, as the engine has it. */
export interface EngineEntry {
  kind: "file" | "folder" | "link";
  mode: number;
  /** Of a file: which content it has; null while none of it has been put. */
  hash: string | null;
  /** Of a link. */
  target: string | null;
  /** The file has been changed since: what is named here is older. */
  isBehind: boolean;
}

/** What has changed in a tree beside its streams. */
export interface TreeChanges {
  entries: readonly { path: string; entry: EngineEntry }[];
  gone: readonly string[];
  /** The contents of entries that are sent along. Every other one is there already. */
  contents: readonly Uint8Array[];
}

export const NO_CHANGES: TreeChanges = { entries: [], gone: [], contents: [] };

/** A content that an entry names is not there any more: it has to be put again. */
export class ContentGoneError extends Error {
  override readonly name = "ContentGoneError";
}

/**
 * Adds to the streams of a tree and changes its entries, in one step.
 *
 * RECORD-TREE-1. All of it or nothing, by the rule of STREAM-1; with a claim that is not the newest one nothing.
 * RECORD-TREE-2. An entry never names a content that is not whole in the engine.
 */
export async function recordTree(
  queries: Queries,
  { tree, epoch }: TreeClaim,
  parts: readonly StreamPart[],
  { entries, gone, contents }: TreeChanges,
): Promise<void> {
  try {
    const rows = await queries.query<{ committed: boolean }>(STATEMENT, [
      ...[tree, epoch],
      ...[parts.map(({ path }) => path), parts.map(({ at }) => at), parts.map(({ bytes }) => bytes), contents],
      ...[entries.map(({ path }) => path), entries.map(({ entry }) => entry.kind)],
      entries.map(({ entry }) => entry.mode),
      entries.map(({ entry }) => (entry.hash === null ? null : Buffer.from(entry.hash, "hex"))),
      ...[entries.map(({ entry }) => entry.target), entries.map(({ entry }) => entry.isBehind), gone],
    ]);
    if (rows[0]?.committed !== true) throw new FencedError(tree);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === ENDS_ELSEWHERE) throw new FencedError(tree);
    if (code === CONTENT_GONE || code === FOREIGN_KEY)
      throw new ContentGoneError(`${tree}: a content that it names is not in the engine.`, { cause: error });
    throw error;
  }
}

const STATEMENT = "select record_tree($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) as committed";

/** As `add_to_streams` and `record_tree` raise them. */
const ENDS_ELSEWHERE = "AG001";
const CONTENT_GONE = "AG002";
const FOREIGN_KEY = "23503";
