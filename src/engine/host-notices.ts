import type { Database } from "./database.ts";

export interface NoticePorts {
  database: Database;
  signal: AbortSignal;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** Between two tries to listen again. */
const AGAIN_MS = 1000;

/**
 * Short words between the hosts of an engine (`LISTEN`, `NOTIFY`), on a connection of their own.
 *
 * NOTICE-1. A notice only says that it is worth looking: what it is about is in a table, and whoever waits looks there
 *     now and then without one. So none is missed when a connection breaks; then everybody is woken once.
 */
export class HostNotices {
  readonly #ports: NoticePorts;
  readonly #hearers = new Map<string, Set<() => void>>();

  constructor(ports: NoticePorts) {
    this.#ports = ports;
  }

  /** Listens until the signal fires. */
  async listen(): Promise<void> {
    const { database, signal, sleep } = this.#ports;
    while (!signal.aborted) {
      await database
        .listen(
          (words) => this.#wake(words),
          signal,
          () => this.#wakeAll(),
        )
        .catch(() => {});
      await sleep(AGAIN_MS, signal).catch(() => {});
    }
  }

  /** Called when somebody says these words. Returns the unsubscribe. */
  on(words: string, hearer: () => void): () => void {
    const hearers = this.#hearers.get(words) ?? new Set();
    this.#hearers.set(words, hearers.add(hearer));
    return () => {
      hearers.delete(hearer);
      if (hearers.size === 0) this.#hearers.delete(words);
    };
  }

  /** Remembers that these words were said while nobody waited for them. */
  ear(words: string): Ear {
    return new Ear(this, words, this.#ports.sleep);
  }

  /** Several at once may be said together, each on its line. */
  #wake(said: string): void {
    for (const words of said.split("\n")) for (const hearer of [...(this.#hearers.get(words) ?? [])]) hearer();
  }

  #wakeAll(): void {
    for (const words of [...this.#hearers.keys()]) this.#wake(words);
  }
}

/** Listens for certain words until it is disposed of. */
export class Ear implements Disposable {
  readonly #sleep: NoticePorts["sleep"];
  readonly #off: () => void;
  #isSaid = false;
  #wake = () => {};

  constructor(notices: Pick<HostNotices, "on">, words: string, sleep: NoticePorts["sleep"]) {
    this.#sleep = sleep;
    this.#off = notices.on(words, () => {
      this.#isSaid = true;
      this.#wake();
    });
  }

  /** Until the words are said, if they were not since the last time; at most for so long. */
  async heard(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isSaid && !signal.aborted) {
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      await this.#sleep(ms, AbortSignal.any([woken.signal, signal])).catch(() => {});
    }
    this.#isSaid = false;
  }

  [Symbol.dispose](): void {
    this.#off();
  }
}
