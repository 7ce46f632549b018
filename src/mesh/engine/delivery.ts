import { nameOf } from "../files/layout.ts";
import type { Letter } from "../files/letter.ts";
import type { Queues } from "../files/queue.ts";
import { gist, type Office, wordsOfError } from "./mesh-context.ts";

/**
 * What one agent is told, and what of it it has.
 *
 * DELIVERY-1. A letter is told until the agent has it: again after a failure, after a restart, and when its member is
 *     another. News stays in the inbox until then: told twice after a crash rather than never.
 */
export class Hearing {
  readonly #queues: Queues;
  readonly #agent: string;
  readonly #office: Office;
  readonly #settle: () => void;
  /** By the name of the letter: which attempt to tell it counts, and how it went. */
  readonly #told = new Map<string, Told>();
  #attempts = 0;

  constructor(queues: Queues, agent: string, office: Office, settle: () => void) {
    this.#queues = queues;
    this.#agent = agent;
    this.#office = office;
    this.#settle = settle;
  }

  /** News that was heard is over. True when something moved. */
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

  /** Somebody can hear again, or is somebody else: what it has not ended is told now. */
  tellAgain(isMeant: (told: Told) => boolean = () => true): void {
    for (const [name, told] of this.#told) {
      // What it has heard and could not be moved yet (a full disk) is on its way out.
      if (!isMeant(told) || (told.queue === "inbox" && told.went === "heard")) continue;
      this.#told.delete(name);
      if (told.queue === "inbox") this.#queues.markUnread(name);
    }
  }

  tell(letter: Letter, queue: Told["queue"]): void {
    const { name } = letter;
    this.#office.circles.heard(this.#agent, nameOf(this.#queues.place), letter);
    const attempt = ++this.#attempts;
    this.#told.set(name, { attempt, queue, went: undefined });
    const where = { ...this.#queues.place, name };
    const isLate = () => !this.#office.isOpen || this.#told.get(name)?.attempt !== attempt;
    const telling = async () => this.#office.ports.tell(this.#agent, letter);
    void telling().then(
      () => {
        if (!this.#office.isOpen) return;
        // Also where it was ended before we heard that it was taken.
        this.#office.record({ type: "mesh.told", data: where });
        if (isLate()) return;
        this.#told.set(name, { attempt, queue, went: "heard" });
        // It hears: what could not be told before is tried again.
        this.tellAgain(({ went }) => went === "failed");
        this.#settle();
      },
      (error: unknown) => {
        if (isLate()) return;
        this.#told.set(name, { attempt, queue, went: "failed" });
        this.#office.record({ type: "mesh.undelivered", data: { ...where, why: gist(wordsOfError(error)) } });
      },
    );
  }
}

export interface Told {
  attempt: number;
  /** Where the letter lay. */
  queue: "inbox" | "active";
  went: "heard" | "failed" | undefined;
}
