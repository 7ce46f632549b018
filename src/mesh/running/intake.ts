import { type MeshMessage, readMessage } from "../files/mesh-message.ts";
import { titleOf } from "../files/message-file.ts";
import type { Queues } from "../files/queue.ts";
import type { MeshContext } from "./mesh-context.ts";

/** Handles what comes to an inbox: tasks are activated one by one; everything else is handled at once. */
export class Intake {
  readonly #queues: Queues;
  readonly #context: MeshContext;
  readonly #handlers: IntakeHandlers;
  /** The tasks that wait in the inbox, so that they are not read again and again. */
  readonly #line = new Map<string, WaitingMessage>();

  constructor(queues: Queues, context: MeshContext, handlers: IntakeHandlers) {
    this.#queues = queues;
    this.#context = context;
    this.#handlers = handlers;
  }

  /** True if something moved. */
  advance(): boolean {
    let moved = false;
    for (const name of this.#queues.unread()) {
      const message = readMessage(this.#queues, "inbox", name);
      if (message === undefined) moved = this.#queues.noticed("inbox", name) || moved;
      else if ("reason" in message)
        moved = this.#context.putAside(this.#queues, "inbox", name, message.reason) || moved;
      else if (message.header.type !== "task") moved = this.#handlers.news(message) || moved;
      else this.#lineUp(message);
      this.#queues.markRead(name);
    }
    return this.#moveUp() || moved;
  }

  #lineUp(message: MeshMessage): void {
    const { name, header } = message;
    const { type, from } = header;
    const data = { ...this.#queues.address, name, type, from, title: titleOf(message.body) };
    this.#context.record({ type: "mesh.received", data });
    this.#line.set(name, { name, header });
  }

  #moveUp(): boolean {
    if (this.#line.size === 0 || this.#queues.count("next") > 0) return false;
    const name = this.#queues.first("inbox", (one) => this.#line.has(one));
    const waiting = name === undefined ? undefined : this.#line.get(name);
    // A task that is in the line but not in the inbox was moved away by hand.
    if (!waiting) this.#line.clear();
    if (!waiting) return false;
    if (this.#handlers.isOver(waiting)) return this.#line.delete(waiting.name);
    const isTaken = (candidate: string) => this.#handlers.isTaken({ ...waiting, name: candidate });
    const there = this.#queues.move(waiting.name, "inbox", "next", isTaken);
    // Only now: a task that could not be moved (a full disk) stays in the line.
    this.#line.delete(waiting.name);
    // Only now: a task that was just ended by hand keeps the words it ended with.
    if (there !== undefined) this.#handlers.movedUp(waiting);
    return there !== undefined;
  }
}

type WaitingMessage = Pick<MeshMessage, "name" | "header">;

export interface IntakeHandlers {
  /** A question or an answer. True if it was moved. */
  news(message: MeshMessage): boolean;
  /** Another message had this name before. */
  isTaken(waiting: WaitingMessage): boolean;
  /** It is in `next` now. If we are killed before this is done, it is done at the next start: see AGENT-QUEUE-4. */
  movedUp(waiting: WaitingMessage): void;
  /** Its end was said while it waited in the inbox. */
  isOver(waiting: WaitingMessage): boolean;
}
