import type { MessageHeader } from "../../protocol/index.ts";
import type { DeclaredMesh } from "../declaration/declared-mesh.ts";
import { type DueStep, due, isDone, type StepProgress, type WorkflowPlan } from "../declaration/topology.ts";
import { addressName, type QueueName } from "../files/layout.ts";
import { clipped, type MeshMessage, readMessage } from "../files/mesh-message.ts";
import { MAX_MESSAGE } from "../files/message-file.ts";
import { derivedName, stemOf } from "../files/message-names.ts";
import type { Queues } from "../files/queue.ts";
import type { AgentQueues } from "./agent-queues.ts";
import { Intake } from "./intake.ts";
import { sameDistance } from "./loop-guard.ts";
import type { MeshContext } from "./mesh-context.ts";
import { TaskGates } from "./task-gates.ts";
import { correctionAt, isOver, type TaskStep, TaskSteps } from "./task-steps.ts";

/**
 * The mesh's own tasks: one after the other, each goes through the agents step by step, then through the gates.
 *
 * MESH-TASK-1. The agents' queues show the progress of a task: a step is assigned when its message exists, and done
 *     when that message has ended (task-steps.ts).
 * MESH-TASK-2. A task that does not pass the gates goes back to the last agent, a few times, and then fails.
 */
export class MeshTasks {
  /** How many have come to their end. */
  completed = 0;
  readonly queues: Queues;
  readonly #context: MeshContext;
  readonly #steps: TaskSteps;
  readonly #gates: TaskGates;
  readonly #intake: Intake;
  #declared: DeclaredMesh;
  /** The active one, so that it is not read at every move. */
  #active: MeshMessage | undefined;

