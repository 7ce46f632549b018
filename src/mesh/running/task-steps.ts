import type { DeclaredMesh } from "../declaration/declared-mesh.ts";
import {
  isDone,
  lastLeaves,
  leaves,
  planAfterFailures,
  type RoutedPlan,
  type StepPath,
  type StepProgress,
  type WorkflowPlan,
} from "../declaration/topology.ts";
import type { QueueName } from "../files/layout.ts";
import { derivedName, stemOf } from "../files/message-names.ts";
import type { Queues } from "../files/queue.ts";
import type { TaskEndKind } from "./task-ends.ts";

/** A step of a mesh's task: its place in the workflow, and its agent. */
export interface TaskStep {
  agent: string;
  at: StepPath;
}

/** The queues of an agent, and the end texts of its tasks. */
export interface StepQueues {
  readonly queues: Queues;
  wordsOf(task: string, end?: TaskEndKind): string;
}

/** The progress of a mesh's tasks, read from the queues of its agents. */
export class TaskSteps {
  readonly #declared: () => DeclaredMesh;
  readonly #agents: ReadonlyMap<string, StepQueues>;

  constructor(declared: () => DeclaredMesh, agents: ReadonlyMap<string, StepQueues>) {
    this.#declared = declared;
    this.#agents = agents;
  }

  queuesOf(agent: string): Queues | undefined {
    return this.#agents.get(agent)?.queues;
  }

  /** The plan as far as this task has come: steps that failed may be followed by others. */
  planOf(task: string): WorkflowPlan {
    return this.#routed(task).plan;
  }

  #routed(task: string): RoutedPlan {
    const { plan, failureRoutes } = this.#declared();
    return planAfterFailures(plan, failureRoutes, (step) => this.hasFailed(step, task));
  }

  /** It ended with an error. */
  hasFailed({ agent, at }: TaskStep, task: string): boolean {
    return this.queuesOf(agent)?.has("complete", derivedName(derivedName(task, at), "error")) ?? false;
  }

  progress(task: string): StepProgress {
    const progress = new Map<StepPath, "given" | "done">();
    for (const { at, agent } of this.#all(task)) {
      const queue = this.queuesOf(agent)?.find(derivedName(task, at));
      if (queue !== undefined) progress.set(at, isOver(queue) ? "done" : "given");
    }
    return progress;
  }

  /** Every step was done, or one has failed: the task came to its end before. */
  hasEnded(task: string): boolean {
    return isDone(this.planOf(task), this.progress(task)) || this.failedStep(task) !== undefined;
  }

  /** Whether a task came to its queue after all of its steps came to theirs. */
  cameLast(own: Queues, queue: QueueName, task: string): boolean {
    return this.#all(task).every(({ at, agent }) => {
      const step = derivedName(task, at);
      const queues = this.queuesOf(agent);
      const where = queues?.find(step);
      return !queues || !where || !own.cameBefore([queue, task], [where, step], queues);
    });
  }

  /** The steps of a task at these places in the workflow. */
  stepsAt(paths: readonly StepPath[], task: string): TaskStep[] {
    const all = this.#all(task);
    return paths.flatMap((path) => all.find(({ at }) => at === path) ?? []);
  }

  /** The words with which a step ended. */
  wordsOf({ agent, at }: TaskStep, task: string): string {
    const end = this.hasFailed({ agent, at }, task) ? "error" : "result";
    return this.#agents.get(agent)?.wordsOf(derivedName(task, at), end) ?? `(${agent} is not there any more.)`;
  }

  /** The queues in which the corrections of a task are, in their order. */
  corrections(task: string): QueueName[] {
    const queues = this.queuesOf(this.lastAgent);
    const found: QueueName[] = [];
    for (let number = 1; ; number++) {
      const queue = queues?.find(derivedName(task, correctionAt(number)));
      if (queue === undefined) return found;
      found.push(queue);
    }
  }

  /** The agent that completes the work, and is given what has to be corrected. */
  get lastAgent(): string {
    const { config, plan, entry } = this.#declared();
    return config.completion_agent ?? leaves(plan).at(-1)?.agent ?? entry;
  }

  /** The steps whose words are the result of the task: the last correction, if there was one. */
  lastSteps(task: string): TaskStep[] {
    const corrections = this.corrections(task).length;
    if (corrections > 0) return [{ agent: this.lastAgent, at: correctionAt(corrections) }];
    return this.stepsAt(lastLeaves(this.planOf(task)), task);
  }

  /** Why the task cannot be done, in the words of the agent that gave up. */
  failure(task: string): string | undefined {
    const failed = this.failedStep(task);
    if (!failed) return undefined;
    return `${failed.agent}: ${this.#agents.get(failed.agent)?.wordsOf(derivedName(task, failed.at), "error")}`;
  }

  failedStep(task: string): TaskStep | undefined {
    const agent = this.lastAgent;
    const corrections = this.corrections(task).map((_, index) => ({ agent, at: correctionAt(index + 1) }));
    const { plan, routed } = this.#routed(task);
    return [...leaves(plan), ...corrections].find((step) => !routed.has(step.at) && this.hasFailed(step, task));
  }

  /** How often the message of a step is in quarantine: a power failure has emptied it, or somebody put it there. */
  timesLost(agent: string, step: string, most: number): number {
    const queues = this.queuesOf(agent);
    const names = Array.from({ length: most }, (_, at) => (at === 0 ? step : `${stemOf(step)}~${at + 1}.md`));
    return names.filter((name) => queues?.has("quarantine", name)).length;
  }

  #all(task: string): readonly TaskStep[] {
    return leaves(this.planOf(task));
  }
}

/** The place of a correction, beside the steps of the workflow. */
export function correctionAt(number: number): StepPath {
  return `fix-${number}`;
}

export function isOver(queue: QueueName): boolean {
  return queue === "complete" || queue === "archive";
}
