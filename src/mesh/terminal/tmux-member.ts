import type { MeshMessage } from "../files/mesh-message.ts";
import type { Member } from "../running/member.ts";
import type { SessionNotes } from "./session-notes.ts";
import type { SessionState } from "./session-state.ts";
import { type Patience, TaskWatch } from "./task-watch.ts";
import type { PreparedTerminal } from "./terminal-home.ts";
import { TERMINAL_KINDS, type TerminalKindName } from "./terminal-kind.ts";
import type { SessionInfo, TmuxServer } from "./tmux-server.ts";
import { TmuxSession } from "./tmux-session.ts";
import { Undelivered } from "./typist.ts";

/**
 * What an earlier session did with a message: nothing; it got the message; or it got it and its conversation continues
 * here.
 */
export type Before = null | "begun" | "resumed";

export interface TmuxMemberPorts {
  server: TmuxServer;
  /** `{mesh}-{agent}`. */
  session: string;
  kind: TerminalKindName;
  cwd: string;
  /**
   * Prepares the program's home, before every start, so that prompts and settings are up to date. Where the task of its
   * former session is not done, the conversation goes on, if it may and the program can.
   */
  prepare(mayResume: boolean): Promise<PreparedTerminal>;
  /** The file its hooks write to, for a session that runs already. */
  hooks: string | null;
  /** `before`: what an earlier session did with this message. */
  words(message: MeshMessage, before: Before): string;
  /** For `tx` in there. */
  notes: SessionNotes;
  now(): number;
  record(state: SessionState, detail?: string): void;
  /** Something waits for a person at its terminal; why, as the beginning of a sentence. */
  waitsForPerson(why: string): void;
  /** Whether this task is still active. */
  isActive(task: string): boolean;
  /** Its task has failed; why. */
  giveUp(why: string): Promise<void>;
  patience?: Patience;
  /** A program that dies later than this after its start had started. */
  atOnceMs?: number;
  /** Whether each task begins in a new session. */
  clearsBefore: boolean;
  /** Whether the terminal is left running when the member is closed: the runtime closes, and terminals outlive it. */
  isLeaving(): boolean;
  /** Resolves when the former member of this session has been closed. */
  before(): Promise<void>;
}

/**
 * A mesh agent that is a program in a terminal.
 *
 * TMUX-MEMBER-1. Delivered messages are noted with the session and deleted with it: after a crash of ours nothing is
 *     delivered twice, and a new session gets what the old one had.
 * TMUX-MEMBER-2. A session that has ended is started again by the next message.
 * TMUX-MEMBER-3. A session that dies before it got any message, at once or while one waits for it (in a dialog, say),
 *     is restarted at most twice. Then it is broken, which is reported with the reason, and it stays down until somebody
 *     starts it (`revive`).
 * TMUX-MEMBER-5. A session that ends while its task is active, alone or with the tmux server, is restarted and given
 *     its task, with its conversation if the program can resume it; after a few times it is broken, too.
 * TMUX-MEMBER-6. A program that stops working before its task has ended is reminded (task-watch.ts).
 * TMUX-MEMBER-7. If each task should begin with an empty context, a new task starts a new session.
 * TMUX-MEMBER-4. It ends its own session, and never one that somebody else has started under the same name.
 */
export class TmuxMember implements Member {
  readonly #ports: TmuxMemberPorts;
  #starting: Promise<TmuxSession> | undefined;
  #opening: Promise<TmuxSession> | undefined;
  #telling: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();
  #last: SessionState | undefined;
  #info: SessionInfo | undefined;
  /** When the program was started; undefined once it has heard something. */
  #startedAt: number | undefined;
  #stillborn = 0;
  #isTelling = false;
  /** How often it has ended while it worked on its task. */
  #deaths = 0;
  /** How its last session ended. */
  #howEnded = "it ended";
  #restart: NodeJS.Timeout | undefined;
  /** Why it is not begun any more; empty if it is. */
  #broken = "";
  readonly #watch: TaskWatch;

