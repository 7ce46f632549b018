import type { Situation } from "../../projections/index.ts";
import { COORDINATOR, HEARTBEAT_OK, type NewFact, type Outcome, type RunId } from "../../protocol/index.ts";
import { coordinate } from "../../workers/coordinator/coordinator.ts";
import { nextCycle } from "../../workers/coordinator/cycles.ts";
import type { TeamPort } from "../../workers/coordinator/lead-tools.ts";
import { BudgetExhausted } from "../../workers/loop/purse.ts";
import { noteRun } from "../../workers/worker-memory.ts";
import type { Workplace } from "../../workers/workplace.ts";
import type { AgentFiles } from "../state/agent-files.ts";
import { endOf } from "../state/end-facts.ts";
import { asOutcome } from "../state/outcomes.ts";
import type { RunningWork } from "./running-work.ts";

/** What the end of a run needs beside its facts. */
interface RunEnd {
  files: AgentFiles;
  tasks: RunningWork;
  /** Resolves when those whose work is no longer needed have been stopped and told. */
  losersCancelled(): Promise<void>;
  /** Gives the person what was made, where they want it unasked. */
  deliver(): Promise<void>;
}

/** The coordinator on one run, to its end, or until it is stopped. */
export async function runCoordinator(
  run: { id: RunId; goal: string },
  team: TeamPort,
  workplace: Workplace,
  { files, tasks, losersCancelled, deliver }: RunEnd,
  signal: AbortSignal,
): Promise<void> {
  const { log, pending } = workplace;
  const isProgram = pending().roster[COORDINATOR]?.spawned.kind !== "harnessed";
  const lead = isProgram ? leadByProgram : coordinate;
  const outcome = await lead(run, team, workplace, signal).catch(asOutcome(signal));
  const { status } = pending().agent;
  // What goes wrong in the moment of a stop or a pause changes nothing about it.
  const isResting = status === "stopped" || status === "paused";
  if (outcome.kind === "stopped" || (isResting && outcome.kind !== "finished")) {
    await log.append({ facts: [{ type: "worker.stopped", data: { worker_id: COORDINATOR } }] }).durable;
    return;
  }
  // Nobody can think any more: each publishes what it has, before the run ends.
  if (outcome.kind === "budget_exhausted") await tasks.abortNodes(new BudgetExhausted(outcome));
  // Who lost is free and told why; the end of the run alone would leave them stopped without a word.
  if (outcome.kind === "finished") await losersCancelled();
  // Before the facts, and safe to repeat: once the run has ended nobody comes back to it.
  if (outcome.kind === "finished" && outcome.summary !== HEARTBEAT_OK)
    await noteRun(run, outcome, workplace).catch(() => {});
  await deliver();
  await log.append({ facts: [...endOf(pending(), run.id, outcome), ...nextTry(pending(), outcome, workplace)] })
    .durable;
  await files.writeEnd(run, outcome);
  // Nobody works for a run that has ended.
  tasks.abort(new Error("the run has ended"));
}

/** Programs are loaded when one leads. */
async function leadByProgram(...lead: Parameters<typeof coordinate>): Promise<Outcome> {
  const { coordinateOutside } = await import("../../workers/outside/lead-outside.ts");
  return coordinateOutside(...lead);
}

/** An infinite agent whose provider was away tries again soon, any other that failed with its next cycle; without money it rests. */
function nextTry(now: Situation, { kind }: Outcome, { clock, timeZone }: Workplace): NewFact[] {
  const isEndless = now.agent.created.mode === "infinite";
  if (!isEndless || kind === "finished" || kind === "budget_exhausted") return [];
  return nextCycle(now, clock.now(), timeZone, kind === "failed" ? "retry" : "cycle");
}
