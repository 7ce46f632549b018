import { addressName } from "../files/layout.ts";
import type { MeshMessage } from "../files/mesh-message.ts";
import type { Queues } from "../files/queue.ts";
import { errorText, firstLineOf, type MeshContext } from "./mesh-context.ts";

/**
 * The delivery of messages to one agent: what was sent, and what has arrived.
 *
 * DELIVERY-1. A message is delivered again until the agent has it: after a failure, after a restart, and when the agent
 *     gets a new member. It stays in the inbox until then: after a crash it is delivered twice rather than never.
 */
export class MessageDelivery {
  readonly #queues: Queues;
  readonly #agent: string;
  readonly #context: MeshContext;
  readonly #moveAll: () => void;
  /** By the name of the message: the attempt to tell it that counts, and its outcome. */
  readonly #told = new Map<string, ToldMessage>();
  #attempts = 0;

  constructor(queues: Queues, agent: string, context: MeshContext, moveAll: () => void) {
    this.#queues = queues;
    this.#agent = agent;
    this.#context = context;
    this.#moveAll = moveAll;
  }

  /** News that was heard is done. True if something moved. */
  advance(): boolean {
    let moved = false;
    for (const [name, { queue, went }] of this.#told) {
      if (!this.#queues.has(queue, name)) this.#told.delete(name);
      else if (queue === "inbox" && went === "heard") {
        this.#queues.move(name, "inbox", "complete");
        this.#told.delete(name);
        moved = true;
      }
    }
    return moved;
  }

  isTold(name: string): boolean {
    return this.#told.has(name);
  }

  forget(name: string): void {
    this.#told.delete(name);
  }

  /** The agent can hear again, or is another one now: it is told what it has not ended. */
  tellAgain(isMeant: (told: ToldMessage) => boolean = () => true): void {
    for (const [name, told] of this.#told) {
      // What it has heard, but could not be moved yet (a full disk), is left alone.
      if (!isMeant(told) || (told.queue === "inbox" && told.went === "heard")) continue;
      this.#told.delete(name);
      if (told.queue === "inbox") this.#queues.markUnread(name);
    }
  }

  tell(message: MeshMessage, queue: ToldMessage["queue"]): void {
    const { name } = message;
    this.#context.loopGuard.heard(this.#agent, addressName(this.#queues.address), message);
    const attempt = ++this.#attempts;
    this.#told.set(name, { attempt, queue, went: undefined });
    const where = { ...this.#queues.address, name };
    const isLate = () => !this.#context.isOpen || this.#told.get(name)?.attempt !== attempt;
    const telling = async () => this.#context.ports.tell(this.#agent, message);
    void telling().then(
      () => {
        if (!this.#context.isOpen) return;
        // Also if the task ended before we learned that it was taken.
        this.#context.record({ type: "mesh.told", data: where });
        if (isLate()) return;
        this.#told.set(name, { attempt, queue, went: "heard" });
        // It can hear: what could not be told before is tried again.
        this.tellAgain(({ went }) => went === "failed");
        this.#moveAll();
      },
      (error: unknown) => {
        if (isLate()) return;
        this.#told.set(name, { attempt, queue, went: "failed" });
        this.#context.record({ type: "mesh.undelivered", data: { ...where, why: firstLineOf(errorText(error)) } });
      },
    );
  }
}

export interface ToldMessage {
  attempt: number;
  /** The queue that the message is in. */
  queue: "inbox" | "active";
  went: "heard" | "failed" | undefined;
}
