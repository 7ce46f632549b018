import { forgetWaiting } from "../../src/boundary/one-at-a-time.ts";
import { CrashDisk } from "../../src/testing/crash-disk.ts";
import { type ManualClock, manualClock } from "../../src/testing/manual-clock.ts";
import type { Dice } from "./dice.ts";
import { closeAllDescriptors, takeCharge } from "./orderly-fs.ts";

/**
 * Everything a program waits for, in one place: files, commits, models and the clock. Nothing of it happens before the
 * world says so, and the seed says what is next; so one seed is one history.
 *
 * WORLD-1. One thing happens at a time, and all that follows from it at once has followed before the next.
 * WORLD-2. What was under way when the process died is never answered. It was done, or it was not, as the dice say.
 */
export class World {
  clock: ManualClock = manualClock();
  readonly disk: CrashDisk;
  readonly #dice: Dice;
  #waiting: (() => void)[] = [];
  steps = 0;

  constructor(dice: Dice) {
    this.#dice = dice;
    this.disk = new SlowDisk((act) => this.later(act));
    takeCharge({ later: (answer) => this.later(answer), doneAtOnce: () => dice.chance(0.5) });
  }

  later(act: () => void): void {
    this.#waiting.push(act);
  }

  /** What others think or do for us: it takes a while, and may be called off. */
  answer<T>(signal: AbortSignal, act: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const stop = () => {
        this.#waiting = this.#waiting.filter((other) => other !== happen);
        reject(signal.reason);
      };
      const happen = () => {
        signal.removeEventListener("abort", stop);
        try {
          resolve(act());
        } catch (error) {
          reject(error);
        }
      };
      signal.addEventListener("abort", stop, { once: true });
      this.later(happen);
    });
  }

  /** Lets one of the things that wait happen; false when there is none. */
  step(): boolean {
    const [act] = this.#waiting.splice(this.#dice.int(this.#waiting.length), 1);
    if (!act) return false;
    this.steps += 1;
    act();
    return true;
  }

  /** The process dies: nothing it waited for comes, its clock stops, its files are closed, its memory is gone. */
  async crash(): Promise<void> {
    this.disk.kill();
    this.#waiting = [];
    this.clock = manualClock(this.clock.now());
    await turn();
    await turn();
    this.#waiting = [];
    closeAllDescriptors();
    forgetWaiting();
  }

  end(): void {
    takeCharge(undefined);
    closeAllDescriptors();
    forgetWaiting();
  }
}

/** The event loop once around: whatever can go on by itself has gone on. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A disk in memory whose commits take as long as the world wants. */
class SlowDisk extends CrashDisk {
  readonly #later: (act: () => void) => void;

  constructor(later: (act: () => void) => void) {
    super(undefined, { recording: false });
    this.#later = later;
  }

  override later(act: () => void): void {
    this.#later(act);
  }
}
