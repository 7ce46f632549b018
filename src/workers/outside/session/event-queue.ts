import type { OutsideEvent } from "./session.ts";

/**
 * What a program does, in the order it did it, for one reader.
 *
 * EVENT-QUEUE-1. The producer waits for `room` before it brings an event, so that a flood waits in the program and
 *     not in our memory: neither many events nor a few large ones.
 * EVENT-QUEUE-2. `end` comes once, with the last event; what is pushed later is dropped.
 * EVENT-QUEUE-3. An event is over when its reader asks for the next one; `over` is told so and waited for.
 */
export class EventQueue implements AsyncIterable<OutsideEvent> {
  readonly #waiting: OutsideEvent[] = [];
  readonly #over: (event: OutsideEvent) => void | Promise<void>;
  #characters = 0;
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
    const hadRoom = this.#hasRoom;
    for (const event of events) {
      this.#waiting.push(event);
      this.#characters += sizeOf(event);
    }
    if (hadRoom && !this.#hasRoom) this.#emptied = Promise.withResolvers();
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

  get #hasRoom(): boolean {
    return this.#waiting.length <= MANY && this.#characters <= MUCH;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<OutsideEvent, void, undefined> {
    for (;;) {
      const event = this.#waiting.shift();
      if (event) {
        this.#characters -= sizeOf(event);
        if (this.#hasRoom) this.#emptied.resolve();
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
const MUCH = 16 * 1024 * 1024;

/** About as many characters as it holds. */
function sizeOf(event: OutsideEvent): number {
  switch (event.kind) {
    case "delta":
    case "said":
    case "noted":
      return event.text.length;
    case "answered":
      return event.content.length;
    case "rested":
      return event.words.length;
    case "called":
    case "asked_permission":
    case "requested_call":
      // The changes that a request shows are as long as it likes, whatever its arguments are.
      return JSON.stringify(event).length;
    default:
      return 0;
  }
}
