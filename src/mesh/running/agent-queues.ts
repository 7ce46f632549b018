import { addressName, type QueueName } from "../files/layout.ts";
import { type MeshMessage, readMessage } from "../files/mesh-message.ts";
import { titleOf } from "../files/message-file.ts";
import { derivedName, isStep, looksLikeStep, stemOf } from "../files/message-names.ts";
import type { Queues } from "../files/queue.ts";
import { MessageDelivery } from "./delivery.ts";
import { Intake } from "./intake.ts";
import type { MeshContext } from "./mesh-context.ts";
import { OutboxRouting } from "./outbox-routing.ts";
import { isEnd, type TaskEndKind, TaskEnds } from "./task-ends.ts";

/**
 * The queues of one agent at work: what is delivered to it, what it says, and how its tasks end.
 *
 * AGENT-QUEUE-1. Delivery of a message is retried until the agent has it (delivery.ts).
 * AGENT-QUEUE-2. The sender of a message is known by its folder. A header that says otherwise is ignored.
 * AGENT-QUEUE-3. An end message ends the task that it names; if it names none, the active one.
 * AGENT-QUEUE-4. End words that are newer than the arrival of their task in its queue end it, even if we were
 *     interrupted in between. A task that arrived after its end words was put back by hand and is done again.
 */
export class AgentQueues {
  readonly queues: Queues;
  readonly #agent: string;
  readonly #context: MeshContext;
  readonly #ends: TaskEnds;
  readonly #delivery: MessageDelivery;
  readonly #intake: Intake;
  readonly #outbox: OutboxRouting;
  /** Tasks whose end was said, but that were not answered yet, or have not left their queue. */
  readonly #ending = new Set<string>();

