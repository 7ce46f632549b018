import { type Hook, HookFile } from "./hook-file.ts";
import type { PaneView } from "./pane-view.ts";
import type { SessionState } from "./session-state.ts";
import { inputOf, seenState, type TerminalKind } from "./terminal-kind.ts";
import type { TmuxClient } from "./tmux-client.ts";
import { NoTmux, type TmuxServer } from "./tmux-server.ts";
import { Typist, Undelivered } from "./typist.ts";
import { UnsentInput } from "./unsent-input.ts";

export interface SessionPlan {
  name: string;
  kind: TerminalKind;
  /** Where the program's hooks write, where it has such. */
  hooks: string | null;
  /** Something waits there for a person, since long; why, in words. */
  kept(why: string): void;
}

/**
 * One program in its terminal, as we sit before it.
 *
 * TMUX-SESSION-1. Its death is told within 5 s: by tmux as a rule, and whoever looks every two seconds does not depend
 *     on it.
 * TMUX-SESSION-2. What was told of it is what is seen: hooks first, then the title, then the screen.
 */
export class TmuxSession {
  readonly plan: SessionPlan;
  readonly #server: TmuxServer;
  #client: TmuxClient;
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
  readonly #unsentInput = new UnsentInput();
  readonly #typist: Typist;

  private constructor(server: TmuxServer, plan: SessionPlan, onState: (state: SessionState, detail?: string) => void) {
    this.#server = server;
    this.plan = plan;
    this.#onState = onState;
    this.#client = this.#attached();
    this.#typist = new Typist({
      ...{ name: plan.name, kind: plan.kind, half: this.#unsentInput },
      look: () => this.#look(),
      stateOf: (look) => this.#stateOf(look),
      isAlive: () => this.isAlive,
      change: (ms) => this.#change(ms),
      quietMs: () => performance.now() - this.#lastOutput,
      hooks: () => this.#hooks !== undefined,
      hasTaken: (mark) => this.#prompts.some((prompt) => prompt.includes(mark)),
      readHooks: async () => this.#hooks?.read(),
      paste: (text, how) => this.#paste(text, how),
      kept: (why) => plan.kept(why),
    });
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

  /** Whether it has ended, by a look at it; whoever follows it is told before this resolves. */
  async hasEnded(): Promise<boolean> {
    if (this.isAlive) await this.#follow();
    return !this.isAlive;
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
  say(text: string, mark: string, signal: AbortSignal, before?: () => void): Promise<void> {
    const said = this.#speaking.then(() => this.#typist.say(text, mark, signal, before));
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

  async #paste(text: string, how: { whole: boolean }): Promise<void> {
    const { name, kind } = this.plan;
    // Gemini shows its input before it asks for pastes to be marked, and would take what comes meanwhile for keys: "?" and
    // line breaks are lost. Who has an input that we know knows the marks as well; of others tmux knows whether they do.
    const isMarked = how.whole && kind.input !== null;
    const pasted = isMarked ? `\x1b[200~${text}\x1b[201~` : text;
    const isTaken = await this.#server
      .paste(name, pasted, isMarked ? "raw" : how.whole ? "whole" : "keys")
      .catch(async (error: unknown) => {
        if (error instanceof NoTmux) throw error;
        // Whoever does not know whether it was done looks whether it is there.
        return this.#server.has(name).catch(() => true);
      });
    if (isTaken) return;
    this.#changed();
    throw new Undelivered(`${name} has ended.`);
  }

  async #look(): Promise<PaneView> {
    const [lines, screen] = await this.#asking((client) =>
      Promise.all([client.onPaneOf("display-message", "-p", PANE), client.onPaneOf("capture-pane", "-p")]),
    ).catch((): [string[], string[]] => [[], []]);
    // Nothing is known while our client comes back.
    const [line = `${this.isAlive ? 0 : 1} 0 0 0 0 -  `] = lines;
    const [dead, attached, now, keys, width, cursor = "", status = "", ...title] = line.split(" ");
    const times = { now: Number(now), keys: Number(keys) };
    const is = { isDead: dead === "1", isWatched: Number(attached) > 1, width: Number(width), ...times };
    const look = { screen, title: title.join(" "), status, cursor, ...is };
    if (lines.length > 0) this.#unsentInput.see(look);
    return look;
  }

  #attached(): TmuxClient {
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
  async #asking<T>(ask: (client: TmuxClient) => Promise<T>): Promise<T> {
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
      // tmux moves the screen up to say so, and what was said last may be above it.
      const screen = await this.#asking((client) => client.onPaneOf("capture-pane", "-p", "-S", "-5")).catch(() => []);
      if (!this.#isClosed && this.isAlive) this.#enter("dead", endWords(look.status, screen));
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
  #stateOf(look: PaneView): SessionState {
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

/** How it ended, and the last line that it left. */
function endWords(status: string, screen: readonly string[]): string {
  const how = status === "" ? "it ended" : `it ended with ${status}`;
  // The very last line is of tmux.
  const last = screen.filter((line) => line.trim() !== "" && !line.startsWith("Pane is dead")).at(-1);
  return last === undefined ? how : `${how}; its last line: ${last.trim().slice(0, 160)}`;
}

const PANE =
  "#{pane_dead} #{session_attached} %s #{session_activity} #{pane_width} #{cursor_x},#{cursor_y},#{history_size} #{pane_dead_status} #{pane_title}";

/** The screen may be a moment behind the hooks. */
const HOOK_MS = 1_000;
const FOLLOW_MS = 150;
const GLANCE_MS = 2_000;
const QUIET_MS = 300;
const UNSEEN_MS = 5_000;
/** A program that shows nothing at first is taken to be there after so long. */
const SILENT_START_MS = 2_000;
const KEPT_PROMPTS = 200;
