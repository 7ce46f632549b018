import { unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Hook, HookFile } from "./hook-file.ts";
import { canBeTypedTo, inputOf, seenState, showsText, type TerminalKind } from "./terminal-kind.ts";
import type { ControlClient } from "./tmux-client.ts";
import type { TmuxServer } from "./tmux-server.ts";

export type SessionState = "starting" | "ready" | "busy" | "dialog" | "idle" | "dead" | "gone";

/** Nobody has it before their eyes; why, in words. */
export class Undelivered extends Error {
  override readonly name = "Undelivered";
}

export interface SessionPlan {
  name: string;
  kind: TerminalKind;
  /** A folder of the session's own, for what is pasted. */
  dir: string;
  /** Where the program's hooks write, where it has such. */
  hooks: string | null;
}

interface Look {
  screen: string[];
  title: string;
  isDead: boolean;
  /** How it ended. */
  status: string;
  cursor: string;
  /** Somebody besides us sits before it. */
  isWatched: boolean;
}

/**
 * One program in its terminal, as we sit before it.
 *
 * W1. What is said arrives exactly once, or `Undelivered` is thrown: pasted whole, seen on the screen, sent, seen taken.
 *     What was swallowed is pasted again, and since the input is emptied before, a slow program does not get it twice.
 * W2. Nothing is typed while a dialog is open: it would be answered by what we paste. Nor into what a person is typing,
 *     nor where a program's line to type in is not seen, whatever else its screen and its title say.
 * W3. Nothing of the text is a key: control characters are taken out, so it cannot end the paste and go on as keys.
 * W4. Its death is told within seconds, by tmux, and nobody polls.
 */
export class TmuxSession {
  readonly plan: SessionPlan;
  readonly #server: TmuxServer;
  #client: ControlClient;
  #hooks: HookFile | undefined;
  readonly #onState: (state: SessionState, detail?: string) => void;
  #state: SessionState = "starting";
  #lastHook: { name: string; at: number } | undefined;
  readonly #opened = performance.now();
  #lastOutput = performance.now();
  #hasSpoken = false;
  /** Since when no line to type in was seen, of a program that has one. */
  #unseenSince: number | undefined;
  #prompts: string[] = [];
  #waiting: (() => void)[] = [];
  #looking: NodeJS.Timeout | undefined;
  #isClosed = false;
  #speaking: Promise<unknown> = Promise.resolve();

  private constructor(server: TmuxServer, plan: SessionPlan, onState: (state: SessionState, detail?: string) => void) {
    this.#server = server;
    this.plan = plan;
    this.#onState = onState;
    this.#client = this.#attached();
  }

  /** Sits down before a session that is there. */
  static async open(
    server: TmuxServer,
    plan: SessionPlan,
    onState: (state: SessionState, detail?: string) => void,
  ): Promise<TmuxSession> {
    const session = new TmuxSession(server, plan, onState);
    if (plan.hooks !== null) {
      session.#hooks = new HookFile(plan.hooks, (hook) => session.#hear(hook));
      await session.#hooks.open();
    }
    session.#changed();
    return session;
  }

  get state(): SessionState {
    return this.#state;
  }

  get isAlive(): boolean {
    return !this.#isClosed && this.#state !== "dead" && this.#state !== "gone";
  }

  /** Kept with the session, and gone with it. */
  async note(name: string, value: string): Promise<void> {
    await this.#asking((client) => client.onPaneOf("set-option", `@tx_${name}`, value));
  }

  async noted(name: string): Promise<string> {
    const lines = await this.#asking((client) => client.onPaneOf("show-options", "-qv", `@tx_${name}`));
    return lines.join("\n");
  }

