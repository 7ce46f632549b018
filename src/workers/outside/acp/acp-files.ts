import { isAbsolute, relative } from "node:path";
import { z } from "zod";
import { putFile, readPart } from "../../../store/disk/foreign-folder.ts";

/**
 * Some agents have their files read and written by us although we never offered it. It is done where they work and
 * nowhere else; the same program could do it itself, in its sandbox.
 */
export async function serveFile(method: string, params: unknown, cwd: string): Promise<FileAnswer> {
  try {
    return await (method === "fs/read_text_file" ? read(params, cwd) : write(params, cwd));
  } catch (error) {
    return { ok: false, why: error instanceof Error ? error.message : String(error) };
  }
}

export type FileAnswer = { ok: true; result: Record<string, unknown> } | { ok: false; why: string };

const MAX_BYTES = 16 * 1024 * 1024;
const toRead = z.looseObject({
  path: z.string(),
  line: z.int().positive().nullish(),
  limit: z.int().nonnegative().nullish(),
});
const toWrite = z.looseObject({ path: z.string(), content: z.string() });

async function read(params: unknown, cwd: string): Promise<FileAnswer> {
  const { path, line, limit } = toRead.parse(params);
  const bytes = await readPart(cwd, below(path, cwd), 0, MAX_BYTES);
  if (!bytes) return { ok: false, why: `${path} does not exist, or is not a regular file.` };
  const text = bytes.toString("utf8");
  if (!line && limit == null) return { ok: true, result: { content: text } };
  const from = (line ?? 1) - 1;
  const lines = text.split("\n").slice(from, limit == null ? undefined : from + limit);
  return { ok: true, result: { content: lines.join("\n") } };
}

async function write(params: unknown, cwd: string): Promise<FileAnswer> {
  const { path, content } = toWrite.parse(params);
  if (Buffer.byteLength(content) > MAX_BYTES)
    return { ok: false, why: `${path} would be larger than ${MAX_BYTES} bytes.` };
  await putFile(cwd, below(path, cwd), content);
  return { ok: true, result: {} };
}

function below(path: string, cwd: string): string {
  const inside = relative(cwd, path);
  if (!isAbsolute(path) || inside === "" || inside.split("/").includes("..") || isAbsolute(inside))
    throw new Error(`${path} is not in ${cwd}, which is all we read and write for you. Use your own tools for it.`);
  return inside;
}
