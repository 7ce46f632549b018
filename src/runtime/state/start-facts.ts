import {
  type AgentState,
  isOpenedForNode,
  lostBackgroundCommands,
  type NodeState,
  openNodes,
  type Situation,
} from "../../projections/index.ts";
import { COORDINATOR, type FactOf, HUMAN, type NewFact, type RunId } from "../../protocol/index.ts";
import { hiredAs, type ProgramNames } from "../../workers/outside/programs.ts";
import { isAmong, reopenings } from "./budget-raise.ts";
import { isTaken } from "./taken-node.ts";

export type WhyStarted = FactOf<"agent.started">["data"]["why"];

export interface AgentStart {
  budget_usd?: number | undefined;
  budget_tokens?: number | undefined;
  /** Of the run that begins; the agent's first one if left out. */
  goal?: string;
  /** The occurrence that begins it, where that is a trigger. */
  trigger?: string;
  /** What brings it about, in the same append. */
  first?: NewFact[];
  /** What its human wrote into `GOAL.md` meanwhile. */
  goal_changes?: NewFact[];
  /** It was stopped and is spoken to: nodes wait until the coordinator has decided. */
  coordinator_decides?: boolean;
}

/** The facts with which an agent starts or continues, and the nodes on which workers continue. */
export function startOf(
  now: Situation,
  why: WhyStarted,
  { budget_usd, budget_tokens, goal, trigger, first = [], goal_changes = [], coordinator_decides = false }: AgentStart,
  { pid, programFor, kindOf }: { pid: number } & ProgramNames,
): { facts: NewFact[]; goingOn: NodeState[] } {
  const under = now.agent.run;
  const run = under && !under.finished ? under : undefined;
  const more = { ...(budget_usd !== undefined && { budget_usd }), ...(budget_tokens && { budget_tokens }) };
  const isMore = Object.keys(more).length > 0;
  const again = run && isMore ? reopenings(now, run.id, more) : [];
  const taken = run ? openNodes(now.board, run.id).filter(isTaken) : [];
  // A person's own work waits for nobody.
  const waits = coordinator_decides || (why === "recovered" && now.agent.coordinator_decides);
  const goingOn = taken.filter(({ id, worker_id }) => !isAmong(id, again) && (!waits || worker_id === HUMAN));
  const facts: NewFact[] = [...first, ...lostBackgroundCommands(now.commands).map(endOfLost)];
  if (isMore) facts.push({ type: "budget.set", data: more });
  facts.push(...again);
  const decides = coordinator_decides ? { coordinator_decides: true as const } : {};
  if (why === "resumed") facts.push({ type: "agent.resumed", data: { ...decides, ...restOf(now.agent) } });
  facts.push({ type: "agent.started", data: { why, pid } });
  if (!run) facts.push(...newRun(now, { goal: goal ?? now.agent.goal, trigger }, { programFor, kindOf }));
  facts.push(...goal_changes);
  facts.push({ type: "worker.busy", data: { worker_id: COORDINATOR, node_id: null } });
  for (const { id, worker_id } of goingOn) facts.push({ type: "worker.busy", data: { worker_id, node_id: id } });
  return { facts, goingOn };
}

/** Its worker waits for it, or counts on it. */
function endOfLost({ worker_id, node_id, pid, id }: ReturnType<typeof lostBackgroundCommands>[number]): NewFact {
  const ended = { pid, code: null, signal: "SIGKILL", background: id, interrupted: true as const };
  return { type: "process.exited", data: { worker_id, node_id, ...ended } };
}

/** How it had come to rest. */
function restOf({
  status,
  halted,
  stopped_because,
  run,
}: AgentState): Pick<FactOf<"agent.resumed">["data"], "was" | "why"> {
  if (status === "idle" && run && isOpenedForNode(run)) return { was: "idle" };
  if (status !== "paused" && status !== "stopped" && status !== "failed") return {};
  const why = status === "stopped" ? stopped_because : halted?.why === HUMAN ? null : halted?.why;
  return { was: status, ...(why && { why }) };
}

type NewRun = { goal: string; trigger: string | undefined };

export function nextRunId({ run }: Pick<AgentState, "run">): RunId {
  return `run-${Number(run?.id.slice("run-".length) ?? 0) + 1}`;
}

function newRun({ agent, roster }: Situation, { goal, trigger }: NewRun, programs: ProgramNames): NewFact[] {
  const run_id = nextRunId(agent);
  const facts: NewFact[] = [{ type: "run.started", data: { run_id, goal, ...(trigger && { trigger }) } }];
  if (!roster[COORDINATOR]) {
    const who = { worker_id: COORDINATOR, name: "Coordinator", ...hiredAs(agent.created, programs) };
    facts.push({ type: "worker.spawned", data: { run_id, ...who } });
  }
  return facts;
}
