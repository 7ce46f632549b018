import type { Clock } from "../../protocol/clock.ts";

/** How long a program rests before it is ended, where its profile does not say; 0 means never. */
export const REST_SECONDS = 900;

export interface LongRestPorts {
  clock: Clock;
  seconds: number | undefined;
  signal: AbortSignal;
  /** Whether it rests now, and could be ended and resumed without losing anything. */
  mayEnd(): boolean;
  end(): void;
}

/**
 * Ends a program that has rested for a long time, so that its memory is free: a program that waits over night holds
 * some hundred megabytes.
 *
 * LONG-REST-1. Only a program that rests, that nothing of ours is under way for, and whose session can be resumed.
 *     Whatever it does, or is told, begins its rest anew.
 */
export class LongRest {
  readonly #ports: LongRestPorts;
  #counting = new AbortController();

  constructor(ports: LongRestPorts) {
    this.#ports = ports;
  }

  /** Something happened: if it rests, it does so from now on. */
  begins(): void {
    const { clock, seconds = REST_SECONDS, signal, mayEnd, end } = this.#ports;
    this.ends();
    if (seconds === 0 || signal.aborted || !mayEnd()) return;
    const over = () => (mayEnd() ? end() : undefined);
    clock.sleep(seconds * 1000, AbortSignal.any([signal, this.#counting.signal])).then(over, () => {});
  }

  ends(): void {
    this.#counting.abort();
    this.#counting = new AbortController();
  }
}