  /** Whether it has been given something with these words in it, as far as can be seen. */
  async hasHeard(mark: string): Promise<boolean> {
    await this.#hooks?.read();
    if (this.#prompts.some((prompt) => prompt.includes(mark))) return true;
    if (this.#hooks) return false;
    const { screen } = await this.#look();
    const { kind } = this.plan;
    return screen.join("").includes(mark) && (inputOf(kind, screen) ?? "") === "";
  }

  /** One after the other. `mark` is a part of the text that nothing else has. */
  say(text: string, mark: string, signal: AbortSignal): Promise<void> {
    const said = this.#speaking.then(() => this.#say(plainText(text), mark, signal));
    this.#speaking = said.catch(() => {});
    return said;
  }

  /** Leaves it as it is. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#looking);
    clearTimeout(this.#later);
    this.#hooks?.close();
    this.#client.close();
    this.#wake();
  }

  async #say(text: string, mark: string, signal: AbortSignal): Promise<void> {
    for (let tries = 1; tries <= MOST_TRIES; tries++) {
      await this.#untilItHears(signal);
      const before = await this.#look();
      await this.#paste(text, { whole: true });
      const echo = await this.#until(ECHO_MS * tries, (look) => {
        if (seenState(this.plan.kind, look) === "dialog") return "dialog";
        return showsText(this.plan.kind, before.screen, look.screen, text) ? "shown" : undefined;
      });
      if (echo === "shown" && (await this.#send(mark, signal))) return;
      // Whatever of it came, or comes late, goes before it is pasted again.
      if (this.isAlive && echo !== "dialog") await this.#clear(text.split("\n").length);
    }
    throw new Undelivered(`${this.plan.name} did not take what was typed, ${MOST_TRIES} times. Look: tx attach.`);
  }

  /** Enter, until it is seen that it was taken. */
  async #send(mark: string, signal: AbortSignal): Promise<boolean> {
    const { kind } = this.plan;
    for (let presses = 1; presses <= MOST_TRIES; presses++) {
      signal.throwIfAborted();
      await this.#hooks?.read();
      // Where only the cursor tells that it was taken, it has to stand still before.
      if (kind.input === null) await this.#untilQuiet();
      const before = await this.#look();
      // What has opened just now would take the Enter for its answer: W2. Whether the text outlived it is not known.
      if (!canBeTypedTo(kind, before)) {
        await this.#untilItHears(signal, { typed: true });
        return false;
      }
      await this.#paste("\r");
      const pressed = performance.now();
      const taken = await this.#until(ACCEPT_MS, (look) => {
        if (this.#prompts.some((prompt) => prompt.includes(mark))) return "taken";
        const typed = inputOf(kind, look.screen);
        if (typed === null) return kind.input === null && look.cursor !== before.cursor ? "taken" : undefined;
        // Where the hooks tell, they are waited for a little; they may be switched off.
        if (typed === "") return this.#hooks && performance.now() - pressed < HOOK_MS ? undefined : "taken";
        return performance.now() - pressed > SWALLOWED_MS ? "still there" : undefined;
      });
      if (taken === "taken") return true;
    }
    return false;
  }

  /** Until it can be typed to, however long a dialog is open or a person types. */
  async #untilItHears(signal: AbortSignal, { typed = false } = {}): Promise<void> {
    const { kind, name } = this.plan;
    const began = performance.now();
    for (;;) {
      signal.throwIfAborted();
      const look = await this.#look();
      if (look.isDead || !this.isAlive) throw new Undelivered(`${name} has ended.`);
      const state = this.#stateOf(look);
      const isReady = state === "idle" || state === "ready" || (state === "busy" && kind.hearsWhileBusy);
      const mayType = isReady && canBeTypedTo(kind, look);
      if (mayType && (typed || !(await this.#isSomebodyTyping(look)))) return;
      const waited = performance.now() - began;
      if (state === "starting" && waited > START_MS)
        throw new Undelivered(`${name} was not ready after ${START_MS / 1000} s. Look: tx attach.`);
      // A program that never stops talking is spoken to in between.
      if (state === "busy" && kind.input === null && waited > TALKATIVE_MS) return;
      await this.#change(LOOK_MS);
    }
  }

  /** A person's half-typed line waits for the person; one that nobody is there for is cleared away. */
  async #isSomebodyTyping({ screen, isWatched }: Look): Promise<boolean> {
    const typed = inputOf(this.plan.kind, screen) ?? "";
    if (typed === "") return false;
    if (!isWatched) await this.#clear(screen.length);
    return true;
  }

  async #untilQuiet(): Promise<void> {
    const began = performance.now();
    const isLoud = () => performance.now() - this.#lastOutput < STILL_MS && performance.now() - began < ECHO_MS;
    while (isLoud() && this.isAlive) await this.#change(STILL_MS);
  }