  constructor(queues: Queues, agent: string, context: MeshContext, moveAll: () => void) {
    this.queues = queues;
    this.#agent = agent;
    this.#context = context;
    this.#ends = new TaskEnds(queues, agent);
    this.#delivery = new MessageDelivery(queues, agent, context, moveAll);
    this.#outbox = new OutboxRouting(queues, agent, context, (message, end) => this.#takeEnd(message, end));
    this.#intake = new Intake(queues, context, {
      news: (message) => this.#tellNews(message),
      isTaken: (waiting) => !isStep(waiting) && this.#isTaken(waiting),
      movedUp: (waiting) => isStep(waiting) && this.#ends.archive(waiting.name),
      isOver: ({ name }) => this.#wasCutOff("inbox", name),
    });
  }

  /** AGENT-QUEUE-4, after a start: finds ends that were cut off, and tasks that were put back meanwhile. */
  begin(): void {
    if (!this.queues.names("complete").some(isEnd)) return;
    for (const queue of ["active", "next"] as const) {
      for (const name of this.queues.list(queue)) {
        if (this.#ends.has(name) && !this.#wasCutOff(queue, name)) this.byHand(queue, name);
      }
    }
    // Tasks in the inbox are checked for being put back when they move up: some may not be written to the end yet.
    for (const name of this.queues.list("inbox")) this.#wasCutOff("inbox", name);
  }

  /** AGENT-QUEUE-4: its words are there, and came after it. */
  #wasCutOff(queue: QueueName, name: string): boolean {
    if (!this.#ends.cameAfter(queue, name)) return false;
    this.#ending.add(name);
    return true;
  }

  /** Moves what can be moved; true if something was. */
  advance(): boolean {
    let moved = this.#delivery.advance();
    for (const name of this.#ending) moved = this.#end(name) || moved;
    moved = this.#intake.advance() || moved;
    moved = this.#outbox.advance() || moved;
    const active = this.queues.first("active");
    if (active !== undefined) return this.#tellTask(active) || moved;
    const next = this.queues.first("next");
    if (next === undefined) return moved;
    const name = this.queues.move(next, "next", "active");
    if (name !== undefined) this.#context.record({ type: "mesh.activated", data: { ...this.queues.address, name } });
    return true;
  }

  /** Somebody moved this file here by hand: what they did counts. */
  byHand(queue: QueueName, name: string): void {
    if (queue === "next" || queue === "active") this.#putBack(queue, name);
    if (queue === "complete" && isEnd(name)) this.#endWrittenByHand();
    else if (queue === "complete" || queue === "archive") this.#endedByHand(queue, name);
  }

  /** A task that may have been done before is done again: a step under its own name, any other under a new one. */
  #putBack(queue: "next" | "active", name: string): void {
    const task = readMessage(this.queues, queue, name);
    if (!task || "reason" in task || this.#ending.has(name)) return;
    if (isStep(task)) this.#ends.archive(name);
    else if (this.#isSpent(task)) this.queues.move(name, queue, queue, (one) => this.#isTaken({ ...task, name: one }));
    this.#delivery.forget(name);
  }

  /** Somebody wrote the words that end the agent's task. */
  #endWrittenByHand(): void {
    const active = this.queues.first("active");
    if (active !== undefined && this.#ends.has(active)) this.#ending.add(active);
  }

  /** Somebody moved a task to `complete` or `archive`. */
  #endedByHand(queue: QueueName, name: string): void {
    const task = readMessage(this.queues, queue, name);
    if (!task || "reason" in task || task.header.type !== "task") return;
    this.#context.ended(this.queues.address, name, ...this.#answer(task));
  }

  /** A task that is over: its sender is answered, unless that was done before. */
  answerIfOwed(queue: QueueName, name: string): void {
    const message = readMessage(this.queues, queue, name);
    if (!message || "reason" in message) return;
    this.#context.loopGuard.heard(this.#agent, addressName(this.queues.address), message);
    if (message.header.type === "task") this.#answer(message);
  }

  #answer(task: MeshMessage): [TaskEndKind, string] {
    const end = this.#ends.endOf(task.name);
    const words = end === undefined ? MOVED_BY_HAND : this.#ends.wordsOf(task.name, end);
    const type = end === "error" ? "error" : "task-complete";
    if (!isStep(task)) this.#context.answer(task, type, words, this.queues.address);
    return [end ?? "result", words];
  }

  /** The agent can hear again, or is another one now: it is told everything that it has not ended. */
  tellAgain(): void {
    this.#delivery.tellAgain();
  }

  /** A new session has heard nothing of what the one before had heard. */
  tellNewcomer(): void {
    this.#delivery.tellAgain(({ went }) => went === "heard");
  }

  /** The words with which it ended a task. */
  wordsOf(task: string, end?: TaskEndKind): string {
    return this.#ends.wordsOf(task, end);
  }

  /** A step keeps the name by which its mesh finds it; any other task gets a name that nothing followed from yet. */
  #isTaken(waiting: Pick<MeshMessage, "name" | "header">): boolean {
    const { name } = waiting;
    return this.queues.has("active", name) || looksLikeStep(name) || this.#isSpent(waiting);
  }

  /** A task of this name came to its end before. */
  #isSpent(task: Pick<MeshMessage, "name" | "header">): boolean {
    const { name } = task;
    return (
      this.queues.has("complete", name) ||
      this.queues.has("archive", name) ||
      this.#ends.has(name) ||
      this.#context.isAnswered(task, this.queues.address)
    );
  }

  #tellNews(message: MeshMessage): boolean {
    const { type, from } = message.header;
    const data = { ...this.queues.address, name: message.name, type, from, title: titleOf(message.body) };
    this.#context.record({ type: "mesh.received", data });
    this.#delivery.tell(message, "inbox");
    return false;
  }

  #tellTask(name: string): boolean {
    if (this.#delivery.isTold(name)) return false;
    const task = readMessage(this.queues, "active", name);
    if (task === undefined) return this.queues.noticed("active", name);
    if ("reason" in task) return this.#context.putAside(this.queues, "active", name, task.reason);
    this.#delivery.tell(task, "active");
    return false;
  }

  /** AGENT-QUEUE-3. */
  #takeEnd(message: MeshMessage, end: TaskEndKind): boolean {
    const active = this.queues.first("active");
    const named = message.header["in-reply-to"];
    const task = named === undefined ? active : `${stemOf(named)}.md`;
    const where = task === undefined ? undefined : this.queues.find(task);
    if (task === undefined || where === undefined) {
      const why =
        task === undefined
          ? "There is no task in active/ that this could end."
          : `"in-reply-to" says ${named}, but there is no such task here; active is ${active ?? "nothing"}.`;
      return this.#context.putAside(this.queues, "outbox", message.name, why);
    }
    // The end of a task that is already over (said twice, or ended by a person meanwhile) is kept and changes nothing.
    if (!this.queues.moveAs(message.name, "outbox", "complete", derivedName(task, end))) return true;
    if (!isWaiting(where)) return true;
    this.#ending.add(task);
    return this.#end(task);
  }

  /** MESH-1: the answer first, then the task leaves its queue, which may be one that somebody has just moved it to. */
  #end(name: string): boolean {
    const from = this.queues.find(name);
    const task = isWaiting(from) ? readMessage(this.queues, from, name) : undefined;
    if (!isWaiting(from) || task === undefined) {
      if (from !== undefined) this.queues.noticed(from, name);
      // It is over, or gone: somebody did that by hand, and it counts.
      if (!isWaiting(this.queues.find(name))) this.#ending.delete(name);
      return true;
    }
    if ("reason" in task) {
      this.#context.putAside(this.queues, from, name, task.reason);
      this.#ending.delete(name);
      return true;
    }
    const [end, words] = this.#answer(task);
    if (this.queues.move(name, from, "complete") === undefined) return true;
    this.#ending.delete(name);
    this.#delivery.forget(name);
    this.#context.ended(this.queues.address, name, end, words);
    return true;
  }
}

/** The queues of a task that is not over. */
const WAITING = ["active", "next", "inbox"] as const;

function isWaiting(queue: QueueName | undefined): queue is (typeof WAITING)[number] {
  return WAITING.some((one) => one === queue);
}

const MOVED_BY_HAND = "(It was moved to complete/ by hand; there are no words.)";
