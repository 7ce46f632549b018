import type { Clock } from "../../protocol/clock.ts";

/** How often we check whether silence counts again. */
const LOOK_MS = 10_000;

/**
 * Whether a program works, rests or has gone, and how long it has given no sign of life.
 *
 * SILENCE-1. Silence counts only while it is busy, and nothing of ours is under way that it waits for: a call of our
 *     tools, an answer of the person, a login, money. After that it counts from the beginning.
 */
export class SilenceWatchdog {
  state: "busy" | "resting" | "gone" = "resting";
  readonly #clock: Clock;
  #lastSign = 0;
  #underWay = 0;
  #noneUnderWay = Promise.withResolvers<void>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#noneUnderWay.resolve();
  }

  /** It works from now on. */
  starts(): void {
    this.state = "busy";
    this.signOfLife();
  }

  signOfLife(): void {
    this.#lastSign = this.#clock.now();
  }

  /** A call of our tools, or something else that it waits for, is under way; call what is returned when it is over. */
  callBegins(): () => void {
    if (this.#underWay++ === 0) this.#noneUnderWay = Promise.withResolvers();
    return () => {
      this.signOfLife();
      if (--this.#underWay === 0) this.#noneUnderWay.resolve();
    };
  }

  /** A call of our tools, or something else that it waits for, is under way. */
  get isAwaited(): boolean {
    return this.#underWay > 0;
  }

  /** Resolves when no call of our tools is under way. */
  whenNoCalls(): Promise<void> {
    return this.#noneUnderWay.promise;
  }

  /** Until it is aborted: whenever it has been silent for so long. Silence then begins anew. */
  async watch(seconds: number, mayBeSilent: () => boolean, onSilence: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const counts = this.state === "busy" && this.#underWay === 0 && !mayBeSilent();
      if (!counts) this.signOfLife();
      const left = seconds * 1000 - (this.#clock.now() - this.#lastSign);
      if (left > 0) await this.#clock.sleep(counts ? left : Math.min(left, LOOK_MS), signal);
      else {
        this.signOfLife();
        onSilence();
      }
    }
  }
}
