import { nameOf, type QueueName } from "../files/layout.ts";
import { type MeshMessage, readMessage } from "../files/mesh-message.ts";
import { titleOf } from "../files/message-file.ts";
import { derivedName, isStep, looksLikeStep, stemOf } from "../files/message-names.ts";
import type { Queues } from "../files/queue.ts";
import { Delivery } from "./delivery.ts";
import { Intake } from "./intake.ts";
import { distanceFields } from "./loop-guard.ts";
import type { MeshContext } from "./mesh-context.ts";
import { type Route, routeOf, senderProblem } from "./route.ts";

/**
 * One agent's desk: what it is told, what it says, and how its tasks end.
 *
 * AGENT-QUEUE-1. A message is told until the agent has it (delivery.ts).
 * AGENT-QUEUE-2. Who sends is told by the folder. A header that says otherwise is not believed.
 * AGENT-QUEUE-3. An end is for the task it names; where it names none, for the one that is active.
 * AGENT-QUEUE-4. Words that came after a task came where it stands are its end, also when we were cut off in between; a
 *     task that came there after its words was put back by somebody, and is done again.
 */
export class AgentQueues {
  readonly queues: Queues;
  readonly #agent: string;
  readonly #context: MeshContext;
  readonly #delivery: Delivery;
  readonly #intake: Intake;
  /** Tasks whose end was said and that have yet to be answered, or to leave their queue. */
  readonly #ending = new Set<string>();