  constructor(ports: TmuxMemberPorts) {
    this.#ports = ports;
    this.#watch = new TaskWatch(
      {
        isSeen: TERMINAL_KINDS[ports.kind].input !== null,
        isActive: ports.isActive,
        isWaiting: () => ports.notes.isWaiting(),
        idle: async () => (await this.#opening?.catch(() => undefined))?.idle(),
        remind: (text, mark) => this.#remind(text, mark),
        giveUp: ports.giveUp,
        waitsForPerson: ports.waitsForPerson,
        dialogText: async () => (await (await this.#opening)?.lastLines()) ?? "",
      },
      ports.patience,
    );
  }

  /** Starts the program, or attaches to it if it runs already. Concurrent calls share one start. */
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

  /** Attaches to what an earlier process of ours has left running; starts nothing. */
  async attachIfRunning(): Promise<void> {
    const there = await this.#ports.server.find(this.#ports.session);
    if (there && !there.isDead && !this.#stop.signal.aborted) await this.start();
  }

  /** A person wants it to be started again. */
  revive(): Promise<TmuxSession> {
    this.#stillborn = 0;
    this.#deaths = 0;
    this.#broken = "";
    return this.start();
  }

  /** One after the other. */
  tell(message: MeshMessage): Promise<void> {
    const told = this.#telling.then(() => this.#tell(message));
    this.#telling = told.catch(() => {});
    return told;
  }

  async #tell(message: MeshMessage): Promise<void> {
    this.#isTelling = true;
    try {
      await this.#tellUntilHeard(message);
    } finally {
      this.#isTelling = false;
    }
  }

  async #tellUntilHeard(message: MeshMessage): Promise<void> {
    if (this.#ports.clearsBefore && message.header.type === "task") await this.#clearFor(message.name);
    for (;;) {
      const session = await this.start();
      try {
        await this.#tellIn(session, message);
        this.#startedAt = undefined;
        this.#stillborn = 0;
        this.#broken = "";
        this.#hasTold(message);
        // Its end may have been noticed before we knew that it had taken the message: it died at work, not at once.
        if (!session.isAlive) this.#ended(this.#howEnded);
        return;
      } catch (error) {
        // A program that died at once, before it heard anything, is started again: TMUX-MEMBER-3.
        const mayRestart = this.#startedAt !== undefined && !this.#stop.signal.aborted && (await session.hasEnded());
        if (!mayRestart || this.#stillborn === 0) throw error;
      }
    }
  }

  /** TMUX-MEMBER-7: ends a session that was told another task. Its notes outlive us, so it is known after a restart. */
  async #clearFor(task: string): Promise<void> {
    const last = this.#ports.notes.lastTold();
    if (last === undefined || last === task) return;
    const session = await this.#opening?.catch(() => undefined);
    session?.close();
    this.#opening = undefined;
    await this.#ports.server.kill(this.#ports.session, this.#info);
  }

  #hasTold({ name, header: { type } }: MeshMessage): void {
    const isTask = type === "task";
    if (isTask && this.#watch.task !== name) this.#deaths = 0;
    this.#watch.told(isTask ? name : undefined);
  }

  /** After what is being told now. A reminder that cannot be typed is not tried again: the next one will be. */
  #remind(text: string, mark: string): Promise<void> {
    const said = this.#telling.then(async () => {
      const session = await this.#opening?.catch(() => undefined);
      if (session?.isAlive && this.#watch.task !== undefined) await session.say(text, mark, this.#stop.signal);
    });
    this.#telling = said.catch(() => {});
    return this.#telling;
  }

