import {
  isAtWork,
  type Situation,
  type Standing,
  shownWorkerStatus,
  troubleOf,
  troubleWords,
  type WorkerState,
} from "../../projections/index.ts";
import { COORDINATOR } from "../../protocol/index.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { lookAtAgent } from "../home/look.ts";
import type { Invocation } from "../invocation.ts";
import { waitingNow } from "../wording/activity.ts";
import { asleepWords } from "../wording/asleep.ts";
import { amount, costOf } from "../wording/format.ts";
import { displayName } from "../wording/names.ts";
import type { Paint } from "../wording/paint.ts";
import { openQuestions } from "../wording/question-text.ts";
import { standingOf } from "../wording/standing.ts";
import { type Cell, table } from "../wording/table.ts";

export async function workers(call: Invocation, word: string): Promise<ExitCode> {
  const { terminal, json } = call;
  const { now, holder } = await lookAtAgent(call, word);
  const team = Object.values(now.roster);
  if (json)
    for (const worker of team)
      await terminal.printJson({ ...worker, spending: now.spending.by_worker[worker.id] ?? null });
  else if (team.length === 0) terminal.say("It has no workers yet.");
  else await terminal.printLines(workersTable(now, standingOf(now, holder), terminal.lineColumns, terminal.paint));
  return EXIT.done;
}

export function workersTable(now: Situation, standing: Standing, columns: number, paint: Paint): string[] {
  const rows = Object.values(now.roster).map((worker): Cell[] => {
    const spent = now.spending.by_worker[worker.id];
    const tokens = spent ? spent.usage.input + spent.usage.output : 0;
    const node = "node_id" in worker ? worker.node_id : null;
    return [
      { text: displayName(now.roster, worker.id), paint: worker.status === "retired" ? paint.dim : paint.bold },
      {
        text: statusOf(worker, now, standing),
        paint:
          asksOf(worker.id, now).length > 0 ? paint.yellow : isInTrouble(worker, now, standing) ? paint.red : String,
      },
      { text: node ?? "" },
      { text: String(spent?.calls ?? 0) },
      { text: amount(tokens) },
      { text: spent ? costOf(spent) : "$0" },
      { text: worker.spawned.model },
    ];
  });
  const head = ["WORKER", "STATUS", "NODE", "TURNS", "TOKENS", "COST", "MODEL"].map((text) => ({
    text,
    paint: paint.dim,
  }));
  return table([head, ...rows], columns);
}

function statusOf(worker: WorkerState, now: Situation, standing: Standing): string {
  const asks = asksOf(worker.id, now);
  if (asks.length > 0) return `needs you (${asks.join(", ")})`;
  // A worker that a pause or a stop sent away from work rests as the agent does.
  const isEngaged = worker.status === "busy" || worker.status === "waiting" || worker.status === "stopped";
  if (isEngaged && standing !== "working") return shownWorkerStatus(worker.status, standing);
  const trouble = troubleOf(now.troubles, worker.id);
  if (trouble) return troubleWords(trouble);
  if (worker.status !== "waiting") return worker.status;
  const asleep = worker.id === COORDINATOR ? asleepWords(now, Date.now() / 1000) : undefined;
  return asleep ?? waitingNow(worker);
}

function isInTrouble({ id }: WorkerState, { troubles }: Situation, standing: Standing): boolean {
  return isAtWork(standing) && troubleOf(troubles, id) !== undefined;
}

/** Unanswered questions, also while nobody works. */
function asksOf(id: string, now: Situation): string[] {
  return openQuestions(now)
    .filter((question) => question.worker_id === id)
    .map((question) => question.id);
}
