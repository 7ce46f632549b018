import type { MeshConfig, WorkflowStep } from "../../protocol/index.ts";

/**
 * Which steps are due in a mesh: a pure function of its plan and its progress.
 *
 * TOPOLOGY-1. A step is assigned once everything before it is done, and never again.
 * TOPOLOGY-2. A parallel step must be done as a whole before the next one begins: the first reducer gets everything
 *     that was mapped.
 * TOPOLOGY-3. Completing more steps never withdraws a step that is due: the order of arrival does not matter.
 */
export type WorkflowPlan =
  | { kind: "agent"; agent: string; at: StepPath }
  | { kind: "sequential"; steps: readonly WorkflowPlan[] }
  | { kind: "parallel"; steps: readonly WorkflowPlan[] };

/** The place of a step in the workflow: `0`, `1.map.2`. */
export type StepPath = string;

export type StepProgress = ReadonlyMap<StepPath, "given" | "done">;

export interface DueStep {
  at: StepPath;
  agent: string;
  /** The steps whose results it builds on. */
  from: readonly StepPath[];
}

/** The steps that are due now. */
export function due(plan: WorkflowPlan, progress: StepProgress): DueStep[] {
  return walk(plan, progress, []).due;
}

export function isDone(plan: WorkflowPlan, progress: StepProgress): boolean {
  return leaves(plan).every(({ at }) => progress.get(at) === "done");
}

/** In the order of the workflow. */
export function leaves(plan: WorkflowPlan): Extract<WorkflowPlan, { kind: "agent" }>[] {
  return plan.kind === "agent" ? [plan] : plan.steps.flatMap(leaves);
}

/** The agents that work at the same time as this one. */
export function agentsBeside(plan: WorkflowPlan, agent: string): string[] {
  if (plan.kind === "agent") return [];
  const agentsIn = (step: WorkflowPlan) => leaves(step).map((leaf) => leaf.agent);
  const own = plan.kind === "parallel" ? plan.steps.filter((step) => agentsIn(step).includes(agent)) : [];
  const here = own.flatMap((step) => plan.steps.filter((other) => other !== step).flatMap(agentsIn));
  const below = plan.steps.flatMap((step) => agentsBeside(step, agent));
  return [...new Set([...here, ...below])].filter((other) => other !== agent);
}

/** The steps whose results are the result of the plan. */
export function lastLeaves(plan: WorkflowPlan): StepPath[] {
  if (plan.kind === "agent") return [plan.at];
  if (plan.kind === "parallel") return plan.steps.flatMap(lastLeaves);
  const last = plan.steps.at(-1);
  return last ? lastLeaves(last) : [];
}

function walk(
  plan: WorkflowPlan,
  progress: StepProgress,
  from: readonly StepPath[],
): { due: DueStep[]; done: boolean } {
  switch (plan.kind) {
    case "agent": {
      const status = progress.get(plan.at);
      return { due: status === undefined ? [{ at: plan.at, agent: plan.agent, from }] : [], done: status === "done" };
    }
    case "parallel": {
      const parts = plan.steps.map((step) => walk(step, progress, from));
      return { due: parts.flatMap((part) => part.due), done: parts.every((part) => part.done) };
    }
    case "sequential": {
      let before = from;
      for (const step of plan.steps) {
        const part = walk(step, progress, before);
        if (!part.done) return { due: part.due, done: false };
        before = lastLeaves(step);
      }
      return { due: [], done: true };
    }
  }
}

/** Where a task goes when an agent cannot do its step. */
export interface FailureRoute {
  to: string;
  rounds: number;
}

export interface RoutedPlan {
  plan: WorkflowPlan;
  /** The steps that failed and were followed by others: they do not fail the task. */
  routed: ReadonlySet<StepPath>;
}

/**
 * TOPOLOGY-4. A failed step that has a route is followed by the steps from there on once more, under paths of their
 *     own, at most as often as the route says. The steps that would have come after it are not assigned.
 */
