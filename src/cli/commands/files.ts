import { readSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import type { RunId } from "../../protocol/index.ts";
import { runDir } from "../../store/paths.ts";
import { manifestsOf } from "../../store/run/manifests.ts";
import { runFiles } from "../../store/run/results.ts";
import type { ListedFile, Scope } from "../../store/scope/scope.ts";
import { coordinatorScope } from "../../store/scope/team-scopes.ts";
import { EXIT, type ExitCode, Refusal } from "../exit-code.ts";
import { lookAtAgent } from "../home/look.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { bytes } from "../wording/format.ts";
import { plainLines } from "../wording/width.ts";

/**
 * Shows what the coordinator may read, by the same table of scopes, so that no name leads out of the agent's folder.
 */
export async function files(call: Invocation, word: string, path: string | undefined): Promise<ExitCode> {
  const { now, log } = await lookAtAgent(call, word);
  const { run, id } = now.agent;
  if (!run)
    throw new Refusal(
      `${id} has not started a run yet, so it has no files. Start it: ${commandLine(call, "resume", id)}`,
    );
  const published = manifestsOf(() => now.board);
  const scope = coordinatorScope({ agentDir: log.dir, runId: run.id, project: null, published });
  const shown = new AgentFiles(scope, log.dir, run.id);
  if (path === undefined) {
    const { results } = await runFiles(now, log.dir);
    await listFolder(call, shown, "", new Set(results.map((file) => file.path)));
    const [last] = await shown.earlierRuns();
    if (last !== undefined && !call.json)
      call.terminal.say(`This is ${run.id}. The one before it: ${commandLine(call, "files", id, last)}`);
    return EXIT.done;
  }
  const wanted = shown.named(path);
  try {
    await showPath(call, shown, wanted);
  } catch (error) {
    const before = isNotThere(error) ? (await shown.earlierRuns()).map((folder) => `${folder}/${wanted}`) : [];
    const there = before.find((earlier) => shown.has(earlier));
    if (there === undefined || !(error instanceof Error)) throw error;
    error.message = `${run.id} has no ${wanted}; an earlier run has: ${commandLine(call, "files", id, there)}`;
    throw error;
  }
  return EXIT.done;
}

const AGENT = "agent";

/** An agent's files as `files` names them: the run's own by their path in it, all else as agent/… */
class AgentFiles {
  readonly scope: Scope;
  readonly #agentDir: string;
  readonly #runId: RunId;

  constructor(scope: Scope, agentDir: string, runId: RunId) {
    this.scope = scope;
    this.#agentDir = agentDir;
    this.#runId = runId;
  }

  /** What somebody typed, by its name here. */
  named(path: string): string {
    if (!isAbsolute(path)) return path.replace(/\/+$/, "");
    const inRun = relative(runDir(this.#agentDir, this.#runId), path);
    return inRun.startsWith("..") ? join(AGENT, relative(this.#agentDir, path)) : inRun;
  }

  absolute(path: string): string {
    const [first, ...rest] = path.split("/");
    return first === AGENT ? join(this.#agentDir, ...rest) : join(runDir(this.#agentDir, this.#runId), path);
  }

  /** Their folders, the newest first. */
  async earlierRuns(): Promise<string[]> {
    const { entries } = await this.scope.list(`${AGENT}/runs`, { limit: MOST });
    const numberOf = (path: string) => Number(/\d+$/.exec(path)?.[0] ?? 0);
    return entries
      .filter(({ path }) => numberOf(path) > 0 && numberOf(path) < numberOf(this.#runId))
      .map(({ path }) => path)
      .sort((a, b) => numberOf(b) - numberOf(a));
  }

  has(path: string): boolean {
    try {
      this.scope.openFile(path).close();
      return true;
    } catch (error) {
      return isFolder(error);
    }
  }
}

function isFolder(error: unknown): boolean {
  return error instanceof Error && "reason" in error && error.reason === "wrong_kind";
}

function isNotThere(error: unknown): boolean {
  return error instanceof Error && error.name === "FileNotFound";
}

async function showPath(call: Invocation, shown: AgentFiles, path: string): Promise<void> {
  let file: ReturnType<Scope["openFile"]>;
  try {
    file = await shown.scope.openChecked(path);
  } catch (error) {
    if (!isFolder(error)) throw error;
    return listFolder(call, shown, path);
  }
  try {
    await showFile(call, file, { path, absolute: shown.absolute(path) });
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

async function listFolder(
  call: Invocation,
  shown: AgentFiles,
  path: string,
  results: ReadonlySet<string> = new Set(),
): Promise<void> {
  const { terminal, json } = call;
  const { entries, more, tooDeep } = await shown.scope.list(path, { recursive: true, limit: MOST });
  // "agent" leads to the coordinator's own memory and is no folder of the run; and a folder is not in itself.
  const found = entries.filter((entry) => entry.path !== (path || AGENT));
  const isResult = (entry: ListedFile) => results.has(entry.path);
  const isFirst = (entry: ListedFile) => isResult(entry) || isPublished(entry);
  const first = [...found.filter(isResult), ...found.filter((entry) => isPublished(entry) && !isResult(entry))];
  const listed = [...first, ...found.filter((entry) => !isFirst(entry))];
  if (json) {
    for (const entry of listed) {
      await terminal.printJson({
        ...entry,
        absolute: shown.absolute(entry.path),
        published: isPublished(entry),
        result: isResult(entry),
      });
    }
  } else {
    await terminal.printLines([
      terminal.paint.bold(shown.absolute(path)),
      ...printedTree(listed, path, terminal.paint, isFirst),
    ]);
  }
  if (tooDeep) terminal.say(`Folders nested too deeply are not opened; the first is ${tooDeep}.`);
  else if (more) terminal.say(`Only the first ${MOST} are shown. Name a folder to see more: ${path || "nodes"}/…`);
}

function isPublished({ path, kind }: ListedFile): boolean {
  return kind !== "folder" && /^(?:agent\/)?(?:runs\/[^/]+\/)?nodes\/[^/]+\/published\//.test(path);
}

type Colour = (text: string) => string;

/** Results and published files first, by their full path; then everything else as a tree. */
export function printedTree(
  listed: readonly ListedFile[],
  top: string,
  paint: { green: Colour; dim: Colour },
  isFirst: (entry: ListedFile) => boolean = isPublished,
): string[] {
  const first = listed
    .filter(isFirst)
    .map((entry) => `${paint.green("✓")} ${plainLines(entry.path).join("?")}  ${paint.dim(bytes(entry.bytes))}`);
  const rest = listed.filter((entry) => !isFirst(entry)).sort((a, b) => (a.path < b.path ? -1 : 1));
  const tree = rest.map((entry) => {
    const inside = top === "" ? entry.path : entry.path.slice(top.length + 1);
    const parts = inside.split("/");
    const name = plainLines(parts.at(-1) ?? "").join("?");
    const size =
      entry.kind === "folder" ? "/" : `  ${paint.dim(entry.kind === "file" ? bytes(entry.bytes) : entry.kind)}`;
    return `${"  ".repeat(parts.length)}${name}${size}`;
  });
  return [...first, ...tree];
}