  /** So many lines, and one more. */
  async #clear(lines: number): Promise<void> {
    const { kind } = this.plan;
    if (canBeTypedTo(kind, await this.#look())) await this.#paste(kind.clear.repeat(lines + 1));
  }

  async #until<T>(ms: number, find: (look: Look) => T | undefined): Promise<T | undefined> {
    const end = performance.now() + ms;
    for (;;) {
      const found = find(await this.#look());
      if (found !== undefined) return found;
      const left = end - performance.now();
      if (left <= 0 || !this.isAlive) return undefined;
      await this.#change(Math.min(left, LOOK_MS));
    }
  }

  /** Straight to the program, whatever a person's tmux shows just then. */
  async #paste(text: string, { whole = false } = {}): Promise<void> {
    const name = `tx-${process.pid}-${++pastes}`;
    const file = join(this.plan.dir, `${name}.paste`);
    // Gemini shows its input before it asks for pastes to be marked, and would take what comes meanwhile for keys: "?" and
    // line breaks are lost. Who has an input that we know knows the marks as well; of others tmux knows whether they do.
    const isMarked = whole && this.plan.kind.input !== null;
    await writeFile(file, isMarked ? `\x1b[200~${text}\x1b[201~` : text, { mode: 0o600 });
    const how = whole ? (isMarked ? [] : ["-p"]) : ["-r"];
    try {
      await this.#asking((client) => client.command("load-buffer", "-b", name, file));
      const client = this.#client;
      // As one paste, where the program knows such; keys are given as they are. Who is cut off just then does not know
      // whether it was done, and looks.
      await client.onPaneOf("paste-buffer", "-d", "-b", name, ...how).catch((error: unknown) => {
        if (!client.hasEnded) throw error;
      });
    } finally {
      await unlink(file).catch(() => {});
    }
  }

