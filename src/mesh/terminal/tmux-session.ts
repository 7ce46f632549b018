import { type Hook, HookFile } from "./hook-file.ts";
import { OpeningQuestion } from "./opening-question.ts";
import { PaneConnection } from "./pane-connection.ts";
import type { PaneView } from "./pane-view.ts";
import { type SessionState, SessionStateReader } from "./session-state.ts";
import type { IdleProgram } from "./task-watch.ts";
import { inputOf, type TerminalKind } from "./terminal-kind.ts";
import { NoTmux, type TmuxServer } from "./tmux-server.ts";
import { Typist, Undelivered } from "./typist.ts";
import { UnsentInput } from "./unsent-input.ts";

export interface SessionPlan {
  name: string;
  kind: TerminalKind;
  /** The file that the program's hooks write to, if it has hooks. */
  hooks: string | null;
  /** Something has waited for a person there for a long time; why, in words. */
  blocked(why: string): void;
}

/**
 * One program in its terminal: follows its state and types to it.
 *
 * TMUX-SESSION-1. Its death is reported within 5 s: usually by tmux; we also check every four seconds.
 * TMUX-SESSION-2. The reported state is the visible one: by hooks first, then by the title, then by the screen.
 */
export class TmuxSession {
  readonly plan: SessionPlan;
  readonly #server: TmuxServer;
  readonly #pane: PaneConnection;
  readonly #reader: SessionStateReader;
  readonly #typist: Typist;
  readonly #unsentInput = new UnsentInput();
  readonly #opening: OpeningQuestion;
  readonly #onState: (state: SessionState, detail?: string) => void;
  #hooks: HookFile | undefined;
  #state: SessionState = "starting";
  /** What the program said by its hooks that it was given. */
  #prompts: string[] = [];
  #waiting: (() => void)[] = [];
  #nextLook: NodeJS.Timeout | undefined;
  #regularLook: NodeJS.Timeout | undefined;
  #speaking: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  private constructor(server: TmuxServer, plan: SessionPlan, onState: (state: SessionState, detail?: string) => void) {
    const { name, kind } = plan;
    this.#server = server;
    this.plan = plan;
    this.#onState = onState;
    this.#opening = new OpeningQuestion(kind);
    this.#reader = new SessionStateReader(kind, plan.hooks !== null);
    this.#pane = new PaneConnection(server, name, {
      onOutput: () => {
        this.#reader.onOutput();
        this.#changed();
      },
      onClientEnded: (isThere) => {
        if (!isThere) this.#enter("gone", "its terminal was closed");
        this.#wake();
      },
    });
    this.#typist = new Typist({
      ...{ name, kind, unsentInput: this.#unsentInput },
      look: () => this.#look(),
      stateOf: (view) => this.#reader.stateOf(view, this.#state),
      isAlive: () => this.isAlive,
      change: (ms) => this.#change(ms),
      quietMs: () => this.#reader.quietMs(),
      hooks: () => this.#hooks !== undefined,
      hasTaken: (mark) => this.#wasGiven(mark),
      readHooks: async () => this.#hooks?.read(),
      paste: (text, how) => this.#paste(text, how),
      blocked: (why) => plan.blocked(why),
    });
  }

  /** Attaches to a session that is there. */
  static async open(
    server: TmuxServer,
    plan: SessionPlan,
    onState: (state: SessionState, detail?: string) => void,
  ): Promise<TmuxSession> {
    const session = new TmuxSession(server, plan, onState);
    if (plan.hooks !== null) {
      session.#hooks = new HookFile(plan.hooks, (hook) => session.#onHook(hook));
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

  /** Looks whether the program has ended; `onState` is called before this resolves. */
  async hasEnded(): Promise<boolean> {
    if (this.isAlive) await this.#follow();
    return !this.isAlive;
  }

  /** Keeps a value with the session; it is gone with the session. */
  setNote(name: string, value: string): Promise<void> {
    return this.#pane.setNote(name, value);
  }

  note(name: string): Promise<string> {
    return this.#pane.note(name);
  }

  /** What is seen of it if it does nothing now; undefined if it works, asks something, or has ended. */
  async idle(): Promise<IdleProgram | undefined> {
    await this.#hooks?.read();
    const view = await this.#look();
    if (view.isDead || !this.isAlive) return undefined;
    const state = this.#reader.stateOf(view, this.#state);
    if (state !== "idle" && state !== "ready") return undefined;
    const isAttended = view.isWatched && view.now - view.keys < ATTENDED_S;
    return { stop: this.#reader.stop, quietMs: this.#reader.quietMs(), isAttended };
  }

  /** The last lines on its screen. */
  async lastLines(): Promise<string> {
    const { screen } = await this.#look();
    const lines = screen.map((line) => line.replace(/[─━│┃╭╮╰╯▄▀]+/gu, " ").trim()).filter((line) => line !== "");
    return lines.slice(-SHOWN_LINES).join("\n");
  }

  /** Whether it was given something with these words in it, as far as can be seen. */
  async hasHeard(mark: string): Promise<boolean> {
    await this.#hooks?.read();
    if (this.#wasGiven(mark)) return true;
    if (this.#hooks) return false;
    const { screen } = await this.#look();
    return screen.join("").includes(mark) && (inputOf(this.plan.kind, screen) ?? "") === "";
  }

  /** One after the other. `mark` is a part of the text that nothing else has. */
  say(text: string, mark: string, signal: AbortSignal, before?: () => void): Promise<void> {
    const said = this.#speaking.then(() => this.#typist.say(text, mark, signal, before));
    this.#speaking = said.catch(() => {});
    return said;
  }

  /** Leaves the terminal as it is. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#nextLook);
    clearTimeout(this.#regularLook);
    this.#hooks?.close();
    this.#pane.close();
    this.#wake();
  }

  #wasGiven(mark: string): boolean {
    return this.#prompts.some((prompt) => prompt.includes(mark));
  }

  async #paste(text: string, how: { whole: boolean }): Promise<void> {
    const { name, kind } = this.plan;
    // Gemini shows its input before it asks for pastes to be marked, and until then takes a paste for keys: "?" and line
    // breaks are lost. Programs whose input line we know understand the marks; for others tmux knows whether they do.
    const isMarked = how.whole && kind.input !== null;
    const pasted = isMarked ? `\x1b[200~${text}\x1b[201~` : text;
    const isTaken = await this.#server
      .paste(name, pasted, isMarked ? "raw" : how.whole ? "whole" : "keys")
      .catch(async (error: unknown) => {
        if (error instanceof NoTmux) throw error;
        // Whether it was pasted is not known: the typist looks for it on the screen.
        return this.#server.has(name).catch(() => true);
      });
    if (isTaken) return;
    this.#changed();
    throw new Undelivered(`${name} has ended.`);
  }

  async #look(): Promise<PaneView> {
    const view = await this.#pane.look();
    if (!view) return { ...NOTHING_KNOWN, isDead: !this.isAlive };
    this.#unsentInput.see(view);
    return view;
  }

  #onHook({ hook_event_name: name, prompt }: Hook): void {
    this.#reader.onHook(name);
    if (prompt !== undefined) this.#prompts = [...this.#prompts.slice(-KEPT_PROMPTS), prompt];
    this.#changed();
  }

  #changed(): void {
    this.#wake();
    if (this.#nextLook || this.#isClosed) return;
    // A spinner turns ten times a second; looking less often is enough.
    this.#nextLook = setTimeout(() => {
      this.#nextLook = undefined;
      void this.#follow();
    }, FOLLOW_MS);
  }

  async #follow(): Promise<void> {
    const view = await this.#look();
    if (this.#isClosed || !this.isAlive) return;
    this.#lookRegularly();
    if (view.isDead) {
      // tmux moves the screen up to show that the program has ended; its last words may be above it.
      const lines = await this.#pane.lastLines();
      // A pane is dead when its output ends; with which status is known a moment later.
      const { status } = view.status === "" ? await this.#look() : view;
      if (!this.#isClosed && this.isAlive) this.#enter("dead", endText(status, lines));
      return;
    }
    if (view.screen.some((line) => line !== "")) this.#reader.onScreen();
    if (this.#opening.isThere(view.screen, this.#state)) {
      if (this.#opening.isDue(performance.now())) await this.#paste("\r", { whole: false }).catch(() => {});
      return;
    }
    const state = this.#reader.stateOf(view, this.#state);
    if (state !== "starting") this.#enter(state);
    // Nothing tells us that a program has become quiet.
    if (this.plan.kind.input === null && (state === "busy" || state === "starting")) this.#changed();
  }

  /** TMUX-SESSION-1: tmux 3.3a does not always tell its clients that a program has ended. */
  #lookRegularly(): void {
    clearTimeout(this.#regularLook);
    this.#regularLook = setTimeout(() => this.#changed(), REGULAR_LOOK_MS);
    this.#regularLook.unref();
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

/** How the program ended, and the last line that it left. */
function endText(status: string, screen: readonly string[]): string {
  const how = status === "" ? "it ended" : `it ended with ${status}`;
  // The very last line is from tmux.
  const last = screen.filter((line) => line.trim() !== "" && !line.startsWith("Pane is dead")).at(-1);
  return last === undefined ? how : `${how}; its last line: ${last.trim().slice(0, 160)}`;
}

/** While our client comes back. */
const NOTHING_KNOWN: PaneView = {
  screen: [],
  title: "",
  isDead: false,
  status: "",
  cursor: "-",
  width: 0,
  isWatched: false,
  keys: 0,
  now: 0,
};

const FOLLOW_MS = 150;
/** Anyone who typed within this time is taken to be there still. */
const ATTENDED_S = 300;
const SHOWN_LINES = 12;
/** For twenty idle terminals, every two seconds would take more than one percent of a core. */
const REGULAR_LOOK_MS = 4_000;
const KEPT_PROMPTS = 200;
