import { type MeshMessage, readMessage } from "../files/mesh-message.ts";
import { titleOf } from "../files/message-file.ts";
import type { Queues } from "../files/queue.ts";
import type { MeshContext } from "./mesh-context.ts";

/** What comes to a place: tasks move up one by one, everything else is dealt with at once, wherever it stands in the line. */
export class Intake {
  readonly #queues: Queues;
  readonly #context: MeshContext;
  readonly #ways: IntakeHandlers;
  /** The tasks that wait in the inbox, so that a line of them is not read again and again. */
  readonly #line = new Map<string, Waiting>();

  constructor(queues: Queues, context: MeshContext, ways: IntakeHandlers) {
    this.#queues = queues;
    this.#context = context;
    this.#ways = ways;
  }

  /** True when something moved. */
  advance(): boolean {
    let moved = false;
    for (const name of this.#queues.unread()) {
      const message = readMessage(this.#queues, "inbox", name);
      if (message === undefined) moved = this.#queues.noticed("inbox", name) || moved;
      else if ("reason" in message)
        moved = this.#context.putAside(this.#queues, "inbox", name, message.reason) || moved;
      else if (message.header.type !== "task") moved = this.#ways.news(message) || moved;
      else this.#lineUp(message);
      this.#queues.markRead(name);
    }
    return this.#moveUp() || moved;
  }

  #lineUp(message: MeshMessage): void {
    const { name, header } = message;
    const { type, from } = header;
    const data = { ...this.#queues.place, name, type, from, title: titleOf(message.body) };
    this.#context.record({ type: "mesh.received", data });
    this.#line.set(name, { name, header });
  }

  #moveUp(): boolean {
    if (this.#line.size === 0 || this.#queues.count("next") > 0) return false;
    const name = this.#queues.first("inbox", (one) => this.#line.has(one));
    const waiting = name === undefined ? undefined : this.#line.get(name);
    // Whoever is in the line and not in the inbox was moved away by somebody.
    if (!waiting) this.#line.clear();
    if (!waiting) return false;
    if (this.#ways.isOver(waiting)) return this.#line.delete(waiting.name);
    const isTaken = (candidate: string) => this.#ways.isTaken({ ...waiting, name: candidate });
    const there = this.#queues.move(waiting.name, "inbox", "next", isTaken);
    // Not before: what could not be moved (a full disk) stays in the line.
    this.#line.delete(waiting.name);
    // Not before: what a hand has just ended keeps the words it ended with.
    if (there !== undefined) this.#ways.movedUp(waiting);
    return there !== undefined;
  }
}

type Waiting = Pick<MeshMessage, "name" | "header">;

export interface IntakeHandlers {
  /** A question or an answer. True when it was moved. */
  news(message: MeshMessage): boolean;
  /** Something else went by this name before. */
  isTaken(waiting: Waiting): boolean;
  /** It is in `next`. Whoever is killed before this is done does it at the next start: it came there after its words. */
  movedUp(waiting: Waiting): void;
  /** Its end was said while it waited: it ends where it stands. */
  isOver(waiting: Waiting): boolean;
}