  async #look(): Promise<Look> {
    const [lines, screen] = await this.#asking((client) =>
      Promise.all([client.onPaneOf("display-message", "-p", PANE), client.onPaneOf("capture-pane", "-p")]),
    ).catch((): [string[], string[]] => [[this.isAlive ? "0 0 -  " : "1 0 -  "], []]);
    const [dead = "1", attached = "0", cursor = "", status = "", ...title] = (lines[0] ?? "").split(" ");
    return { screen, title: title.join(" "), isDead: dead === "1", status, cursor, isWatched: Number(attached) > 1 };
  }

  #attached(): ControlClient {
    const client = this.#server.attach(this.plan.name);
    client.onChange = () => {
      this.#lastOutput = performance.now();
      this.#hasSpoken = true;
      this.#changed();
    };
    client.onEnd = () => {
      this.#reattaching = this.#lost();
    };
    return client;
  }

  /** Once more where our client was sent away meanwhile: only for what may be done twice. */
  async #asking<T>(ask: (client: ControlClient) => Promise<T>): Promise<T> {
    for (;;) {
      const client = this.#client;
      try {
        return await ask(client);
      } catch (error) {
        if (!client.hasEnded) throw error;
        await this.#reattaching;
        if (this.#client === client) throw error;
      }
    }
  }

  #reattaching: Promise<void> = Promise.resolve();

  /** Our own client may have been killed; the session itself may be gone. */
  async #lost(): Promise<void> {
    if (this.#isClosed) return;
    const isThere = await this.#server.has(this.plan.name).catch(() => false);
    if (this.#isClosed) return;
    if (isThere) this.#client = this.#attached();
    else this.#enter("gone", "its terminal was closed");
    this.#wake();
  }

  #hear({ hook_event_name: name, prompt }: Hook): void {
    this.#lastHook = { name, at: performance.now() };
    if (prompt !== undefined) this.#prompts = [...this.#prompts.slice(-KEPT_PROMPTS), prompt];
    this.#changed();
  }

  #changed(): void {
    this.#wake();
    if (this.#looking || this.#isClosed) return;
    // A spinner turns ten times a second; nobody needs to look that often.
    this.#looking = setTimeout(() => {
      this.#looking = undefined;
      void this.#follow();
    }, FOLLOW_MS);
  }

  async #follow(): Promise<void> {
    const look = await this.#look();
    if (this.#isClosed || !this.isAlive) return;
    this.#lookLater();
    if (look.isDead) {
      this.#enter("dead", look.status === "" ? "it ended" : `it ended with ${look.status}`);
      return;
    }
    if (look.screen.some((line) => line !== "")) this.#hasSpoken = true;
    const state = this.#stateOf(look);
    if (state !== "starting") this.#enter(state);
    // Quiet is told by nobody.
    if (this.plan.kind.input === null && (state === "busy" || state === "starting")) this.#changed();
  }

  #later: NodeJS.Timeout | undefined;

  /** tmux 3.3a does not always tell its clients of a death; whoever looks every now and then knows it within 5 s. */
  #lookLater(): void {
    clearTimeout(this.#later);
    this.#later = setTimeout(() => this.#changed(), GLANCE_MS);
    this.#later.unref();
  }

  /** Hooks first, then the title, then the screen. */
  #stateOf(look: Look): SessionState {
    const { kind } = this.plan;
    const seen = seenState(kind, look);
    const since = this.#lastHook ? performance.now() - this.#lastHook.at : Number.POSITIVE_INFINITY;
    // The screen may be a moment behind.
    if (this.#lastHook?.name === "PermissionRequest" && since < HOOK_MS) return "dialog";
    if (this.#lastHook?.name === "UserPromptSubmit" && since < HOOK_MS && seen === "idle") return "busy";
    if (kind.input === null && seen === null) {
      const isQuiet = performance.now() - this.#lastOutput > QUIET_MS;
      const hasBegun = this.#hasSpoken || performance.now() - this.#opened > SILENT_START_MS;
      if (this.#state === "starting") return isQuiet && hasBegun ? "ready" : "starting";
      return isQuiet ? "idle" : "busy";
    }
    if (seen !== null) this.#unseenSince = undefined;
    if (seen === null) {
      // Nowhere to type, and nothing says why: something stands there that a person has to look at.
      this.#unseenSince ??= performance.now();
      const isLong = this.#state !== "starting" && performance.now() - this.#unseenSince > UNSEEN_MS;
      return isLong ? "dialog" : this.#state;
    }
    if (seen === "idle" && (this.#state === "starting" || this.#state === "ready")) {
      return this.#hooks && this.#lastHook === undefined && this.#state === "starting" ? "starting" : "ready";
    }
    return seen;
  }

  #enter(state: SessionState, detail?: string): void {
    if (this.#state === state || this.#state === "gone") return;
    this.#state = state;
    this.#onState(state, detail);
    this.#wake();
  }

  #change(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#waiting.push(() => {
      clearTimeout(timer);
      resolve();
    });
    return promise;
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** Buffers belong to the server: their names are unique over all sessions. */
let pastes = 0;

const PANE =
  "#{pane_dead} #{session_attached} #{cursor_x},#{cursor_y},#{history_size} #{pane_dead_status} #{pane_title}";

const MOST_TRIES = 4;
const START_MS = 60_000;
const ECHO_MS = 3_000;
const ACCEPT_MS = 6_000;
const SWALLOWED_MS = 1_500;
const HOOK_MS = 1_000;
const LOOK_MS = 250;
const FOLLOW_MS = 150;
const GLANCE_MS = 2_000;
const QUIET_MS = 300;
const UNSEEN_MS = 5_000;
const STILL_MS = 80;
/** A program that shows nothing at first is taken to be there after so long. */
const SILENT_START_MS = 2_000;
const TALKATIVE_MS = 10_000;
const KEPT_PROMPTS = 200;

/** W3. What a terminal would take for a key is no part of a text. */
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
