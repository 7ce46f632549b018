import type { MessageHeader } from "../../protocol/index.ts";
import type { DeclaredMesh } from "../declaration/declared-mesh.ts";
import { due, isDone, lastLeaves, leaves, type Progress, type StepPath } from "../declaration/topology.ts";
import { nameOf, type QueueName } from "../files/layout.ts";
import { clipped, type MeshMessage, readMessage } from "../files/mesh-message.ts";
import { MAX_MESSAGE } from "../files/message-file.ts";
import { derivedName, stemOf } from "../files/message-names.ts";
import type { Queues } from "../files/queue.ts";
import type { AgentQueues } from "./agent-queues.ts";
import { Gates } from "./gates.ts";
import { Intake } from "./intake.ts";
import { sameDistance } from "./loop-guard.ts";
import type { MeshContext } from "./mesh-context.ts";

/**
 * The tasks of the mesh as a whole: one after the other, each step by step through the agents, then through the gates.
 *
 * MESH-TASK-1. How far a task is, the agents' queues say: a step is given when its message is there, and done when it
 *     is over.
 * MESH-TASK-2. What does not pass the gates goes back to whoever comes last, a few times, and then fails.
 */
export class MeshTasks {
  /** How many have come to their end. */
  completed = 0;
  readonly queues: Queues;
  readonly #context: MeshContext;
  readonly #agentQueues: ReadonlyMap<string, AgentQueues>;
  readonly #gates: Gates;
  readonly #intake: Intake;
  #declared: DeclaredMesh;
  /** The active one, so that it is not read at every move. */
  #active: MeshMessage | undefined;

