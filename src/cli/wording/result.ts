import { join } from "node:path";
import type { Situation } from "../../projections/index.ts";
import { runDir } from "../../store/paths.ts";
import { isDerived, OUTPUT_FILE, type RunFile, runFiles } from "../../store/run/results.ts";
import { plain, plainLines, wrap } from "./width.ts";

/**
 * The outcome: the summary, the absolute paths of the results, then those of all other files that were made. Nothing for
 * a run that ended without a result: a script that reads these lines would take our own files for it.
 */
export async function resultLines(now: Situation, agentDir: string, columns: number): Promise<string[]> {
  const { summary, status } = now.agent;
  const words =
    status === "completed" && summary !== null ? plainLines(summary).flatMap((line) => wrap(line, columns)) : [];
  const { results, others } = await resultFiles(now, agentDir);
  const isResult = ({ name, path }: ResultFile) => name !== OUTPUT_FILE || !isDerived(path);
  if (status !== "completed" && !results.some(isResult)) return [];
  return withGaps([words, results.map(fileLine), others.map(fileLine)]);
}

function withGaps(parts: readonly string[][]): string[] {
  return parts.filter((part) => part.length > 0).flatMap((part, at) => (at === 0 ? part : ["", ...part]));
}

export interface ResultFile extends Omit<RunFile, "path"> {
  /** In the run. */
  name: string;
  /** Absolute. */
  path: string;
}

/** The files of the last run: its results, and the others. */
export async function resultFiles(
  now: Situation,
  agentDir: string,
): Promise<{ results: ResultFile[]; others: ResultFile[] }> {
  const { run } = now.agent;
  if (!run) return { results: [], others: [] };
  const folder = runDir(agentDir, run.id);
  // A name is a model's word: it must not speak to the terminal.
  const shown = ({ path, ...file }: RunFile) => ({ ...file, name: plain(path), path: plain(join(folder, path)) });
  const { results, others } = await runFiles(now, agentDir);
  return { results: results.map(shown), others: others.map(shown) };
}

export function fileLine({ path, changed }: Pick<ResultFile, "path" | "changed">): string {
  return changed ? `${path} (changed or removed since)` : path;
}
