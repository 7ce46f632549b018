import { parentPort, workerData } from "node:worker_threads";
import type { GrepLine } from "./grep.ts";

/** Runs in a thread: files in, the lines that match out. */
const { pattern, ignoreCase }: { pattern: string; ignoreCase: boolean } = workerData;

const LONGEST_LINE = 300;

let expression: RegExp | undefined;

/** `(?i)` at the beginning is how most other tools ignore case. */
function compiled(): RegExp {
  const bare = pattern.replace(/^\(\?i\)/, "");
  return new RegExp(bare, ignoreCase || bare !== pattern ? "i" : "");
}

parentPort?.on("message", ({ bytes, most, context }: { bytes: Uint8Array; most: number; context: number }) => {
  try {
    expression ??= compiled();
    parentPort?.postMessage({ hits: hitsIn(new TextDecoder().decode(bytes), expression, most, context) });
  } catch (error) {
    parentPort?.postMessage({ problem: error instanceof Error ? error.message : String(error) });
  }
});

function hitsIn(text: string, wanted: RegExp, most: number, context: number): GrepLine[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  const shown = new Map<number, GrepLine>();
  let matches = 0;
  for (let i = 0; i < lines.length && matches < most; i++) {
    const at = lines[i]?.search(wanted) ?? -1;
    if (at < 0) continue;
    matches += 1;
    for (let near = Math.max(0, i - context); near <= Math.min(lines.length - 1, i + context); near++)
      if (near !== i && !shown.has(near))
        shown.set(near, { line: near + 1, text: cut(lines[near], 0), isMatch: false });
    shown.set(i, { line: i + 1, text: cut(lines[i], at), isMatch: true });
  }
  return [...shown.values()].sort((a, b) => a.line - b.line);
}

/** The part of a long line that holds the match. */
function cut(line = "", at: number): string {
  if (line.length <= LONGEST_LINE) return line;
  const from = Math.max(0, Math.min(at - LONGEST_LINE / 3, line.length - LONGEST_LINE));
  const shown = line.slice(from, from + LONGEST_LINE).toWellFormed();
  return `${from > 0 ? "…" : ""}${shown}${from + LONGEST_LINE < line.length ? "…" : ""}`;
}
