import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Situation } from "../projections/index.ts";
import { nodeDir, runDir } from "../store/paths.ts";
import { plain, plainLines, wrap } from "./width.ts";

/** What came out: the summary, then the absolute paths of what was published and of the run's own files. */
export async function resultLines(now: Situation, agentDir: string, columns: number): Promise<string[]> {
  const { summary, status } = now.agent;
  const words =
    status === "completed" && summary !== null ? plainLines(summary).flatMap((line) => wrap(line, columns)) : [];
  const paths = await resultFiles(now, agentDir);
  return words.length > 0 && paths.length > 0 ? [...words, "", ...paths] : [...words, ...paths];
}

export async function resultFiles(now: Situation, agentDir: string): Promise<string[]> {
  const { run } = now.agent;
  if (!run) return [];
  const published = Object.values(now.board.nodes).flatMap((node) =>
    node.status === "completed" && node.spec.run_id === run.id
      ? node.files.map((file) => join(nodeDir(agentDir, run.id, node.id), "published", file.path))
      : [],
  );
  const folder = runDir(agentDir, run.id);
  const inRun = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const own = inRun.filter((entry) => entry.isFile()).map((entry) => join(folder, entry.name));
  // A name is a model's word: it must not speak to the terminal.
  return [...published, ...own.sort()].map(plain);
}
