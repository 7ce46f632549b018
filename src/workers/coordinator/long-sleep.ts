import { callsOf, type Entry } from "../../protocol/index.ts";
import { isLongToWakeTo } from "../loop/compaction.ts";
import type { Recorder } from "../loop/recorded-loop.ts";

/** As long as providers keep what they were shown. */
const KEPT_BY_PROVIDERS_MS = 300_000;

/** Knows whether a sleep was so long that the next request is paid for in full: then it should be a short one. */
export class LongSleep {
  readonly #now: () => number;
  readonly #sleep: (signal: AbortSignal) => Promise<string>;
  #isLate = false;

  constructor({ clock }: Pick<Recorder, "clock">, sleep: (signal: AbortSignal) => Promise<string>) {
    this.#now = () => clock.now();
    this.#sleep = sleep;
  }

  async until(signal: AbortSignal): Promise<string> {
    const from = this.#now();
    const words = await this.#sleep(signal);
    this.#isLate = this.#now() - from >= KEPT_BY_PROVIDERS_MS;
    return words;
  }

  takeLate(): boolean {
    const isLate = this.#isLate;
    this.#isLate = false;
    return isLate;
  }
}

/** It has done something since it was told the news, and will not be shown it again. */
export function hasMuchToNote(history: readonly Entry[]): boolean {
  const news = history.findLastIndex((entry) => entry.role === "user" && entry.upto !== undefined);
  const hasWorked = history.slice(news + 1).some((entry) => entry.role === "assistant" && callsOf(entry).length > 0);
  return hasWorked && isLongToWakeTo(history);
}
