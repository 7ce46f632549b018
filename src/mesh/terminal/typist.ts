import { cursorOf, type PaneView } from "./pane-view.ts";
import type { SessionState } from "./session-state.ts";
import { canBeTypedTo, endsWithText, inputOf, seenState, showsText, type TerminalKind } from "./terminal-kind.ts";
import type { UnsentInput } from "./unsent-input.ts";

/** A message could not be delivered; `message` says why. */
export class Undelivered extends Error {
  override readonly name = "Undelivered";
}

/** The terminal that the typist types to. */
export interface TypistPorts {
  name: string;
  kind: TerminalKind;
  look(): Promise<PaneView>;
  stateOf(look: PaneView): SessionState;
  isAlive(): boolean;
  /** Resolves when something has changed, or after this time. */
  change(ms: number): Promise<void>;
  /** How long the program has said nothing. */
  quietMs(): number;
  /** Whether its program says by hooks what it has taken. */
  hooks(): boolean;
  hasTaken(mark: string): boolean;
  readHooks(): Promise<void>;
  /** As one paste (`whole`), or as keys. Throws if the program has ended. */
  paste(text: string, how: { whole: boolean }): Promise<void>;
  /** What a person has begun to type, for programs whose input line we do not know. */
  unsentInput: UnsentInput;
  /** A person's unsent line has kept a message from being typed for a long time; why, in words. */
  blocked(why: string): void;
}

/**
 * Types messages into a terminal, and checks that the program accepted them.
 *
 * TYPIST-1. A message arrives exactly once, or `Undelivered` is thrown: it is pasted whole, seen on the screen, sent,
 *     and seen to be accepted. Text that was swallowed is pasted again; the input is cleared first, so a slow program
 *     does not get it twice.
 * TYPIST-2. Nothing is typed while a dialog is open: our text would answer it. Nor while a person is typing, whatever
 *     the program: the message waits, and after some minutes the person is told. Nor if the program's input line is not
 *     visible, whatever else its screen and its title say.
 * TYPIST-3. No part of the text acts as a key: control characters are removed, so it cannot end the paste and continue
 *     as keys.
 */
export class Typist {
  readonly #terminal: TypistPorts;

  constructor(keyboard: TypistPorts) {
    this.#terminal = keyboard;
  }

  /** `mark` is a part of the text that nothing else has. `before` is called right before it is typed. */
  async say(words: string, mark: string, signal: AbortSignal, before: () => void = () => {}): Promise<void> {
    const text = plainText(words);
    const { kind, name } = this.#terminal;
    for (let tries = 1; tries <= MOST_TRIES; tries++) {
      await this.#untilReady(signal);
      const shown = await this.#terminal.look();
      if (tries === 1) before();
      await this.#terminal.paste(text, { whole: true });
      const echo = await this.#until(ECHO_MS * tries, (look) => {
        if (seenState(kind, look) === "dialog") return "dialog";
        return this.#shows(shown, look, text) ? "shown" : undefined;
      });
      if (echo === "shown" && (await this.#send(mark, signal))) return;
      // Whatever arrived, or arrives late, is cleared before it is pasted again.
      if (this.#terminal.isAlive() && echo !== "dialog") await this.#clear(text.split("\n").length);
    }
    throw new Undelivered(`${name} did not accept the typed message in ${MOST_TRIES} attempts. To see it: tx attach.`);
  }

  /** On a full screen old text may scroll away as the same words appear below: then the text ends at the cursor. */
  #shows(before: PaneView, now: PaneView, text: string): boolean {
    if (showsText(this.#terminal.kind, before.screen, now.screen, text)) return true;
    return now.cursor !== before.cursor && endsWithText(now.screen.slice(0, cursorOf(now.cursor).y + 1), text);
  }

  /** Enter, until it is seen that it was taken. */
  async #send(mark: string, signal: AbortSignal): Promise<boolean> {
    const { kind } = this.#terminal;
    for (let presses = 1; presses <= MOST_TRIES; presses++) {
      signal.throwIfAborted();
      await this.#terminal.readHooks();
      // If only the cursor tells that it was taken, it has to stand still before.
      if (kind.input === null) await this.#untilQuiet();
      const before = await this.#terminal.look();
      // A dialog that has just opened would take the Enter for its answer: TYPIST-2. Whether the text is still there is unknown.
      if (!canBeTypedTo(kind, before)) {
        await this.#untilReady(signal, { typed: true });
        return false;
      }
      await this.#terminal.paste("\r", { whole: false });
      const pressed = performance.now();
      const taken = await this.#until(ACCEPT_MS, (look) => {
        if (this.#terminal.hasTaken(mark)) return "taken";
        const typed = inputOf(kind, look.screen);
        if (typed === null) return kind.input === null && look.cursor !== before.cursor ? "taken" : undefined;
        // If there are hooks, we wait for them a little; they may be switched off.
        if (typed === "") return this.#terminal.hooks() && performance.now() - pressed < HOOK_MS ? undefined : "taken";
        return performance.now() - pressed > SWALLOWED_MS ? "still there" : undefined;
      });
      this.#terminal.unsentInput.forget();
      if (taken === "taken") return true;
    }
    return false;
  }