export function planAfterFailures(
  plan: WorkflowPlan,
  routes: ReadonlyMap<string, FailureRoute>,
  hasFailed: (step: { agent: string; at: StepPath }) => boolean,
): RoutedPlan {
  if (routes.size === 0 || plan.kind !== "sequential") return { plan, routed: NONE };
  const rounds = new Map<string, number>();
  const routed = new Set<StepPath>();
  let steps: readonly WorkflowPlan[] = plan.steps;
  let from = 0;
  for (let round = 2; ; round++) {
    const at = steps.findIndex((step, index) => index >= from && step.kind === "agent" && hasFailed(step));
    const failed = steps[at];
    const route = failed?.kind === "agent" ? routes.get(failed.agent) : undefined;
    if (failed?.kind !== "agent" || !route) return { plan: { ...plan, steps }, routed };
    const count = (rounds.get(failed.agent) ?? 0) + 1;
    if (count > route.rounds) return { plan: { ...plan, steps }, routed };
    rounds.set(failed.agent, count);
    routed.add(failed.at);
    const back = plan.steps.findIndex((step) => step.kind === "agent" && step.agent === route.to);
    steps = [...steps.slice(0, at + 1), ...plan.steps.slice(back).map((step) => inRound(step, round))];
    from = at + 1;
  }
}

const NONE: ReadonlySet<StepPath> = new Set();

function inRound(plan: WorkflowPlan, round: number): WorkflowPlan {
  if (plan.kind === "agent") return { ...plan, at: `${plan.at}-r${round}` };
  return { ...plan, steps: plan.steps.map((step) => inRound(step, round)) };
}

/** The plan that a mesh declares. Hierarchical: one agent gets the task and delegates by messages. */
export function planOf(
  config: Pick<MeshConfig, "agents" | "workflow" | "topology" | "type" | "entry_point" | "completion_agent">,
): WorkflowPlan {
  const names = config.agents.map(shortName);
  const main = mainPlan(config, names);
  const named = new Set(leaves(main).map(({ agent }) => agent));
  const { entry_point: first, completion_agent: last } = config;
  const steps: WorkflowPlan[] = [];
  if (first !== undefined && !named.has(first)) steps.push({ kind: "agent", agent: first, at: "entry" });
  steps.push(main);
  if (last !== undefined && !named.has(last)) steps.push({ kind: "agent", agent: last, at: "completion" });
  return steps.length === 1 ? main : { kind: "sequential", steps };
}

export function topologyOf({ topology, type, workflow }: Pick<MeshConfig, "topology" | "type" | "workflow">) {
  if (topology) return topology;
  if (type === "sequential" || type === "parallel" || type === "map-reduce" || type === "hierarchical") return type;
  if (workflow === undefined) return "hierarchical";
  return Array.isArray(workflow) ? "sequential" : "map-reduce";
}

export function shortName(reference: string): string {
  return reference.slice(reference.indexOf("/") + 1);
}

function mainPlan(
  config: Pick<MeshConfig, "workflow" | "topology" | "type" | "entry_point">,
  names: readonly string[],
): WorkflowPlan {
  const { workflow } = config;
  switch (topologyOf(config)) {
    case "hierarchical":
      return { kind: "agent", agent: config.entry_point ?? names[0] ?? "", at: "0" };
    case "parallel":
      return planOfStep({ parallel: Array.isArray(workflow) ? workflow : [...names] }, "");
    default:
      if (workflow !== undefined && !Array.isArray(workflow)) return planOfStep(workflow, "");
      return planOfStep({ sequential: workflow ?? [...names] }, "");
  }
}

function planOfStep(step: WorkflowStep, at: string): WorkflowPlan {
  const below = (part: string) => (at === "" ? part : `${at}.${part}`);
  if (typeof step === "string") return { kind: "agent", agent: step, at };
  if ("sequential" in step)
    return { kind: "sequential", steps: step.sequential.map((one, index) => planOfStep(one, below(String(index)))) };
  if ("parallel" in step)
    return { kind: "parallel", steps: step.parallel.map((one, index) => planOfStep(one, below(String(index)))) };
  return {
    kind: "sequential",
    steps: [
      { kind: "parallel", steps: step.map.map((one, index) => planOfStep(one, below(`map.${index}`))) },
      { kind: "sequential", steps: step.reduce.map((one, index) => planOfStep(one, below(`reduce.${index}`))) },
    ],
  };
}
