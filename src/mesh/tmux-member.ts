import type { Letter } from "./letter.ts";
import type { Member } from "./meshes.ts";
import type { Prepared } from "./terminal-home.ts";
import { TERMINAL_KINDS, type TerminalKindName } from "./terminal-kind.ts";
import type { TmuxServer } from "./tmux-server.ts";
import { type SessionState, TmuxSession, Undelivered } from "./tmux-session.ts";

export interface TmuxMemberPorts {
  server: TmuxServer;
  /** `{mesh}-{agent}`. */
  session: string;
  kind: TerminalKindName;
  cwd: string;
  /** The session's own folder. */
  dir: string;
  /** Its home made ready: before every start, so that prompts and settings are as they are then. */
  prepare(): Promise<Prepared>;
  /** Where its hooks write, for a session that is there already. */
  hooks: string | null;
  words(letter: Letter): string;
  record(state: SessionState, detail?: string): void;
  /** Whether what runs is left running when it is let go: the house closes, and the terminals outlive it. */
  isLeaving(): boolean;
}

/**
 * A mesh agent that is a program in a terminal.
 *
 * B1. What it has been told is noted with its session, and gone with it: whoever comes after a crash of ours tells it
 *     nothing twice, and one that was begun anew is told what the old one had.
 * B2. One that has ended is begun anew by the next letter.
 */
export class TmuxMember implements Member {
  readonly #ports: TmuxMemberPorts;
  #opening: Promise<TmuxSession> | undefined;
  #telling: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();
  #last: SessionState | undefined;

  constructor(ports: TmuxMemberPorts) {
    this.#ports = ports;
  }

  /** What is known of it, if it was begun here. */
  get state(): SessionState | undefined {
    return this.#last;
  }

  /** Begins it, or sits down before it where it runs already. */
  async start(): Promise<TmuxSession> {
    const session = await this.#opening?.catch(() => undefined);
    if (session?.isAlive) return session;
    session?.close();
    this.#opening = this.#open();
    return this.#opening;
  }

  /** One after the other. */
  tell(letter: Letter): Promise<void> {
    const told = this.#telling.then(() => this.#tell(letter));
    this.#telling = told.catch(() => {});
    return told;
  }

  async #tell(letter: Letter): Promise<void> {
    const session = await this.start();
    const name = encodeURIComponent(letter.name);
    const told = (await session.noted("told")).split(" ").filter((one) => one !== "");
    if (told.includes(name)) return;
    const isCutOff = (await session.noted("telling")) === name;
    if (!isCutOff || !(await session.hasHeard(letter.name))) {
      await session.note("telling", name);
      await session.say(this.#ports.words(letter), letter.name, this.#stop.signal);
    }
    await session.note("told", [...told, name].slice(-KEPT).join(" "));
  }

  async close(): Promise<void> {
    this.#stop.abort(new Undelivered(`${this.#ports.session} was closed.`));
    const session = await this.#opening?.catch(() => undefined);
    session?.close();
    if (this.#ports.isLeaving()) return;
    await this.#ports.server.kill(this.#ports.session);
    this.#say("gone", "it was closed");
  }

  async #open(): Promise<TmuxSession> {
    const { server, session: name, kind, dir, cwd } = this.#ports;
    let { hooks } = this.#ports;
    if (!(await this.#isRunning())) {
      this.#say("starting");
      const prepared = await this.#ports.prepare();
      hooks = prepared.hooks;
      await server.start(name, { argv: prepared.argv, env: prepared.env, cwd });
    }
    const plan = { name, kind: TERMINAL_KINDS[kind], dir, hooks };
    return TmuxSession.open(server, plan, (state, detail) => this.#say(state, detail));
  }

  async #isRunning(): Promise<boolean> {
    const { server, session } = this.#ports;
    return (await server.alive()).includes(session);
  }

  #say(state: SessionState, detail?: string): void {
    if (this.#last === state) return;
    this.#last = state;
    this.#ports.record(state, detail);
  }
}

const KEPT = 200;