  constructor(
    queues: Queues,
    declared: DeclaredMesh,
    context: MeshContext,
    agents: ReadonlyMap<string, AgentQueues>,
    moveAll: () => void,
  ) {
    this.queues = queues;
    this.#declared = declared;
    this.#context = context;
    this.#steps = new TaskSteps(() => this.#declared, agents);
    this.#gates = new TaskGates(context, moveAll);
    this.#intake = new Intake(queues, context, {
      news: (message) => this.#toEntry(message),
      isTaken: ({ name, header }) => this.#isTaken({ name, header }),
      movedUp: () => {},
      // Its steps say that it has ended; there are no words beside it.
      isOver: () => false,
    });
  }

  redeclare(declared: DeclaredMesh): void {
    this.#declared = declared;
  }

  /** A task that was put back while no process ran is done again: it came to its queue after its last step was done. */
  begin(): void {
    for (const queue of ["next", "active"] as const) {
      for (const name of this.queues.list(queue))
        if (this.#steps.cameLast(this.queues, queue, name)) this.byHand(queue, name);
    }
  }

  /** Moves what can be moved; true if something was. */
  advance(): boolean {
    let moved = this.#intake.advance();
    const next = this.queues.first("next");
    if (next !== undefined && this.queues.count("active") === 0) {
      const name = this.queues.move(next, "next", "active");
      if (name !== undefined) this.#context.record({ type: "mesh.activated", data: { ...this.queues.address, name } });
      moved = true;
    }
    const active = this.queues.first("active");
    if (active === undefined) this.#active = undefined;
    return active === undefined ? moved : this.#advance(active) || moved;
  }

  /** The plan of the active task, and how far it is. */
  progress(): { plan: WorkflowPlan; progress: StepProgress } {
    const active = this.queues.first("active");
    if (active === undefined) return { plan: this.#declared.plan, progress: new Map() };
    return { plan: this.#steps.planOf(active), progress: this.#steps.progress(active) };
  }

  /** Somebody moved this file here by hand: what they did counts. */
  byHand(queue: QueueName, name: string): void {
    if (queue === "next" || queue === "active") this.#putBack(queue, name);
    if (queue === "complete" || queue === "archive") this.#endedByHand(queue, name);
  }

  /** It is to be done again, under a name that nothing followed from yet. */
  #putBack(queue: "next" | "active", name: string): void {
    const task = readMessage(this.queues, queue, name);
    if (!task || "reason" in task) return;
    const hasEnded = this.#steps.hasEnded(name) || this.#context.isAnswered(task, this.queues.address);
    if (hasEnded) this.queues.move(name, queue, queue, (one) => this.#isTaken({ ...task, name: one }));
  }

  #endedByHand(queue: QueueName, name: string): void {
    const task = readMessage(this.queues, queue, name);
    if (!task || "reason" in task || task.header.type !== "task") return;
    this.completed++;
    this.#context.ended(this.queues.address, name, ...this.#answer(task));
  }

  /** A task that is over: its sender is answered, unless that was done before. */
  answerIfOwed(queue: QueueName, name: string): void {
    const task = readMessage(this.queues, queue, name);
    if (task && !("reason" in task) && task.header.type === "task") this.#answer(task);
  }

  #answer(task: MeshMessage, failure = this.#steps.failure(task.name)): ["result" | "error", string] {
    const words = failure ?? this.#result(task);
    this.#context.answer(task, failure === undefined ? "task-complete" : "error", words, this.queues.address);
    return [failure === undefined ? "result" : "error", words];
  }

  #result(task: MeshMessage): string {
    const steps = this.#steps.lastSteps(task.name);
    return steps.map((step) => this.#steps.wordsOf(step, task.name)).join("\n\n");
  }

  #advance(name: string): boolean {
    const task = this.#active?.name === name ? this.#active : readMessage(this.queues, "active", name);
    if (task === undefined) return this.queues.noticed("active", name);
    if ("reason" in task) return this.#context.putAside(this.queues, "active", name, task.reason);
    this.#active = task;
    const failure = this.#steps.failure(name);
    if (failure !== undefined) return this.#end(task, failure);
    const plan = this.#steps.planOf(name);
    const progress = this.#steps.progress(name);
    const steps = due(plan, progress);
    for (const step of steps) {
      const lost = this.#steps.timesLost(step.agent, derivedName(name, step.at), MOST_LOST);
      if (lost >= MOST_LOST) return this.#end(task, `${step.agent}: its message was quarantined ${lost} times.`);
      this.#give(task, step);
    }
    if (steps.length > 0) return true;
    return isDone(plan, progress) && this.#judge(task);
  }

  /** A message to the mesh that is not a task is for its entry agent. */
  #toEntry(message: MeshMessage): boolean {
    const entry = this.#steps.queuesOf(this.#declared.entry);
    if (!entry) return this.queues.move(message.name, "inbox", "archive") !== undefined;
    return this.queues.moveTo(message.name, "inbox", entry, "inbox") !== undefined;
  }

  #isTaken(task: Pick<MeshMessage, "name" | "header">): boolean {
    return (
      (["active", "complete", "archive"] as const).some((queue) => this.queues.has(queue, task.name)) ||
      this.#steps.hasEnded(task.name) ||
      this.#context.isAnswered(task, this.queues.address)
    );
  }

  #give(task: MeshMessage, { at, agent, from }: DueStep): void {
    const before = this.#steps.stepsAt(from, task.name);
    const [only] = before;
    this.#post(
      task,
      { agent, at },
      {
        from: before.length === 1 && only ? addressName(this.#context.here(only.agent)) : this.#context.mesh,
        status: before.length > 0 ? "handoff" : "pending",
        body: before.length === 0 ? task.body : this.#handoff(task, agent, before),
      },
    );
  }

  #post(
    task: MeshMessage,
    { agent, at }: TaskStep,
    message: Pick<MessageHeader, "from" | "status"> & { body: string },
  ) {
    const header: MessageHeader = {
      from: message.from,
      to: addressName(this.#context.here(agent)),
      type: "task",
      status: message.status,
      task: stemOf(task.name),
      step: at,
      ...sameDistance(task.header),
    };
    const name = derivedName(task.name, at);
    this.#context.post(this.#steps.queuesOf(agent), { name, header, body: message.body });
  }

  /** The seed's template, with the task itself below it: the third agent should know what it is all about, too. */
  #handoff(task: MeshMessage, agent: string, before: readonly TaskStep[]): string {
    const room = Math.floor(ROOM / 2 / before.length);
    const words = before.map((step) => {
      const said = clipped(this.#steps.wordsOf(step, task.name), room);
      const text = this.#steps.hasFailed(step, task.name) ? notAccepted(step.agent, said) : said;
      return before.length === 1 ? text : `### ${step.agent}\n\n${text}`;
    });
    const who = before.map((step) => step.agent).join(", ");
    const what = clipped(task.body.trim(), ROOM / 2);
    return `# Handoff from ${who} to ${agent}\n\n## Previous Work\n\n${words.join("\n\n")}\n\n## The Task\n\n${what}\n`;
  }

  /** MESH-TASK-2. True if something moved at once; gates take their time. */
  #judge(task: MeshMessage): boolean {
    const corrections = this.#steps.corrections(task.name);
    if (corrections.some((queue) => !isOver(queue))) return false;
    const gates = this.#declared.config.validation_gates ?? [];
    const problem = this.#gates.problemOf(`${corrections.length} ${task.name}`, gates);
    if (problem === undefined) return false;
    if (problem === null) this.#end(task);
    else if (corrections.length < MOST_CORRECTIONS) this.#sendBack(task, problem, corrections.length + 1);
    else this.#end(task, `It did not pass after ${MOST_CORRECTIONS} corrections. ${problem}`);
    // Only now: if nothing could be written (a full disk), that is done later, without running the gates again.
    this.#gates.forget();
    return true;
  }

  #sendBack(task: MeshMessage, problem: string, number: number): void {
    const step = { agent: this.#steps.lastAgent, at: correctionAt(number) };
    const what = clipped(task.body.trim(), ROOM / 2);
    const body = `# Correct what did not pass\n\n${clipped(problem, ROOM / 2)}\n\n## The Task\n\n${what}\n`;
    this.#post(task, step, { from: this.#context.mesh, status: "pending", body });
  }

  /** The files with the words that a task ended with, in the `complete` queue of each agent. */
  ends(task: string): { agent: string; name: string; failed: boolean }[] {
    const failed = this.#steps.failedStep(task);
    const steps = failed ? [failed] : this.#steps.lastSteps(task);
    return steps.map(({ agent, at }) => {
      const name = derivedName(derivedName(task, at), failed ? "error" : "result");
      return { agent, name, failed: failed !== undefined };
    });
  }

  /** MESH-1: the answer first, then the task leaves `active`. */
  #end(task: MeshMessage, failure?: string): boolean {
    const [end, words] = this.#answer(task, failure);
    if (this.queues.move(task.name, "active", "complete") === undefined) return true;
    this.completed++;
    this.#context.ended(this.queues.address, task.name, end, words);
    return true;
  }
}

const MOST_CORRECTIONS = 3;
const MOST_LOST = 3;
/** For words, below what a message holds. */
const ROOM = MAX_MESSAGE - 64 * 1024;

function notAccepted(agent: string, words: string): string {
  return `${agent} did not accept the work, or could not do its own step. The files are still there to be corrected. It did not succeed:\n\n${words}`;
}
