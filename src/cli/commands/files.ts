import { readSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import { runDir } from "../../store/paths.ts";
import { coordinatorScope, type ListedFile, type Scope } from "../../store/scope.ts";
import { EXIT, type ExitCode, Refusal } from "../exit-code.ts";
import { bytes } from "../format.ts";
import type { Invocation } from "../invocation.ts";
import { lookAtAgent } from "../look.ts";
import { plainLines } from "../width.ts";

/** What the coordinator may read is what is shown: the same table, so that no name leads out of the agent's folder. */
export async function files(call: Invocation, word: string, path: string | undefined): Promise<ExitCode> {
  const { now, log } = await lookAtAgent(call, word);
  const { run, id } = now.agent;
  if (!run) throw new Refusal(`${id} has not begun a run yet, so it has no files.`);
  const root = runDir(log.dir, run.id);
  const scope = coordinatorScope({ agentDir: log.dir, runId: run.id, project: null });
  if (path === undefined) await listFolder(call, scope, root, "");
  else await showPath(call, scope, root, isAbsolute(path) ? relative(root, path) : path);
  return EXIT.done;
}

async function showPath(call: Invocation, scope: Scope, root: string, path: string): Promise<void> {
  let file: ReturnType<Scope["openFile"]>;
  try {
    file = scope.openFile(path);
  } catch (error) {
    const isFolder = error instanceof Error && "reason" in error && error.reason === "wrong_kind";
    if (!isFolder) throw error;
    return listFolder(call, scope, root, path.replace(/\/+$/, ""));
  }
  try {
    await showFile(call, file, { path, absolute: join(root, path) });
  } finally {
    file.close();
  }
}

async function showFile(
  { terminal, json }: Invocation,
  file: { fd: number; size: number },
  at: { path: string; absolute: string },
): Promise<void> {
  const first = chunkAt(file.fd, 0);
  const isBinary = first.subarray(0, 8192).includes(0);
  if (json) {
    const content = isBinary ? null : wholeText(file.fd);
    return terminal.printJson({ ...at, bytes: file.size, binary: isBinary, content });
  }
  if (isBinary) return terminal.print(`${at.absolute}  ${bytes(file.size)}, binary\n`);
  if (terminal.stdout.isTTY) return terminal.printLines(plainLines(wholeText(file.fd).replace(/\n$/, "")));
  let place = 0;
  for (let chunk = first; chunk.length > 0 && !terminal.readerLeft.aborted; chunk = chunkAt(file.fd, place)) {
    await terminal.print(chunk);
    place += chunk.length;
  }
}

const CHUNK = 64 * 1024;

function chunkAt(fd: number, place: number): Buffer {
  const buffer = Buffer.alloc(CHUNK);
  return buffer.subarray(0, readSync(fd, buffer, 0, CHUNK, place));
}

function wholeText(fd: number): string {
  const chunks: Buffer[] = [];
  let place = 0;
  for (let chunk = chunkAt(fd, 0); chunk.length > 0; chunk = chunkAt(fd, place)) {
    chunks.push(chunk);
    place += chunk.length;
  }
  return Buffer.concat(chunks).toString();
}

const MOST = 10_000;

async function listFolder(call: Invocation, scope: Scope, root: string, path: string): Promise<void> {
  const { terminal, json } = call;
  const { entries, more } = scope.list(path, { recursive: true, limit: MOST });
  // "agent" is the coordinator's door to its own memory, no folder of the run.
  const found = entries.filter((entry) => path !== "" || entry.path !== "agent");
  const listed = [...found.filter(isPublished), ...found.filter((entry) => !isPublished(entry))];
  if (json) {
    for (const entry of listed) {
      await terminal.printJson({ ...entry, absolute: join(root, entry.path), published: isPublished(entry) });
    }
  } else {
    await terminal.printLines([terminal.paint.bold(join(root, path)), ...treeOf(listed, path, terminal.paint)]);
  }
  if (more) terminal.say(`Only the first ${MOST} are shown. Name a folder to see more: ${path || "nodes"}/…`);
}

function isPublished({ path, kind }: ListedFile): boolean {
  return kind !== "folder" && /^(?:runs\/[^/]+\/)?nodes\/[^/]+\/published\//.test(path);
}

type Colour = (text: string) => string;

/** Published files first, by their whole path; then everything else as a tree. */
export function treeOf(listed: readonly ListedFile[], top: string, paint: { green: Colour; dim: Colour }): string[] {
  const published = listed
    .filter(isPublished)
    .map((entry) => `${paint.green("✓")} ${entry.path}  ${paint.dim(bytes(entry.bytes))}`);
  const rest = listed.filter((entry) => !isPublished(entry)).sort((a, b) => (a.path < b.path ? -1 : 1));
  const tree = rest.map((entry) => {
    const inside = top === "" ? entry.path : entry.path.slice(top.length + 1);
    const parts = inside.split("/");
    const name = plainLines(parts.at(-1) ?? "").join("?");
    const size =
      entry.kind === "folder" ? "/" : `  ${paint.dim(entry.kind === "file" ? bytes(entry.bytes) : entry.kind)}`;
    return `${"  ".repeat(parts.length)}${name}${size}`;
  });
  return [...published, ...tree];
}
