import { type Entry, type Outcome, type Part, type RunId, runIdSchema } from "../protocol/index.ts";

/** What a finished run leaves in the daily log; `learned`: what of it is nowhere else yet. */
export function runNote(
  run: { id: RunId; goal: string },
  { summary }: Extract<Outcome, { kind: "finished" }>,
  learned: string,
): string {
  const lesson = learned ? ` Learned (${LEARNED}): ${oneLine(learned)}` : "";
  return `Finished "${oneLine(run.goal)}" ${runMark(run.id)}: ${oneLine(summary)} The output is in agent/runs/${run.id}/_output.md.${lesson}`;
}

/** By which a run's note is found again. */
export function runMark(run: RunId): string {
  return `(${run})`;
}

/** What runs taught, by run; upkeep sorts it by subject. */
export const LEARNED = "experiences/learned.md";

export function oneLine(text: string): string {
  const line = plain(text);
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}

const LONGEST = 300;
const NOTE =
  /^Finished "(.*)" \((run-\d+)\): (.*) The output is in agent\/runs\/\2\/_output\.md\.(?: Learned \([^)]*\): (.*))?$/;

/**
 * What of a daily log is shown above a conversation: without the notes of runs that the conversation tells anyhow, if all
 * words of the note stand there, as the model is shown it. What somebody added or changed by hand is no such note.
 */
export function withoutTold(shown: readonly Entry[]): (entries: readonly string[]) => string[] {
  const runIn = toldRuns(shown);
  return (entries) => {
    const runs = entries.flatMap((entry) => runIn(entry) ?? []);
    const rest = entries.filter((entry) => runIn(entry) === undefined);
    return runs.length > 0 ? [...rest, toldBelow(runs)] : rest;
  };
}

function toldRuns(shown: readonly Entry[]): (entry: string) => RunId | undefined {
  const said = new Map<RunId, string>();
  return (entry) => {
    const [, goal = "", id, summary = "", learned = ""] = NOTE.exec(entry.replace(/^## .+\n+/, "").trim()) ?? [];
    const run = runIdSchema.safeParse(id).data;
    if (run === undefined) return undefined;
    const words = said.get(run) ?? plain(wordsIn(run, shown));
    said.set(run, words);
    return [goal, summary, learned].every((part) => words.includes(part.replace(/…$/, ""))) ? run : undefined;
  };
}

function toldBelow(runs: readonly RunId[]): string {
  const [is, folder] = runs.length === 1 ? ["is", runs[0]] : ["are", "RUN"];
  return `(${runs.join(", ")} ${is} told below; files: agent/runs/${folder}/)`;
}

function wordsIn(run: RunId, shown: readonly Entry[]): string {
  const begins = shown.findIndex((entry) => entry.role === "user" && entry.run_id === run);
  if (begins < 0) return "";
  const others = (entry: Entry) => entry.role === "user" && entry.run_id !== undefined && entry.run_id !== run;
  const length = shown.slice(begins).findIndex(others);
  return shown
    .slice(begins, length < 0 ? undefined : begins + length)
    .flatMap((entry) => (entry.role === "assistant" ? entry.content.flatMap(wordsOf) : [entry.content]))
    .join("\n");
}

function wordsOf(part: Part): string[] {
  if (part.type === "text") return [part.text];
  if (part.type !== "call" || typeof part.args !== "object" || part.args === null) return [];
  return Object.values(part.args).filter((value) => typeof value === "string");
}

function plain(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
