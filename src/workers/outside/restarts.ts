import type { Binds } from "../../sandbox/binds/binds.ts";
import { SandboxFailure } from "../../sandbox/sandbox-failure.ts";
import { programHome } from "../../store/paths.ts";
import type { Tools } from "../../tools/toolbox.ts";
import { resumeText, unheardResults } from "./first-words.ts";
import type { ProgramStartup } from "./program-assignment.ts";
import { modelFor, sessionKey } from "./programs.ts";
import type { ConfinedProgram } from "./session/program-ports.ts";
import type { OutsideEvent, OutsideSession, SessionSetup } from "./session/session.ts";
import type { Transcript } from "./transcript.ts";

type Exited = Extract<OutsideEvent, { kind: "exited" }>;

const MOST_STARTS = 3;
const MOST_EARLY_EXITS = 2;

/**
 * The processes of a program on one assignment: it is started, it exits, its session is resumed by the next process.
 *
 * PROGRAM-RESTART-1. A session is lost when the program says so, or has exited twice in a row before it had begun. After
 *     any other early exit the session is resumed again: a new session would repeat what was done.
 * PROGRAM-RESTART-2. The next process begins with all that was said and may not have been heard, as it is on record
 *     when that process begins.
 * PROGRAM-RESTART-3. A program that exits after it has begun is restarted as often as its assignment says.
 * PROGRAM-RESTART-4. A program that was ended because it rested is resumed by what is said to it next, and that counts as
 *     no restart.
 */
export class Restarts {
  readonly #startup: ProgramStartup;
  readonly #transcript: Transcript;
  readonly #tools: Tools;
  #setup: SessionSetup | undefined;
  #session: OutsideSession | undefined;
  #running: ConfinedProgram | undefined;
  #hasBegun = false;
  #isLost = false;
  #isAway = false;
  #omitted: string[] = [];
  /** In a row. */
  #earlyExits = 0;
  /** In a row. */
  #restarts = 0;

  constructor(startup: ProgramStartup, { transcript, tools }: { transcript: Transcript; tools: Tools }) {
    this.#startup = startup;
    this.#transcript = transcript;
    this.#tools = tools;
  }

  /** That of the process that runs now, or ran last. */
  get session(): OutsideSession | undefined {
    return this.#session;
  }

  get isConfined(): boolean {
    return this.#running?.sandbox !== "unsafe";
  }

  /** It would be restarted if it exited now, in the middle of its work. */
  get hasMore(): boolean {
    return this.#restarts < this.#startup.assignment.restarts;
  }

  /** It was ended because it rested, and is resumed by `comeBack`. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** Whether its session can be resumed after it was ended. */
  get canLeave(): boolean {
    return !this.#isAway && this.#hasBegun && this.#sessionId !== null && this.#session?.canBeResumed?.() === true;
  }

  async leave(): Promise<void> {
    this.#isAway = true;
    await this.#session?.close();
  }