  /** Waits until it can be typed to, however long a dialog is open or a person types. */
  async #untilReady(signal: AbortSignal, { typed = false } = {}): Promise<void> {
    const { kind, name } = this.#terminal;
    const began = performance.now();
    let isReported = false;
    for (;;) {
      signal.throwIfAborted();
      const look = await this.#terminal.look();
      if (look.isDead || !this.#terminal.isAlive()) throw new Undelivered(`${name} has ended.`);
      const state = this.#terminal.stateOf(look);
      const isReady = state === "idle" || state === "ready" || (state === "busy" && kind.hearsWhileBusy);
      const canType = canBeTypedTo(kind, look);
      const isFree = typed || !canType || !(await this.#isPersonTyping(look));
      if (isReady && canType && isFree) return;
      const waited = performance.now() - began;
      if (state === "starting" && waited > START_MS)
        throw new Undelivered(`${name} was not ready after ${START_MS / 1000} s. To see it: tx attach.`);
      // A program that never stops printing is typed to in between.
      if (isFree && state === "busy" && kind.input === null && waited > TALKATIVE_MS) return;
      if (!isFree && !isReported && waited > PATIENCE_MS) {
        isReported = true;
        this.#terminal.blocked(
          `somebody has begun to type in its terminal and not sent the line for ${PATIENCE_MS / 60_000} minutes`,
        );
      }
      await this.#terminal.change(LOOK_MS);
    }
  }

  /** An unsent line is left to the person who types it; if nobody is attached, it is cleared. */
  async #isPersonTyping({ screen, isWatched, keys, now }: PaneView): Promise<boolean> {
    const { kind, unsentInput } = this.#terminal;
    const isBegun = kind.input === null ? unsentInput.isBegun : (inputOf(kind, screen) ?? "") !== "";
    // A key that was just pressed may have begun a line that is not seen yet.
    if (!isBegun) return kind.input === null && isWatched && now - keys < KEYS_S;
    if (!isWatched) await this.#clear(kind.input === null ? 0 : screen.length);
    return true;
  }

  async #untilQuiet(): Promise<void> {
    const began = performance.now();
    const isLoud = () => this.#terminal.quietMs() < STILL_MS && performance.now() - began < ECHO_MS;
    while (isLoud() && this.#terminal.isAlive()) await this.#terminal.change(STILL_MS);
  }

  /** Clears this many lines, and one more. */
  async #clear(lines: number): Promise<void> {
    const { kind, unsentInput } = this.#terminal;
    if (!canBeTypedTo(kind, await this.#terminal.look())) return;
    await this.#terminal.paste(kind.clear.repeat(lines + 1), { whole: false });
    unsentInput.forget();
  }

  async #until<T>(ms: number, find: (look: PaneView) => T | undefined): Promise<T | undefined> {
    const end = performance.now() + ms;
    for (;;) {
      const found = find(await this.#terminal.look());
      if (found !== undefined) return found;
      const left = end - performance.now();
      if (left <= 0 || !this.#terminal.isAlive()) return undefined;
      await this.#terminal.change(Math.min(left, LOOK_MS));
    }
  }
}

const MOST_TRIES = 4;
const START_MS = 60_000;
const ECHO_MS = 3_000;
const ACCEPT_MS = 6_000;
const SWALLOWED_MS = 1_500;
const HOOK_MS = 1_000;
const LOOK_MS = 250;
const STILL_MS = 80;
const TALKATIVE_MS = 10_000;
/** How long a person's unsent line may keep us waiting before a person is told. */
const PATIENCE_MS = 5 * 60_000;
const KEYS_S = 2;

/** TYPIST-3: what a terminal would take for a key is removed. */
export function plainText(text: string): string {
  return (
    text
      .replace(/\r\n?/g, "\n")
      .replaceAll("\t", "    ")
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
      .replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, "")
      .trim()
  );
}