  constructor(
    queues: Queues,
    declared: DeclaredMesh,
    context: MeshContext,
    desks: ReadonlyMap<string, AgentQueues>,
    settle: () => void,
  ) {
    this.queues = queues;
    this.#declared = declared;
    this.#context = context;
    this.#agentQueues = desks;
    this.#gates = new Gates(context, settle);
    this.#intake = new Intake(queues, context, {
      news: (message) => this.#toEntry(message),
      isTaken: ({ name, header }) => this.#isTaken({ name, header }),
      movedUp: () => {},
      // Its end is said by its steps, not by words beside it.
      isOver: () => false,
    });
  }

  redeclare(declared: DeclaredMesh): void {
    this.#declared = declared;
  }

  /** What somebody put back while nobody was there is done again: it came there after its last step was done. */
  begin(): void {
    for (const queue of ["next", "active"] as const) {
      for (const name of this.queues.list(queue)) if (this.#cameLast(queue, name)) this.byHand(queue, name);
    }
  }

  #cameLast(queue: QueueName, name: string): boolean {
    return leaves(this.#declared.plan).every(({ at, agent }) => {
      const step = derivedName(name, at);
      const desk = this.#agentQueues.get(agent)?.queues;
      const there = desk?.find(step);
      return !desk || !there || !this.queues.cameBefore([queue, name], [there, step], desk);
    });
  }

  /** Moves what can be moved; true when something was. */
  advance(): boolean {
    let moved = this.#intake.advance();
    const next = this.queues.first("next");
    if (next !== undefined && this.queues.count("active") === 0) {
      const name = this.queues.move(next, "next", "active");
      if (name !== undefined) this.#context.record({ type: "mesh.activated", data: { ...this.queues.place, name } });
      moved = true;
    }
    const active = this.queues.first("active");
    if (active === undefined) this.#active = undefined;
    return active === undefined ? moved : this.#advance(active) || moved;
  }

  progress(): Progress {
    const active = this.queues.first("active");
    return active === undefined ? new Map() : this.#progress(active);
  }

  /** Somebody moved this file here by hand, and is right. */
  byHand(queue: QueueName, name: string): void {
    // It is to be done again: under a name that nothing followed from yet.
    if (queue === "next" || queue === "active") this.#putBack(queue, name);
    if (queue === "complete" || queue === "archive") this.#endedByHand(queue, name);
  }

  #putBack(queue: "next" | "active", name: string): void {
    const task = readMessage(this.queues, queue, name);
    if (!task || "reason" in task) return;
    const isOver = this.#isSpent(name) || this.#context.isAnswered(task, this.queues.place);
    if (isOver) this.queues.move(name, queue, queue, (one) => this.#isTaken({ ...task, name: one }));
  }

  #endedByHand(queue: QueueName, name: string): void {
    const task = readMessage(this.queues, queue, name);
    if (!task || "reason" in task || task.header.type !== "task") return;
    this.completed++;
    this.#context.ended(this.queues.place, name, ...this.#answer(task));
  }

  /** A task that is over: whoever asked for it hears so, unless they did. */
  owed(queue: QueueName, name: string): void {
    const task = readMessage(this.queues, queue, name);
    if (task && !("reason" in task) && task.header.type === "task") this.#answer(task);
  }

  #answer(task: MeshMessage, failure = this.#failure(task.name)): ["result" | "error", string] {
    const words = failure ?? this.#words(task);
    this.#context.answer(task, failure === undefined ? "task-complete" : "error", words, this.queues.place);
    return [failure === undefined ? "result" : "error", words];
  }

  #advance(name: string): boolean {
    const task = this.#active?.name === name ? this.#active : readMessage(this.queues, "active", name);
    if (task === undefined) return this.queues.noticed("active", name);
    if ("reason" in task) return this.#context.putAside(this.queues, "active", name, task.reason);
    this.#active = task;
    const failure = this.#failure(name);
    if (failure !== undefined) return this.#end(task, failure);
    const { plan } = this.#declared;
    const progress = this.#progress(name);
    const steps = due(plan, progress);
    for (const step of steps) {
      const lost = this.#timesLost(step.agent, derivedName(name, step.at));
      if (lost >= MOST_LOST) return this.#end(task, `${step.agent}: its message was put aside ${lost} times.`);
      this.#give(task, step.at, step.agent, step.from);
    }
    if (steps.length > 0) return true;
    return isDone(plan, progress) && this.#judge(task);
  }

  #progress(task: string): Progress {
    const progress = new Map<StepPath, "given" | "done">();
    for (const { at, agent } of leaves(this.#declared.plan)) {
      const queue = this.#agentQueues.get(agent)?.queues.find(derivedName(task, at));
      if (queue !== undefined) progress.set(at, isOver(queue) ? "done" : "given");
    }
    return progress;
  }

  /** A message to the mesh that is no task is for whoever stands at its entry. */
  #toEntry(message: MeshMessage): boolean {
    const entry = this.#agentQueues.get(this.#declared.entry)?.queues;
    if (!entry) return this.queues.move(message.name, "inbox", "archive") !== undefined;
    return this.queues.moveTo(message.name, "inbox", entry, "inbox") !== undefined;
  }

  #isTaken(task: Pick<MeshMessage, "name" | "header">): boolean {
    return (
      (["active", "complete", "archive"] as const).some((queue) => this.queues.has(queue, task.name)) ||
      this.#isSpent(task.name) ||
      this.#context.isAnswered(task, this.queues.place)
    );
  }

  /** It went through all its steps, or failed at one: it came to its end before. */
  #isSpent(task: string): boolean {
    return isDone(this.#declared.plan, this.#progress(task)) || this.#failure(task) !== undefined;
  }

  #give(task: MeshMessage, at: StepPath, agent: string, from: readonly StepPath[]): void {
    const before = this.#stepsOf(from);
    const [only] = before;
    const header: MessageHeader = {
      from: before.length === 1 && only ? nameOf(this.#context.here(only.agent)) : this.#context.mesh,
      to: nameOf(this.#context.here(agent)),
      type: "task",
      status: before.length > 0 ? "handoff" : "pending",
      task: stemOf(task.name),
      step: at,
      ...sameDistance(task.header),
    };
    const body = before.length === 0 ? task.body : this.#handoff(task, agent, before);
    this.#context.post(this.#agentQueues.get(agent)?.queues, { name: derivedName(task.name, at), header, body });
  }

  #stepsOf(paths: readonly StepPath[]) {
    const all = leaves(this.#declared.plan);
    return paths.flatMap((path) => all.find(({ at }) => at === path) ?? []);
  }

  /** The seed's template, with the task itself below: whoever comes third should know what it is all about. */
  #handoff(task: MeshMessage, agent: string, before: readonly { agent: string; at: StepPath }[]): string {
    const room = Math.floor(ROOM / 2 / before.length);
    const words = before.map((step) => {
      const text = clipped(this.#resultOf(step, task), room);
      return before.length === 1 ? text : `### ${step.agent}\n\n${text}`;
    });
    const who = before.map((step) => step.agent).join(", ");
    const what = clipped(task.body.trim(), ROOM / 2);
    return `# Handoff from ${who} to ${agent}\n\n## Previous Work\n\n${words.join("\n\n")}\n\n## The Task\n\n${what}\n`;
  }

  #resultOf({ agent, at }: { agent: string; at: StepPath }, task: MeshMessage): string {
    return this.#agentQueues.get(agent)?.resultOf(derivedName(task.name, at)) ?? `(${agent} is not there any more.)`;
  }

  /** MESH-TASK-2. True when something moved at once; gates take their time. */
  #judge(task: MeshMessage): boolean {
    const fixes = this.#fixes(task.name);
    if (fixes.some((fix) => !isOver(fix))) return false;
    const names = this.#declared.config.validation_gates ?? [];
    const problem = this.#gates.problemOf(`${fixes.length} ${task.name}`, names);
    if (problem === undefined) return false;
    if (problem === null) this.#end(task);
    else if (fixes.length < MOST_FIXES) this.#sendBack(task, problem, fixes.length + 1);
    else this.#end(task, `It did not pass after ${MOST_FIXES} corrections. ${problem}`);
    // Not before: what could not be written (a full disk) is written later, and the gates are not run again for it.
    this.#gates.forget();
    return true;
  }

  /** Where the corrections of a task are, in their order. */
  #fixes(task: string): QueueName[] {
    const queues = this.#agentQueues.get(this.#last())?.queues;
    const found: QueueName[] = [];
    for (let number = 1; ; number++) {
      const queue = queues?.find(derivedName(task, `fix-${number}`));
      if (queue === undefined) return found;
      found.push(queue);
    }
  }

  #sendBack(task: MeshMessage, problem: string, number: number): void {
    const agent = this.#last();
    const header: MessageHeader = {
      from: this.#context.mesh,
      to: nameOf(this.#context.here(agent)),
      type: "task",
      status: "pending",
      task: stemOf(task.name),
      step: `fix-${number}`,
      ...sameDistance(task.header),
    };
    const what = clipped(task.body.trim(), ROOM / 2);
    const body = `# Correct what did not pass\n\n${clipped(problem, ROOM / 2)}\n\n## The Task\n\n${what}\n`;
    const name = derivedName(task.name, `fix-${number}`);
    this.#context.post(this.#agentQueues.get(agent)?.queues, { name, header, body });
  }

  /** Who completes, and is given what has to be corrected. */
  #last(): string {
    const { config, plan, entry } = this.#declared;
    return config.completion_agent ?? leaves(plan).at(-1)?.agent ?? entry;
  }

  #words(task: MeshMessage): string {
    return this.#lastSteps(task.name)
      .map((step) => this.#resultOf(step, task))
      .join("\n\n");
  }

  /** Whose words stand for the whole: of a correction, where there was one. */
  #lastSteps(task: string): { agent: string; at: StepPath }[] {
    const fixes = this.#fixes(task).length;
    if (fixes > 0) return [{ agent: this.#last(), at: `fix-${fixes}` }];
    return this.#stepsOf(lastLeaves(this.#declared.plan));
  }

  /** Where the words lie that a task ended with, among what each agent has completed. */
  ends(task: string): { agent: string; name: string; failed: boolean }[] {
    const failed = this.#failed(task);
    const name = (at: StepPath) => derivedName(derivedName(task, at), failed ? "error" : "result");
    const steps = failed ? [failed] : this.#lastSteps(task);
    return steps.map(({ agent, at }) => ({ agent, name: name(at), failed: failed !== undefined }));
  }

  /** MESH-1: the answer first, then the task leaves `active`. */
  #end(task: MeshMessage, failure?: string): boolean {
    const [end, words] = this.#answer(task, failure);
    if (this.queues.move(task.name, "active", "complete") === undefined) return true;
    this.completed++;
    this.#context.ended(this.queues.place, task.name, end, words);
    return true;
  }

  /** Why it cannot be done: the words of whoever gave up. */
  #failure(task: string): string | undefined {
    const failed = this.#failed(task);
    if (!failed) return undefined;
    return `${failed.agent}: ${this.#agentQueues.get(failed.agent)?.resultOf(derivedName(task, failed.at), "error")}`;
  }

  #failed(task: string): { agent: string; at: StepPath } | undefined {
    const fixes = this.#fixes(task).map((_, index) => ({ agent: this.#last(), at: `fix-${index + 1}` }));
    return [...leaves(this.#declared.plan), ...fixes].find(({ agent, at }) =>
      this.#agentQueues.get(agent)?.queues.has("complete", derivedName(derivedName(task, at), "error")),
    );
  }

  /** How often what we gave was put into quarantine: by a power failure that emptied it, or by somebody. */
  #timesLost(agent: string, step: string): number {
    const queues = this.#agentQueues.get(agent)?.queues;
    const names = Array.from({ length: MOST_LOST }, (_, at) => (at === 0 ? step : `${stemOf(step)}~${at + 1}.md`));
    return names.filter((name) => queues?.has("quarantine", name)).length;
  }
}

const MOST_FIXES = 3;
const MOST_LOST = 3;
/** For words, below what a message holds. */
const ROOM = MAX_MESSAGE - 64 * 1024;

function isOver(queue: QueueName): boolean {
  return queue === "complete" || queue === "archive";
}
