/** Limits how many run at a time; the others wait in order. After each, other work in the event loop comes first. */
export class ConcurrencyLimit {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      setImmediate(() => {
        const next = this.#waiting.shift();
        if (next) next();
        else this.#free++;
      });
    }
  }
}