  /** Resumes its session with these words. */
  comeBack(words: string): Promise<OutsideSession> {
    if (!this.#setup) throw new Error("a program that was never started cannot be resumed");
    this.#isAway = false;
    return this.#open({ ...this.#setup, words, resume: this.#sessionId });
  }

  start(system: string, words: string): Promise<OutsideSession> {
    const { profile, assignment } = this.#startup;
    const { spawned, context, assigned, cwd, scratch, resume } = assignment;
    return this.#open({
      profile,
      system,
      words,
      resume,
      model: modelFor(spawned),
      context,
      assigned,
      cwd,
      ...(scratch !== undefined && { scratch }),
      home: this.home,
      named: (session_id) => this.#recordSession(session_id),
      start: (launch) => this.#start(launch),
    });
  }

  /** It has begun; the id of its session, if it has such. */
  async begun(session_id: string | null): Promise<void> {
    this.#hasBegun = true;
    this.#earlyExits = 0;
    if (session_id !== null) await this.#recordSession(session_id);
  }

  /** It says that the session cannot be resumed. */
  sessionLost(): void {
    this.#isLost = true;
  }

  /** It works: only restarts in a row count. */
  madeProgress(): void {
    this.#restarts = 0;
  }

  /** It exited; resolves when that is on record, with whether `restart` is to be called. */
  async exited({ code, signal, exceeded }: Exited): Promise<boolean> {
    const { worker_id, node_id } = this.#startup.assignment.self;
    const pid = this.#running?.pid ?? 0;
    const data = { worker_id, node_id, pid, code, signal, ...(this.#isAway && { rested: true }) };
    await this.#transcript.note({ type: "process.exited", data });
    return this.#isEarly || (exceeded === null && this.hasMore);
  }

  /** Resumes the session or, if it is lost, begins another one with all that it needs to know. */
  async restart(): Promise<OutsideSession> {
    const { assignment } = this.#startup;
    if (!this.#setup) throw new Error("a program that was never started cannot be restarted");
    if (this.#isEarly) this.#earlyExits += 1;
    else this.#restarts += 1;
    const isLost = this.#isEarly && (this.#isLost || this.#earlyExits >= MOST_EARLY_EXITS);
    await this.#transcript.cutOff((tool) => this.#tools.specs.some(({ name }) => name === tool));
    const past = await assignment.past();
    const told = unheardResults(past, this.#tools);
    const resume = isLost ? null : this.#sessionId;
    const words = resume === null ? await assignment.newSessionText(past, told) : resumeText(past, told);
    return this.#open({ ...this.#setup, words, resume });
  }

  /** It exited before it had resumed its session: this process has done nothing. */
  get #isEarly(): boolean {
    return !this.#hasBegun && this.#setup !== undefined && this.#setup.resume !== null;
  }

  /** The program's own home. */
  get home(): string {
    const { workplace, assignment } = this.#startup;
    return programHome(workplace.log.dir, assignment.run_id, assignment.self.worker_id);
  }

  async #open(setup: SessionSetup): Promise<OutsideSession> {
    const { profile, workplace, signal } = this.#startup;
    this.#setup = setup;
    this.#hasBegun = false;
    this.#isLost = false;
    const adapter = await workplace.outside.adapter(profile.kind);
    await workplace.outside.makeHome(profile, this.home, "confined", workplace.now().agent.created.project);
    signal.throwIfAborted();
    this.#session = await adapter(setup);
    this.#transcript.thinks();
    return this.#session;
  }

  async #start(launch: Parameters<SessionSetup["start"]>[0]): Promise<ConfinedProgram> {
    const { profile, assignment } = this.#startup;
    const { worker_id, node_id } = assignment.self;
    const running = await this.#startConfined(launch);
    this.#running = running;
    const { pid, sandbox } = running;
    const command = profile.command.join(" ");
    const omitted = this.#omitted;
    const data = { worker_id, node_id, pid, command, sandbox, ...(omitted.length > 0 && { omitted }) };
    await this.#transcript.note({ type: "process.started", data });
    return running;
  }

  /** What it may see is looked up again for each try: a colleague may publish, by a rename, while it is being bound. */
  async #startConfined(launch: Parameters<SessionSetup["start"]>[0]): Promise<ConfinedProgram> {
    const { profile, assignment, workplace, signal } = this.#startup;
    for (let tries = 1; ; tries++) {
      try {
        return await workplace.outside.start({
          profile,
          tools: this.#tools,
          binds: await this.#binds(),
          cwd: assignment.cwd,
          home: this.home,
          launch,
          signal,
        });
      } catch (error) {
        if (!(error instanceof SandboxFailure) || tries === MOST_STARTS || signal.aborted) throw error;
      }
    }
  }

  async #binds(): Promise<Binds> {
    const { omitted = [], ...binds } = await this.#startup.assignment.binds();
    this.#omitted = [...omitted];
    return binds;
  }

  async #recordSession(session_id: string): Promise<void> {
    const { worker_id, node_id } = this.#startup.assignment.self;
    if (session_id !== this.#sessionId)
      await this.#transcript.note({ type: "worker.session", data: { worker_id, node_id, session_id } });
  }

  /** Its session as the record knows it. */
  get #sessionId(): string | null {
    const { workplace, assignment } = this.#startup;
    const session = workplace.now().outside.sessions[sessionKey(assignment.self)];
    return session?.worker_id === assignment.self.worker_id ? session.session_id : null;
  }
}