  constructor(queues: Queues, agent: string, context: MeshContext, settle: () => void) {
    this.queues = queues;
    this.#agent = agent;
    this.#context = context;
    this.#delivery = new Delivery(queues, agent, context, settle);
    this.#intake = new Intake(queues, context, {
      news: (message) => this.#tellNews(message),
      isTaken: (waiting) => !isStep(waiting) && this.#isTaken(waiting),
      movedUp: (waiting) => isStep(waiting) && this.#forgetEnds(waiting.name),
      isOver: ({ name }) => this.#wasCutOff("inbox", name),
    });
  }

  /** AGENT-QUEUE-4, after a start: what was cut off, and what somebody put back while nobody was there. */
  begin(): void {
    if (!this.queues.names("complete").some(isEnd)) return;
    // What lies in the inbox is looked at when it moves up: not all of it may have been taken for whole yet.
    for (const queue of ["active", "next"] as const) {
      for (const name of this.queues.list(queue)) {
        if (this.#hasEnd(name) && !this.#wasCutOff(queue, name)) this.byHand(queue, name);
      }
    }
    for (const name of this.queues.list("inbox")) this.#wasCutOff("inbox", name);
  }

  /** AGENT-QUEUE-4: its words are there, and came after it. */
  #wasCutOff(queue: QueueName, name: string): boolean {
    const words = ENDS.map((end) => derivedName(name, end)).find((one) => this.queues.has("complete", one));
    if (words === undefined || !this.queues.cameBefore([queue, name], ["complete", words])) return false;
    this.#ending.add(name);
    return true;
  }

  /** Moves what can be moved; true when something was. */
  advance(): boolean {
    let moved = this.#delivery.advance();
    for (const name of this.#ending) moved = this.#end(name) || moved;
    moved = this.#intake.advance() || moved;
    for (const name of this.queues.list("outbox")) moved = this.#takeOut(name) || moved;
    const active = this.queues.first("active");
    if (active !== undefined) return this.#tellTask(active) || moved;
    const next = this.queues.first("next");
    if (next === undefined) return moved;
    const name = this.queues.move(next, "next", "active");
    if (name !== undefined) this.#context.record({ type: "mesh.activated", data: { ...this.queues.place, name } });
    return true;
  }

  /** Somebody moved this file here by hand, and is right. */
  byHand(queue: QueueName, name: string): void {
    if (queue === "next" || queue === "active") this.#putBack(queue, name);
    if (queue === "complete" && isEnd(name)) this.#wordsByHand();
    else if (queue === "complete" || queue === "archive") this.#endedByHand(queue, name);
  }

  /** It may have been done before: then it is done again, a step under its name, any other under a new one. */
  #putBack(queue: "next" | "active", name: string): void {
    const task = readMessage(this.queues, queue, name);
    if (!task || "reason" in task || this.#ending.has(name)) return;
    if (isStep(task)) this.#forgetEnds(name);
    else if (this.#isSpent(task)) this.queues.move(name, queue, queue, (one) => this.#isTaken({ ...task, name: one }));
    this.#delivery.forget(name);
  }

  /** Somebody wrote for the agent the words that end its task. */
  #wordsByHand(): void {
    const active = this.queues.first("active");
    if (active !== undefined && this.#hasEnd(active)) this.#ending.add(active);
  }

  #hasEnd(task: string): boolean {
    return ENDS.some((end) => this.queues.has("complete", derivedName(task, end)));
  }

  /** A task that somebody moved to where it is over. */
  #endedByHand(queue: QueueName, name: string): void {
    const task = readMessage(this.queues, queue, name);
    if (!task || "reason" in task || task.header.type !== "task") return;
    this.#context.ended(this.queues.place, name, ...this.#answer(task));
  }

  /** A task that is over: whoever asked for it hears so, unless they did. */
  owed(queue: QueueName, name: string): void {
    const message = readMessage(this.queues, queue, name);
    if (!message || "reason" in message) return;
    this.#context.loopGuard.heard(this.#agent, nameOf(this.queues.place), message);
    if (message.header.type === "task") this.#answer(message);
  }

  #answer(task: MeshMessage): [End, string] {
    const end = ENDS.find((one) => this.queues.has("complete", derivedName(task.name, one)));
    const words = end === undefined ? HAND : this.resultOf(task.name, end);
    const type = end === "error" ? "error" : "task-complete";
    if (!isStep(task)) this.#context.answer(task, type, words, this.queues.place);
    return [end ?? "result", words];
  }

  /** Somebody can hear again, or is somebody else: what it has not ended is told now. */
  tellAgain(): void {
    this.#delivery.tellAgain();
  }

  tellNewcomer(): void {
    this.#delivery.tellAgain(({ went }) => went === "heard");
  }

  /** The words with which it ended a task. */
  resultOf(message: string, end: End = "result"): string {
    const result = readMessage(this.queues, "complete", derivedName(message, end));
    if (!result || "reason" in result) return `(${this.#agent} left no words; what it made is in shared/output/.)`;
    return result.body.trim();
  }

  /** A step keeps the name by which its mesh finds it; any other task gets one that nothing followed from. */
  #isTaken(waiting: Pick<MeshMessage, "name" | "header">): boolean {
    const { name } = waiting;
    return this.queues.has("active", name) || looksLikeStep(name) || this.#isSpent(waiting);
  }

  /** Something of this name came to its end before. */
  #isSpent(task: Pick<MeshMessage, "name" | "header">): boolean {
    const { name } = task;
    return (
      this.queues.has("complete", name) ||
      this.queues.has("archive", name) ||
      this.#hasEnd(name) ||
      this.#context.isAnswered(task, this.queues.place)
    );
  }

  /** It is to be done again: the words with which it ended before do not end it now. */
  #forgetEnds(name: string): void {
    for (const end of ENDS) {
      const old = derivedName(name, end);
      if (this.queues.has("complete", old)) this.queues.move(old, "complete", "archive", (one) => one === old);
    }
  }

  #tellNews(message: MeshMessage): boolean {
    const { type, from } = message.header;
    const data = { ...this.queues.place, name: message.name, type, from, title: titleOf(message.body) };
    this.#context.record({ type: "mesh.received", data });
    this.#delivery.tell(message, "inbox");
    return false;
  }

  #tellTask(name: string): boolean {
    if (this.#delivery.isTold(name)) return false;
    const message = readMessage(this.queues, "active", name);
    if (message === undefined) return this.queues.noticed("active", name);
    if ("reason" in message) return this.#context.putAside(this.queues, "active", name, message.reason);
    this.#delivery.tell(message, "active");
    return false;
  }

  #takeOut(name: string): boolean {
    const message = readMessage(this.queues, "outbox", name);
    if (message === undefined) return this.queues.noticed("outbox", name);
    if ("reason" in message) return this.#context.putAside(this.queues, "outbox", name, message.reason);
    const { place } = this.queues;
    const route = routeOf(message.header, place, this.#context.ports.directory());
    const why = route.kind === "nowhere" ? route.reason : senderProblem(message.header.from, place, route);
    if (why !== undefined) return this.#context.putAside(this.queues, "outbox", name, why);
    return this.#carry(message, route);
  }

  #carry(message: MeshMessage, route: Route): boolean {
    const { ports } = this.#context;
    switch (route.kind) {
      case "done":
      case "failed":
        return this.#takeEnd(message, route.kind === "done" ? "result" : "error");
      case "human":
        return this.#toHuman(message);
      case "board":
        return this.#context.toBoard(this.queues, message.name);
      case "agent":
      case "mesh": {
        const to = ports.queuesOf(route.mesh, route.kind === "agent" ? route.agent : null);
        if (!to)
          return this.#context.putAside(
            this.queues,
            "outbox",
            message.name,
            `${message.header.to} is not there any more.`,
          );
        const why = this.#goesTooFar(message, nameOf(to.place));
        if (why !== undefined) return this.#context.putAside(this.queues, "outbox", message.name, why);
        const moved = this.queues.moveTo(message.name, "outbox", to, "inbox") !== undefined;
        if (route.mesh !== this.queues.place.mesh) ports.changed(route.mesh);
        return moved;
      }
      case "nowhere":
        return false;
    }
  }

  /** How far it is, is written into it before it leaves: LOOP-GUARD-4. */
  #goesTooFar(message: MeshMessage, to: string): string | undefined {
    const { loopGuard } = this.#context;
    const here = { mesh: this.queues.place.mesh, agent: this.#agent };
    const active = this.queues.first("active");
    const task = active === undefined ? undefined : readMessage(this.queues, "active", active);
    const far = loopGuard.next(here, message, to, task && !("reason" in task) ? task : undefined);
    const why = this.#context.refusal(here, to, far);
    if (why !== undefined) return why;
    this.#context.rewrite(this.queues, "outbox", { ...message, header: { ...message.header, ...distanceFields(far) } });
    loopGuard.sent(nameOf(here), to, far);
    return undefined;
  }

  /** The human is handed each name once, so a second message of a name gets another before. */
  #toHuman(message: MeshMessage): boolean {
    const isTaken = (name: string) => this.queues.has("complete", name) || this.queues.has("archive", name);
    const { name } = message;
    if (isTaken(name)) return this.queues.move(name, "outbox", "outbox", isTaken) !== undefined;
    this.#context.ports.human(this.#agent, message);
    return this.queues.move(name, "outbox", "complete") !== undefined;
  }

  /** AGENT-QUEUE-3. */
  #takeEnd(message: MeshMessage, end: End): boolean {
    const active = this.queues.first("active");
    const named = message.header["in-reply-to"];
    const meant = named === undefined ? active : `${stemOf(named)}.md`;
    const where = meant === undefined ? undefined : this.queues.find(meant);
    if (meant === undefined || where === undefined) {
      const why =
        meant === undefined
          ? "There is nothing in active/ that this could be the end of."
          : `"in-reply-to" says ${named}, but there is no such task here; active is ${active ?? "nothing"}.`;
      return this.#context.putAside(this.queues, "outbox", message.name, why);
    }
    // Of a task that is over it is kept beside it and changes nothing: said twice, or ended by a person meanwhile.
    if (!this.queues.moveAs(message.name, "outbox", "complete", derivedName(meant, end))) return true;
    if (!isWaiting(where)) return true;
    this.#ending.add(meant);
    return this.#end(meant);
  }

  /** MESH-1: the answer first, then the task leaves the queue it is in: the one a hand has just moved it to, perhaps. */
  #end(name: string): boolean {
    const from = this.queues.find(name);
    const task = isWaiting(from) ? readMessage(this.queues, from, name) : undefined;
    if (!isWaiting(from) || task === undefined) {
      if (from !== undefined) this.queues.noticed(from, name);
      // Over, or gone: whoever did that by hand was right.
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
    this.#context.ended(this.queues.place, name, end, words);
    return true;
  }
}

/** Where a task is before it is over. */
const WAITING = ["active", "next", "inbox"] as const;

function isWaiting(queue: QueueName | undefined): queue is (typeof WAITING)[number] {
  return WAITING.some((one) => one === queue);
}

/** The words with which an agent ended its task lie beside it in `complete`, under its name. */
const ENDS = ["result", "error"] as const;
export type End = (typeof ENDS)[number];

export function isEnd(name: string): boolean {
  return /\.(?:result|error)(?:~\d+)?\.md$/.test(name);
}

const HAND = "(It was moved to complete/ by hand; there are no words.)";
