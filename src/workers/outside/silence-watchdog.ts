import type { Clock } from "../../protocol/clock.ts";

/**
 * Whether a program works, rests or has gone, and how long it has given no sign of life.
 *
 * SILENCE-1. Silence counts only while it is busy, and no call of our tools is under way.
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

  /** A call of our tools is under way; call what is returned when it no longer is. */
  callBegins(): () => void {
    if (this.#underWay++ === 0) this.#noneUnderWay = Promise.withResolvers();
    return () => {
      this.signOfLife();
      if (--this.#underWay === 0) this.#noneUnderWay.resolve();
    };
  }

  /** Resolves when no call of our tools is under way. */
  whenNoCalls(): Promise<void> {
    return this.#noneUnderWay.promise;
  }

  /** Until it is aborted: whenever it has been silent for so long. Silence then begins anew. */
  async watch(seconds: number, mayBeSilent: () => boolean, onSilence: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const counts = this.state === "busy" && this.#underWay === 0 && !mayBeSilent();
      const left = seconds * 1000 - (counts ? this.#clock.now() - this.#lastSign : 0);
      if (left > 0) await this.#clock.sleep(left, signal);
      else {
        this.signOfLife();
        onSilence();
      }
    }
  }
}
