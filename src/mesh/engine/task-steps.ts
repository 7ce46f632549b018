import type { DeclaredMesh } from "../declaration/declared-mesh.ts";
import { isDone, lastLeaves, leaves, type Progress, type StepPath } from "../declaration/topology.ts";
import type { QueueName } from "../files/layout.ts";
import { derivedName, stemOf } from "../files/message-names.ts";
import type { Queues } from "../files/queue.ts";
import type { End } from "./task-ends.ts";

/** A step of a mesh's task: where it is in the workflow, and whose it is. */
export interface Step {
  agent: string;
  at: StepPath;
}

/** The queues of an agent, and the words with which it ended its tasks. */
export interface StepQueues {
  readonly queues: Queues;
  wordsOf(task: string, end?: End): string;
}

/** How far the tasks of a mesh are, read from the queues of its agents. */
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

  progress(task: string): Progress {
    const progress = new Map<StepPath, "given" | "done">();
    for (const { at, agent } of this.#all()) {
      const queue = this.queuesOf(agent)?.find(derivedName(task, at));
      if (queue !== undefined) progress.set(at, isOver(queue) ? "done" : "given");
    }
    return progress;
  }

  /** Every step was done, or one has failed: the task came to its end before. */
  hasEnded(task: string): boolean {
    return isDone(this.#declared().plan, this.progress(task)) || this.failedStep(task) !== undefined;
  }

  /** Whether a task came to its queue after all of its steps came to theirs. */
  cameLast(own: Queues, queue: QueueName, task: string): boolean {
    return this.#all().every(({ at, agent }) => {
      const step = derivedName(task, at);
      const queues = this.queuesOf(agent);
      const where = queues?.find(step);
      return !queues || !where || !own.cameBefore([queue, task], [where, step], queues);
    });
  }

  /** The steps at these places in the workflow. */
  stepsAt(paths: readonly StepPath[]): Step[] {
    const all = this.#all();
    return paths.flatMap((path) => all.find(({ at }) => at === path) ?? []);
  }

  /** The words with which a step ended. */
  wordsOf({ agent, at }: Step, task: string): string {
    return this.#agents.get(agent)?.wordsOf(derivedName(task, at)) ?? `(${agent} is not there any more.)`;
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
  lastSteps(task: string): Step[] {
    const corrections = this.corrections(task).length;
    if (corrections > 0) return [{ agent: this.lastAgent, at: correctionAt(corrections) }];
    return this.stepsAt(lastLeaves(this.#declared().plan));
  }

  /** Why the task cannot be done, in the words of the agent that gave up. */
  failure(task: string): string | undefined {
    const failed = this.failedStep(task);
    if (!failed) return undefined;
    return `${failed.agent}: ${this.#agents.get(failed.agent)?.wordsOf(derivedName(task, failed.at), "error")}`;
  }

  failedStep(task: string): Step | undefined {
    const agent = this.lastAgent;
    const corrections = this.corrections(task).map((_, index) => ({ agent, at: correctionAt(index + 1) }));
    return [...this.#all(), ...corrections].find((step) =>
      this.queuesOf(step.agent)?.has("complete", derivedName(derivedName(task, step.at), "error")),
    );
  }

  /** How often the message of a step is in quarantine: a power failure has emptied it, or somebody put it there. */
  timesLost(agent: string, step: string, most: number): number {
    const queues = this.queuesOf(agent);
    const names = Array.from({ length: most }, (_, at) => (at === 0 ? step : `${stemOf(step)}~${at + 1}.md`));
    return names.filter((name) => queues?.has("quarantine", name)).length;
  }

  #all(): readonly Step[] {
    return leaves(this.#declared().plan);
  }
}

/** The place of a correction, beside the steps of the workflow. */
export function correctionAt(number: number): StepPath {
  return `fix-${number}`;
}

export function isOver(queue: QueueName): boolean {
  return queue === "complete" || queue === "archive";
}