  async #tellIn(session: TmuxSession, message: MeshMessage): Promise<void> {
    const name = encodeURIComponent(message.name);
    const told = (await session.note("told")).split(" ").filter((one) => one !== "");
    if (told.includes(name)) return;
    // A `tx ask --wait` in the terminal gets it already.
    const answers = message.header["in-reply-to"];
    const isAnswer = message.header.type === "ask-response" && answers !== undefined;
    if (isAnswer && this.#ports.notes.isAwaited(answers)) return;
    const isCutOff = (await session.note("telling")) === name;
    if (!isCutOff || !(await session.hasHeard(message.name))) {
      await session.setNote("telling", name);
      await session.say(this.#ports.words(message, this.#beforeOf(message)), message.name, this.#stop.signal, () => {
        const { notes, now } = this.#ports;
        notes.hears(now());
        if (message.header.type === "task") notes.tell(message.name, now());
      });
    }
    await session.setNote("told", [...told, name].slice(-KEPT).join(" "));
  }

  #beforeOf({ name }: MeshMessage): Before {
    const earlier = this.#ports.notes.earlier();
    if (earlier?.task !== name) return null;
    return earlier.isResumed ? "resumed" : "begun";
  }

  async close(): Promise<void> {
    this.#watch.close();
    clearTimeout(this.#restart);
    this.#stop.abort(new Undelivered(`${this.#ports.session} was closed.`));
    const session = await this.#opening?.catch(() => undefined);
    session?.close();
    if (this.#ports.isLeaving()) return;
    // TMUX-MEMBER-4. If it never attached, it ends what an earlier process of ours has left running.
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
      if (this.#broken !== "") throw new Undelivered(this.#broken);
      this.#say("starting");
      // A conversation that cannot be resumed, or that kills the program, is not tried again.
      const prepared = await this.#ports.prepare(this.#stillborn === 0);
      hooks = prepared.hooks;
      this.#startedAt = performance.now();
      this.#info = await server.start(name, { argv: prepared.argv, env: prepared.env, cwd });
    }
    const blocked = (why: string) => this.#ports.waitsForPerson(`${why}, and a message waits to be delivered. `);
    return TmuxSession.open(server, { name, kind: TERMINAL_KINDS[kind], hooks, blocked }, (state, detail) => {
      this.#say(state, detail);
      this.#watch.entered(state);
      if (state !== "dead" && state !== "gone") return;
      this.#howEnded = detail ?? "it ended";
      this.#ended(this.#howEnded);
    });
  }

  #ended(how: string): void {
    if (this.#stop.signal.aborted) return;
    if (this.#startedAt === undefined) this.#diedAtWork(how);
    else this.#diedAtOnce(how, this.#startedAt);
  }

  /** TMUX-MEMBER-5. */
  #diedAtWork(how: string): void {
    const { task } = this.#watch;
    if (task === undefined) return;
    if (++this.#deaths > MOST_RESTARTS) {
      this.#broken = `It ended ${this.#deaths} times while it worked on ${task}; the last time: ${how}.`;
      this.#say("broken", this.#broken);
      return;
    }
    // It is told its task because it was begun anew.
    const again = () => void this.start().catch((error: unknown) => this.#diedAtWork(textOf(error)));
    this.#restart = setTimeout(again, RESTART_MS * 2 ** (this.#deaths - 1));
    this.#restart.unref();
  }

  /** TMUX-MEMBER-3. */
  #diedAtOnce(how: string, startedAt: number): void {
    const isAtOnce = performance.now() - startedAt < (this.#ports.atOnceMs ?? AT_ONCE_MS);
    this.#stillborn = isAtOnce || this.#isTelling ? this.#stillborn + 1 : 0;
    if (this.#stillborn < MOST_STILLBORN) return;
    const when = isAtOnce ? "It died at once" : "It ended before it took a message";
    this.#broken = `${when}, ${MOST_STILLBORN} times: ${how}.`;
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
const MOST_RESTARTS = 3;
/** Doubled each time. */
const RESTART_MS = 1_000;
/** A program that dies later than this had started. */
const AT_ONCE_MS = 30_000;

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
