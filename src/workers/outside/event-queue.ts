import type { OutsideEvent } from "./session.ts";

/**
 * What a program does, in the order it did it, for one reader.
 *
 * E1. Whoever brings events from a program waits for `room` first, so that a flood waits in the program and not in our memory.
 * E2. `end` comes once, with the last event; what is pushed later is dropped.
 * E3. An event is over when its reader asks for the next one; `over` is told so and waited for.
 */
export class EventQueue implements AsyncIterable<OutsideEvent> {
  readonly #waiting: OutsideEvent[] = [];
  readonly #over: (event: OutsideEvent) => void | Promise<void>;
  #ended = false;
  #isOpen = false;
  #arrived = Promise.withResolvers<void>();
  #emptied = Promise.withResolvers<void>();

  constructor(over: (event: OutsideEvent) => void | Promise<void> = () => {}) {
    this.#over = over;
    this.#emptied.resolve();
  }

  get ended(): boolean {
    return this.#ended;
  }

  push(...events: readonly OutsideEvent[]): void {
    if (this.#ended || events.length === 0) return;
    if (this.#waiting.length + events.length > MANY && this.#waiting.length <= MANY) {
      this.#emptied = Promise.withResolvers();
    }
    this.#waiting.push(...events);
    this.#arrived.resolve();
  }

  end(last: OutsideEvent): void {
    this.push(last);
    this.#ended = true;
    // Nobody may be left waiting for a reader who has gone.
    this.#emptied.resolve();
  }

  /** Owns what brings the events: if it fails, the reader is told why and that the program is gone. */
  own(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.push({ kind: "noted", text: `It could not be followed any more: ${String(error)}` });
      this.end({ kind: "exited", code: null, signal: null, exceeded: null });
    });
  }

  /** Resolves when the reader has caught up, or when there will be nothing more to read. */
  room(): Promise<void> {
    return this.#ended || this.#isOpen ? Promise.resolve() : this.#emptied.promise;
  }

  /** From now on nobody waits for the reader. */
  stopWaiting(): void {
    this.#isOpen = true;
    this.#emptied.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<OutsideEvent, void, undefined> {
    for (;;) {
      const event = this.#waiting.shift();
      if (event) {
        if (this.#waiting.length <= MANY) this.#emptied.resolve();
        yield event;
        await this.#over(event);
      } else if (this.#ended) {
        return;
      } else {
        this.#arrived = Promise.withResolvers();
        await this.#arrived.promise;
      }
    }
  }
}

const MANY = 1000;
