import { setImmediate as nextTurn } from "node:timers/promises";

/** How long a walk works before it yields. */
const SLICE_MS = 4;

/**
 * Long work on the main thread, in slices. Many small synchronous calls cost a tenth of as many trips through the
 * thread pool, so a walk makes them synchronously and pauses between slices.
 */
export class TimeSlices {
  #begun = performance.now();

  /** Whether this slice is over. Cheaper than awaiting `rest` where it is not. */
  get isDue(): boolean {
    return performance.now() - this.#begun > SLICE_MS;
  }

  async rest(): Promise<void> {
    await nextTurn();
    this.#begun = performance.now();
  }
}
