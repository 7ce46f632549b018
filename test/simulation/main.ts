// First of all: it takes the place of `node:fs` for whatever is loaded after it.
import "./orderly-fs.ts";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { History } from "./simulate.ts";

// Texts of the program are read once for all lives in this process, and no crash may come in between.
// Long work rests when a few milliseconds have gone by, which no two lives do at the same place: here none go by.
const elapsed = performance.now.bind(performance);
performance.now = () => 0;
const { PROMPT_NAMES, promptsOf } = await import("../../src/workers/prompt.ts");
await Promise.all(PROMPT_NAMES.map(promptsOf("/nobody")));
const { simulate } = await import("./simulate.ts");
const { problemsOf } = await import("./invariants.ts");

/**
 * Plays seeds and prints one line of JSON for each that broke something, and one at the end. A process of its own,
 * because it takes charge of the file system.
 *
 *     node test/simulation/main.ts FIRST [COUNT] [TWICE]     every TWICE-th seed is played again and compared
 *     node test/simulation/main.ts FIRST COUNT TWICE --until-broken
 *     node test/simulation/main.ts SEED --story              tells what happened, fact by fact, and what was said
 */
export interface BrokenSeed {
  seed: number;
  problems: string[];
}

export interface Tally {
  seeds: number;
  playedTwice: number;
  states: number;
  facts: number;
  nodes: number;
  messages: number;
  crashes: number;
  restarts: number;
  stops: number;
  finished: number;
  ms: number;
}

const [first = "1", second = "1", third = "0", last = ""] = process.argv.slice(2);
const story = second === "--story";
const [from, count, twice] = [Number(first), story ? 1 : Number(second), Number(third)];

let fallOver: (error: unknown) => void = () => {};
process.on("uncaughtException", (error) => fallOver(error));
process.on("unhandledRejection", (error) => fallOver(error));

// Memory is faster than any disk, and nobody needs these homes afterwards.
const base = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "agiraph-simulation-"));
process.on("exit", () => rmSync(base, { recursive: true, force: true }));
const began = elapsed();
const tally: Tally = {
  ...{ seeds: 0, playedTwice: 0, states: 0, facts: 0, nodes: 0, messages: 0 },
  ...{ crashes: 0, restarts: 0, stops: 0, finished: 0, ms: 0 },
};
for (let seed = from; seed < from + count; seed++) {
  const problems = await play(seed);
  if (problems.length > 0) console.log(JSON.stringify({ seed, problems } satisfies BrokenSeed));
  if (problems.length > 0 && last === "--until-broken") break;
}
console.log(JSON.stringify({ ...tally, ms: Math.round(elapsed() - began) } satisfies Tally));
process.exit(0);

async function play(seed: number): Promise<string[]> {
  let problems: string[] = [];
  try {
    const history = await once(seed, (left) => (problems = problemsOf(left)));
    add(history);
    if (story) tell(history);
    if (twice === 0 || seed % twice !== 0) return problems;
    tally.playedTwice += 1;
    const { bytes } = await once(seed, () => {});
    return bytes === history.bytes ? problems : [...problems, `TEAM-11: ${difference(history.bytes, bytes)}`];
  } catch (error) {
    return [...problems, `TEAM-0: ${error instanceof Error ? error.stack : String(error)}`];
  }
}

function once(seed: number, judge: (history: History) => void): Promise<History> {
  const fallen = new Promise<never>((_, reject) => {
    fallOver = reject;
  });
  return Promise.race([simulate(seed, join(base, "home"), judge), fallen]);
}

function add({ counts, now }: History): void {
  tally.seeds += 1;
  tally.states += counts.steps;
  tally.facts += counts.facts;
  tally.crashes += counts.crashes;
  tally.restarts += counts.restarts;
  tally.stops += counts.stops;
  tally.nodes += Object.keys(now.board.nodes).length;
  tally.messages += now.letters.sent;
  if (now.agent.run?.finished) tally.finished += 1;
}

function tell({ facts, plan, conversations }: History): void {
  console.log(JSON.stringify(plan));
  for (const { seq, type, data } of facts) console.log(seq, type, JSON.stringify(data).slice(0, 240));
  for (const { worker, entries } of conversations)
    for (const { seq, ts: _, ...entry } of entries)
      console.log(worker, seq, JSON.stringify(entry.role === "system" ? { ...entry, content: "…" } : entry));
}

function difference(a: string, b: string): string {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return `the second time it went otherwise: ${a.slice(at - 80, at + 300)} ≠ ${b.slice(at - 80, at + 300)}`;
}
