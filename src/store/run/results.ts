import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { didYouMean } from "../../boundary/nearest.ts";
import type { Situation } from "../../projections/index.ts";
import { COORDINATOR, type NodeId, type RunId } from "../../protocol/index.ts";
import { runDir } from "../paths.ts";
import type { Scope } from "../scope/scope.ts";
import { humanScope } from "../scope/team-scopes.ts";
import { changedFiles } from "./manifests.ts";

/** Where the results of a run go, in its folder. */
export const OUTPUT = "output";
export const OUTPUT_FILE = "_output.md";

/** A file that came out of a run. */
export interface RunFile {
  /** From the run's folder. */
  path: string;
  bytes: number;
  by: string;
  /** It is not there any more as it was named or published. */
  changed: boolean;
}

export interface RunFiles {
  /** What the run was for: those that the coordinator named, else what is in output/, else what was published. */
  results: RunFile[];
  /** What else was made: published, or written by the coordinator itself. */
  others: RunFile[];
}

const MOST = 1000;
const NOT_MADE = new Set(["nodes", "workers", "_messages"]);

/** The files of the current or last run, with those first that a person wants to see. */
export async function runFiles(now: Situation, agentDir: string): Promise<RunFiles> {
  const { run } = now.agent;
  if (!run) return { results: [], others: [] };
  const published = await publishedFiles(now, agentDir, run.id);
  const written = await writtenFiles(agentDir, run.id);
  const all = [...published, ...written];
  const results = await resultsAmong(now, agentDir, all);
  const shown = new Set(results.map(({ path }) => path));
  return { results, others: all.filter(({ path }) => !shown.has(path)) };
}

async function resultsAmong({ agent }: Situation, agentDir: string, all: readonly RunFile[]): Promise<RunFile[]> {
  const { run } = agent;
  if (!run) return [];
  const named = run.finished?.kind === "finished" ? (run.finished.files ?? []) : [];
  const dir = runDir(agentDir, run.id);
  // What the coordinator wrote there itself is a result; ours is about the results.
  const output = all.filter(({ path }) => path === OUTPUT_FILE);
  const own = output.filter(({ path }) => !isDerived(join(dir, path)));
  if (named.length > 0) {
    const gone = (path: string): RunFile => ({ path, bytes: 0, by: COORDINATOR, changed: true });
    const files = named.map((path) => all.find((file) => file.path === path) ?? gone(path));
    return [...files, ...own.filter(({ path }) => !named.includes(path))];
  }
  const inOutput = all.filter(({ path }) => path.startsWith(`${OUTPUT}/`));
  if (inOutput.length + own.length > 0) return [...inOutput, ...own];
  const published = all.filter(({ path }) => path.startsWith("nodes/"));
  return published.length > 0 ? published : output;
}

async function publishedFiles({ board }: Situation, agentDir: string, run: RunId): Promise<RunFile[]> {
  const files: RunFile[] = [];
  for (const node of Object.values(board.nodes)) {
    if (node.status !== "completed" || node.spec.run_id !== run) continue;
    const changed = new Set(await changedFiles(agentDir, run, node.id, node.files));
    for (const { path, bytes } of node.files)
      files.push({ path: publishedPath(node.id, path), bytes, by: node.worker_id, changed: changed.has(path) });
  }
  return files;
}

function publishedPath(node: NodeId, path: string): string {
  return `nodes/${node}/published/${path}`;
}

/** What the coordinator wrote, and what Agiraph wrote for everybody: in the run's folder, but for the folders of others. */
async function writtenFiles(agentDir: string, run: RunId): Promise<RunFile[]> {
  const scope = humanScope(agentDir);
  const top = `runs/${run}`;
  const found = await entriesIn(scope, top, false);
  const inFolders = found
    .filter(({ path, kind }) => kind === "folder" && !NOT_MADE.has(path.slice(top.length + 1)))
    .map(({ path }) => entriesIn(scope, path, true));
  return [...found, ...(await Promise.all(inFolders)).flat()]
    .filter(({ kind, path }) => kind === "file" && !/\.(?:jsonl|tmp)$/.test(path))
    .map(({ path, bytes }) => ({ path: path.slice(top.length + 1), bytes, by: COORDINATOR, changed: false }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function entriesIn(scope: Scope, path: string, recursive: boolean) {
  // A folder that went away meanwhile has nothing in it.
  return (await scope.list(path, { recursive, limit: MOST }).catch(() => ({ entries: [] }))).entries;
}

/** The files named as the result, each by its path in the run; a folder means its files. Or the problem. */
export async function namedResults(
  now: Situation,
  agentDir: string,
  named: readonly string[],
): Promise<{ files: string[] } | { problem: string }> {
  const { run } = now.agent;
  if (!run) return { problem: "There is no run." };
  const { results, others } = await runFiles(now, agentDir);
  const there = [...results, ...others].filter(({ changed }) => !changed).map(({ path }) => path);
  const files = new Set<string>();
  for (const name of named) {
    const path = pathInRun(name, runDir(agentDir, run.id), run.id);
    const meant = there.filter((each) => each === path || each.startsWith(`${path}/`));
    if (meant.length === 0) return { problem: `there is no file ${name} in this run.${didYouMean(path, there)}` };
    for (const each of meant) files.add(each);
  }
  return { files: [...files] };
}

function pathInRun(name: string, dir: string, run: RunId): string {
  const path = normalize(name.startsWith(`${dir}/`) ? name.slice(dir.length + 1) : name).replace(/\/+$/, "");
  return path.startsWith(`runs/${run}/`) ? path.slice(`runs/${run}/`.length) : path;
}

/**
 * A text that is written from the log, marked as such: if somebody else writes the file, or changes a word of it, it is
 * theirs and is not written again.
 */
export function markedAsDerived(text: string): string {
  return `${text}\n<!-- Written by Agiraph (${digestOf(text)}). Write this file yourself and it stays as you wrote it. -->\n`;
}

const MARK = /\n<!-- Written by Agiraph \(([0-9a-f]{12})\)\. [^\n]* -->\n$/;

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/** Whether the file does not exist, or is as Agiraph wrote it. */
export function isDerived(path: string): boolean {
  const text = plainFile(path);
  if (text === undefined) return true;
  const mark = MARK.exec(text ?? "");
  return mark !== null && mark[1] === digestOf((text ?? "").slice(0, mark.index));
}

/** Undefined where there is none; null where it is none that can be read: a link or a pipe that was put there. */
function plainFile(path: string): string | null | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ENOENT" ? undefined : null;
  }
  try {
    return fstatSync(fd).isFile() ? readFileSync(fd, "utf8") : null;
  } finally {
    closeSync(fd);
  }
}
