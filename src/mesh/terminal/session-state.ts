import type { PaneView } from "./pane-view.ts";
import { seenState, type TerminalKind } from "./terminal-kind.ts";

/** `broken`: it died at once, several times, and is restarted only on request. */
export type SessionState = "starting" | "ready" | "busy" | "dialog" | "idle" | "dead" | "gone" | "broken";

/** Determines the state of a program in a terminal: by its hooks first, then by its title, then by its screen. */
export class SessionStateReader {
  readonly #kind: TerminalKind;
  readonly #hasHooks: boolean;
  readonly #opened = performance.now();
  #lastHook: { name: string; at: number } | undefined;
  #lastOutput = performance.now();
  /** How its last turn ended; null if it has not, or no hook tells. */
  stop: "Stop" | "StopFailure" | null = null;
  #hasSpoken = false;
  /** Since when no input line was seen, for a program that has one. */
  #unseenSince: number | undefined;

  constructor(kind: TerminalKind, hasHooks: boolean) {
    this.#kind = kind;
    this.#hasHooks = hasHooks;
  }

  onHook(name: string): void {
    this.#lastHook = { name, at: performance.now() };
    if (name === "UserPromptSubmit") this.stop = null;
    if (name === "Stop" || name === "StopFailure") this.stop = name;
  }

  onOutput(): void {
    this.#lastOutput = performance.now();
    this.#hasSpoken = true;
  }

  /** Something is on the screen, so the program has begun. */
  onScreen(): void {
    this.#hasSpoken = true;
  }

  /** How long the program has said nothing. */
  quietMs(): number {
    return performance.now() - this.#lastOutput;
  }

  stateOf(view: PaneView, current: SessionState): SessionState {
    const seen = seenState(this.#kind, view);
    const sinceHook = this.#lastHook ? performance.now() - this.#lastHook.at : Number.POSITIVE_INFINITY;
    // The screen may be a moment behind the hooks.
    if (this.#lastHook?.name === "PermissionRequest" && sinceHook < HOOK_MS) return "dialog";
    if (this.#lastHook?.name === "UserPromptSubmit" && sinceHook < HOOK_MS && seen === "idle") return "busy";
    if (seen === null) return this.#kind.input === null ? this.#byQuiet(current) : this.#unseen(current);
    this.#unseenSince = undefined;
    if (seen === "idle" && (current === "starting" || current === "ready")) {
      return this.#hasHooks && this.#lastHook === undefined && current === "starting" ? "starting" : "ready";
    }
    return seen;
  }

  /** A program without an input line that we know: it is idle when it is quiet. */
  #byQuiet(current: SessionState): SessionState {
    const isQuiet = this.quietMs() > QUIET_MS;
    const hasBegun = this.#hasSpoken || performance.now() - this.#opened > SILENT_START_MS;
    if (current === "starting") return isQuiet && hasBegun ? "ready" : "starting";
    return isQuiet ? "idle" : "busy";
  }

  /** There is no line to type in, and nothing says why: after a while a person has to look at it. */
  #unseen(current: SessionState): SessionState {
    this.#unseenSince ??= performance.now();
    const isLong = current !== "starting" && performance.now() - this.#unseenSince > UNSEEN_MS;
    return isLong ? "dialog" : current;
  }
}

const HOOK_MS = 1_000;
const QUIET_MS = 300;
const UNSEEN_MS = 5_000;
/** A program that shows nothing at first is taken to have started after this time. */
const SILENT_START_MS = 2_000;
