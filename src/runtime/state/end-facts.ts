import { currentStage, type Letter, losersIn, openNodes, type Situation } from "../../projections/index.ts";
import { COORDINATOR, HUMAN, type NewFact, type Outcome, type RunId } from "../../protocol/index.ts";
import { endOfCycles } from "../../workers/coordinator/cycles.ts";
import { explain } from "./outcomes.ts";

/** Why nodes are cancelled that the contract of their stage does not need. */
export const CONTRACT_MET = "The contract of its stage is met without it.";

/**
 * How the coordinator's work ends. Only reaching the goal ends a run: a failed one (a wrong key, no turns left)
 * continues with resume.
 */
export function endOf(now: Situation, run_id: RunId, outcome: Outcome): NewFact[] {
  const idle: NewFact = { type: "worker.idle", data: { worker_id: COORDINATOR } };
  if (outcome.kind !== "finished") return [idle, { type: "agent.failed", data: { error: explain(outcome), outcome } }];
  return [
    idle,
    ...closing(now, run_id),
    ...endOfCycles(now),
    { type: "run.finished", data: { run_id, outcome } },
    { type: "agent.completed", data: { summary: outcome.summary } },
  ];
}

/** What a run leaves open when it ends: its stage, nodes nobody will finish, and mail that nobody will read. */
function closing({ stages, board, letters }: Situation, run_id: RunId): NewFact[] {
  const stage = currentStage(stages, run_id);
  const facts: NewFact[] = stage ? [{ type: "stage.completed", data: { run_id, stage: stage.number } }] : [];
  const losers = losersIn(stages, board, run_id);
  for (const node of openNodes(board, run_id)) {
    if (losers.includes(node.id)) {
      facts.push({ type: "node.cancelled", data: { node_id: node.id, by: "agiraph", reason: CONTRACT_MET } });
      continue;
    }
    const worker_id = "worker_id" in node ? node.worker_id : COORDINATOR;
    facts.push({ type: "node.failed", data: { node_id: node.id, worker_id, outcome: { kind: "stopped" } } });
  }
  for (const letter of Object.values(letters.queued)) {
    if (letter.reader !== HUMAN && !isNextGoal(letter))
      facts.push({ type: "message.expired", data: { message_id: letter.id, why: "the run has ended" } });
  }
  return facts;
}

/** A message of the human that came just as the run ended, and was not read: it is the next goal. */
export function unheardGoal({ agent, letters }: Situation): { goal: string; first: NewFact[] } | undefined {
  if (!agent.run?.finished || agent.status !== "completed") return undefined;
  const unheard = Object.values(letters.queued).filter(isNextGoal);
  if (unheard.length === 0) return undefined;
  return {
    goal: unheard.map(({ text }) => text).join("\n\n"),
    first: unheard.map(({ id }) => ({ type: "message.received", data: { message_id: id, by: COORDINATOR } })),
  };
}

function isNextGoal({ from, reader }: Letter): boolean {
  return from === HUMAN && (reader === COORDINATOR || reader === "*");
}
