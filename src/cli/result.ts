import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Situation } from "../projections/index.ts";
import { changedFiles } from "../store/manifests.ts";
import { nodeDir, runDir } from "../store/paths.ts";
import { plain, plainLines, wrap } from "./width.ts";

/** What came out: the summary, then the absolute paths of what was published and of the run's own files. */
export async function resultLines(now: Situation, agentDir: string, columns: number): Promise<string[]> {
  const { summary, status } = now.agent;
  const words =
    status === "completed" && summary !== null ? plainLines(summary).flatMap((line) => wrap(line, columns)) : [];
  const paths = (await resultFiles(now, agentDir)).map(fileLine);
  return words.length > 0 && paths.length > 0 ? [...words, "", ...paths] : [...words, ...paths];
}

export interface ResultFile {
  path: string;
  /** Published, and not there any more with the content that was recorded. */
  changed: boolean;
}

export async function resultFiles(now: Situation, agentDir: string): Promise<ResultFile[]> {
  const { run } = now.agent;
  if (!run) return [];
  const published: ResultFile[] = [];
  for (const node of Object.values(now.board.nodes)) {
    if (node.status !== "completed" || node.spec.run_id !== run.id) continue;
    const changed = new Set(await changedFiles(agentDir, run.id, node.id, node.files));
    const folder = join(nodeDir(agentDir, run.id, node.id), "published");
    for (const { path } of node.files) published.push({ path: join(folder, path), changed: changed.has(path) });
  }
  const folder = runDir(agentDir, run.id);
  const inRun = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const own = inRun.filter((entry) => entry.isFile()).map((entry) => join(folder, entry.name));
  // A name is a model's word: it must not speak to the terminal.
  return [...published, ...own.sort().map((path) => ({ path, changed: false }))].map((file) => ({
    ...file,
    path: plain(file.path),
  }));
}

export function fileLine({ path, changed }: ResultFile): string {
  return changed ? `${path} (changed or removed after it was published)` : path;
}
