import type { Member } from "../engine/member.ts";
import type { MeshMessage } from "../files/mesh-message.ts";
import type { SessionNotes } from "./session-notes.ts";
import type { SessionState } from "./session-state.ts";
import type { Prepared } from "./terminal-home.ts";
import { TERMINAL_KINDS, type TerminalKindName } from "./terminal-kind.ts";
import type { SessionInfo, TmuxServer } from "./tmux-server.ts";
import { TmuxSession } from "./tmux-session.ts";
import { Undelivered } from "./typist.ts";

export interface TmuxMemberPorts {
  server: TmuxServer;
  /** `{mesh}-{agent}`. */
  session: string;
  kind: TerminalKindName;
  cwd: string;
  /** Its home made ready: before every start, so that prompts and settings are as they are then. */
  prepare(): Promise<Prepared>;
  /** Where its hooks write, for a session that is there already. */
  hooks: string | null;
  words(message: MeshMessage): string;
  /** For `tx` in there. */
  notes: SessionNotes;
  now(): number;
  record(state: SessionState, detail?: string): void;
  /** Something waits for a person at its terminal, since long. */
  kept(why: string): void;
  /** Whether what runs is left running when it is let go: the house closes, and the terminals outlive it. */
  isLeaving(): boolean;
  /** Resolves when whoever had this session before has let go of it. */
  before(): Promise<void>;
}

/**
 * A mesh agent that is a program in a terminal.
 *
 * TMUX-MEMBER-1. What it has been told is noted with its session, and gone with it: whoever comes after a crash of ours
 *     tells it nothing twice, and one that was begun anew is told what the old one had.
 * TMUX-MEMBER-2. One that has ended is begun anew by the next message.
 * TMUX-MEMBER-3. One that dies at once, before it has heard anything, is begun again at most twice; then it is broken,
 *     which is said with the reason, and it rests until somebody begins it (`revive`).
 * TMUX-MEMBER-4. It ends the session that it had, and never one that somebody else has begun under the same name.
 */
export class TmuxMember implements Member {
  readonly #ports: TmuxMemberPorts;
  #starting: Promise<TmuxSession> | undefined;
  #opening: Promise<TmuxSession> | undefined;
  #telling: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();
  #last: SessionState | undefined;
  #info: SessionInfo | undefined;
  /** Since when, as long as it has heard nothing. */
  #begun: number | undefined;
  #stillborn = 0;

  constructor(ports: TmuxMemberPorts) {
    this.#ports = ports;
  }

  /** Begins it, or sits down before it where it runs already: whoever asks meanwhile gets the same. */
  start(): Promise<TmuxSession> {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #start(): Promise<TmuxSession> {
    const session = await this.#opening?.catch(() => undefined);
    if (session?.isAlive) return session;
    session?.close();
    this.#opening = this.#open();
    return this.#opening;
  }

  /** Sits down before what an earlier process of ours has left running; begins nothing. */
  async attachIfRunning(): Promise<void> {
    const there = await this.#ports.server.find(this.#ports.session);
    if (there && !there.isDead && !this.#stop.signal.aborted) await this.start();
  }

  /** Somebody wants it to be tried again. */
  revive(): Promise<TmuxSession> {
    this.#stillborn = 0;
    return this.start();
  }

  /** One after the other. */
  tell(message: MeshMessage): Promise<void> {
    const told = this.#telling.then(() => this.#tell(message));
    this.#telling = told.catch(() => {});
    return told;
  }

  async #tell(message: MeshMessage): Promise<void> {
    for (;;) {
      const session = await this.start();
      try {
        await this.#tellIn(session, message);
        this.#begun = undefined;
        this.#stillborn = 0;
        return;
      } catch (error) {
        // Whoever died at once, before it heard anything, is begun again: TMUX-MEMBER-3.
        const mayBegin = this.#begun !== undefined && !this.#stop.signal.aborted && (await session.hasEnded());
        if (!mayBegin || this.#stillborn === 0) throw error;
      }
    }
  }

  async #tellIn(session: TmuxSession, message: MeshMessage): Promise<void> {
    const name = encodeURIComponent(message.name);
    const told = (await session.noted("told")).split(" ").filter((one) => one !== "");
    if (told.includes(name)) return;
    // Who waits for it in there has it already.
    const answers = message.header["in-reply-to"];
    const isAnswer = message.header.type === "ask-response" && answers !== undefined;
    if (isAnswer && this.#ports.notes.isAwaited(answers)) return;
    const isCutOff = (await session.noted("telling")) === name;
    if (!isCutOff || !(await session.hasHeard(message.name))) {
      await session.note("telling", name);
      await session.say(this.#ports.words(message), message.name, this.#stop.signal, () => {
        const { notes, now } = this.#ports;
        if (message.header.type === "task") notes.tell(message.name, now());
      });
    }
    await session.note("told", [...told, name].slice(-KEPT).join(" "));
  }

  async close(): Promise<void> {
    this.#stop.abort(new Undelivered(`${this.#ports.session} was closed.`));
    const session = await this.#opening?.catch(() => undefined);
    session?.close();
    if (this.#ports.isLeaving()) return;
    // TMUX-MEMBER-4. Who never sat down before it ends what an earlier process of ours has left.
    await this.#ports.server.kill(this.#ports.session, this.#info);
    this.#say("gone", "it was closed");
  }

  async #open(): Promise<TmuxSession> {
    await this.#ports.before();
    this.#stop.signal.throwIfAborted();
    const { server, session: name, kind, cwd } = this.#ports;
    let { hooks } = this.#ports;
    const there = await server.find(name);
    if (there && !there.isDead) this.#info = there;
    else {
      if (this.#stillborn >= MOST_STILLBORN) throw new Undelivered(this.#broken);
      this.#say("starting");
      const prepared = await this.#ports.prepare();
      hooks = prepared.hooks;
      this.#begun = performance.now();
      this.#info = await server.start(name, { argv: prepared.argv, env: prepared.env, cwd });
    }
    const { kept } = this.#ports;
    return TmuxSession.open(server, { name, kind: TERMINAL_KINDS[kind], hooks, kept }, (state, detail) => {
      this.#say(state, detail);
      if (state === "dead" || state === "gone") this.#ended(detail ?? "it ended");
    });
  }

  #broken = "";

  /** TMUX-MEMBER-3. */
  #ended(how: string): void {
    if (this.#begun === undefined || this.#stop.signal.aborted) return;
    const isAtOnce = performance.now() - this.#begun < AT_ONCE_MS;
    this.#stillborn = isAtOnce ? this.#stillborn + 1 : 0;
    if (this.#stillborn < MOST_STILLBORN) return;
    this.#broken = `It died at once, ${MOST_STILLBORN} times: ${how}.`;
    this.#say("broken", this.#broken);
  }

  #say(state: SessionState, detail?: string): void {
    if (this.#last === state) return;
    this.#last = state;
    this.#ports.record(state, detail);
  }
}

const KEPT = 200;
const MOST_STILLBORN = 3;
/** Who dies later than that had begun. */
const AT_ONCE_MS = 30_000;
