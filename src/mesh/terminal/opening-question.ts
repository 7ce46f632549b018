import type { SessionState } from "./session-state.ts";
import type { TerminalKind } from "./terminal-kind.ts";

/**
 * A question that a program asks at each of its starts, and that the person's consent to the mesh answers: Codex asks
 * whether it may open a folder whose settings it does not load.
 */
export class OpeningQuestion {
  readonly #line: RegExp | null;
  #isOver = false;
  #times = 0;
  #last = Number.NEGATIVE_INFINITY;

  constructor({ opening }: TerminalKind) {
    this.#line = opening;
  }

  /** Whether it stands there, and is still being answered. Before it, Codex shows a line to type in for a moment. */
  isThere(screen: readonly string[], state: SessionState): boolean {
    const line = this.#line;
    if (this.#isOver || line === null) return false;
    const isShown = screen.some((each) => line.test(each));
    // Once it has worked, or was answered, the same words are somebody's.
    this.#isOver = state === "busy" || this.#times > MOST || (this.#times > 0 && !isShown);
    return isShown && !this.#isOver;
  }

  /** Whether to press Enter now: a fresh dialog swallows keys. */
  isDue(now: number): boolean {
    if (now - this.#last < AGAIN_MS) return false;
    this.#last = now;
    this.#times += 1;
    return this.#times <= MOST;
  }
}

const AGAIN_MS = 3_000;
const MOST = 5;
