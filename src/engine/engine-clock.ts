/** What was said of the engine's clock, and between which moments of our own. */
export interface ClockReading {
  engineMs: number;
  askedMs: number;
  answeredMs: number;
}

/**
 * The clock of all hosts of an engine: the engine's own.
 *
 * ENGINE-CLOCK-1. Between two readings it goes on by a clock that only goes forward; whatever is done to this host's
 *     clock on the wall changes nothing.
 * ENGINE-CLOCK-2. A reading is as exact as the way to the engine was short: what lies within that changes nothing, so
 *     that times are not set back and forth.
 */
export class EngineClock {
  readonly #elapsed: () => number;
  #base: { engineMs: number; atMs: number } | undefined;

  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  note({ engineMs, askedMs, answeredMs }: ClockReading): void {
    const doubt = (answeredMs - askedMs) / 2;
    const atMs = askedMs + doubt;
    const believed = this.#base && this.#base.engineMs + (atMs - this.#base.atMs);
    if (believed === undefined || Math.abs(believed - engineMs) > doubt + ROUNDING_MS) this.#base = { engineMs, atMs };
  }

  now(): number {
    if (!this.#base) throw new Error("the engine's clock was not read yet");
    return this.#base.engineMs + (this.#elapsed() - this.#base.atMs);
  }
}

const ROUNDING_MS = 1;
