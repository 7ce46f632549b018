import type { z } from "zod";
import { fieldIssueWords } from "../files/issue-text.ts";
import type { Sources } from "./sources.ts";

/** An error in a declaration, with its file and field. */
export class MeshConfigError extends Error {
  override readonly name = "MeshConfigError";
  readonly file: string;

  constructor(file: string, message: string) {
    super(`${file}: ${message}`);
    this.file = file;
  }
}

/** A JSON file of a declaration, by its schema. */
export function readJson<T>(sources: Sources, file: string, schema: z.ZodType<T>): T {
  const text = sources.read(file);
  if (text === undefined) throw new MeshConfigError(file, "the file does not exist");
  // A file that is nested too deep is not even parsed: parsers recurse for each level.
  if (depthOf(text) > MOST_DEPTH) throw new MeshConfigError(file, `it is nested deeper than ${MOST_DEPTH} levels`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new MeshConfigError(file, `it is not JSON: ${error instanceof Error ? error.message : error}`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new MeshConfigError(file, fieldIssueWords(parsed.error, value, schema));
}

const MOST_DEPTH = 16;

/** How deep brackets are nested; those within strings count too, which only makes it stricter. */
function depthOf(json: string): number {
  let deepest = 0;
  let depth = 0;
  for (const sign of json) {
    if (sign === "[" || sign === "{") deepest = Math.max(deepest, ++depth);
    else if (sign === "]" || sign === "}") depth--;
  }
  return deepest;
}
