import type { ProgramProfile } from "../../protocol/index.ts";
import type { Binds } from "../../sandbox/binds/binds.ts";
import { SandboxFailure } from "../../sandbox/failure.ts";
import { programHome } from "../../store/paths.ts";
import type { Tools } from "../../tools/toolbox.ts";
import type { Workplace } from "../workplace.ts";
import { resumeText, unheardResults } from "./first-words.ts";
import type { ProgramAssignment } from "./program-assignment.ts";
import type { ConfinedProgram } from "./program-ports.ts";
import { modelFor, sessionKey } from "./programs.ts";
import type { OutsideEvent, OutsideJob, OutsideSession } from "./session.ts";
import type { Transcript } from "./transcript.ts";

type Exited = Extract<OutsideEvent, { kind: "exited" }>;

const MOST_STARTS = 3;
const MOST_EARLY_DEATHS = 2;

/**
 * The lives of a program on one assignment: it is started, it dies, its session is taken up in the next life.
 *
 * PROGRAM-RESTART-1. A session is lost when the program says so, or has died twice in a row before it had begun. Any
 *     other early death is followed by another try to take it up: whoever began anew would do a second time what was
 *     done.
 * PROGRAM-RESTART-2. The next life begins with all that was said and not surely heard, as it is on record when that
 *     life begins.
 * PROGRAM-RESTART-3. Who dies after it has begun lives again as often as its assignment says.
 */
export class Restarts {
  readonly #assignment: ProgramAssignment;
  readonly #profile: ProgramProfile;
  readonly #place: Workplace;
  readonly #signal: AbortSignal;
  readonly #transcript: Transcript;
  readonly #tools: Tools;
  #job: OutsideJob | undefined;
  #session: OutsideSession | undefined;
  #running: ConfinedProgram | undefined;
  #hasBegun = false;
  #isSaidLost = false;
  #omitted: string[] = [];
  #earlyDeaths = 0;
  #revivals = 0;

  constructor(
    assignment: ProgramAssignment,
    profile: ProgramProfile,
    place: Workplace,
    signal: AbortSignal,
    { transcript, tools }: { transcript: Transcript; tools: Tools },
  ) {
    this.#assignment = assignment;
    this.#profile = profile;
    this.#place = place;
    this.#signal = signal;
    this.#transcript = transcript;
    this.#tools = tools;
  }

  /** The life it has now, or had last. */
  get session(): OutsideSession | undefined {
    return this.#session;
  }

  get isConfined(): boolean {
    return this.#running?.sandbox !== "unsafe";
  }

  /** It would live again if it died now, in the middle of its work. */
  get hasMore(): boolean {
    return this.#revivals < this.#assignment.restarts;
  }

  begin(system: string, words: string): Promise<OutsideSession> {
    const { spawned, context, assigned, cwd, resume } = this.#assignment;
    return this.#live({
      profile: this.#profile,
      system,
      words,
      resume,
      model: modelFor(spawned),
      context,
      assigned,
      cwd,
      home: this.#home,
      named: (session_id) => this.#named(session_id),
      start: (launch) => this.#start(launch),
    });
  }

  /** It has begun, in the session of this id where it has such. */
  async begun(session_id: string | null): Promise<void> {
    this.#hasBegun = true;
    this.#earlyDeaths = 0;
    if (session_id !== null) await this.#named(session_id);
  }

  /** It says that the session cannot be taken up. */
  saidLost(): void {
    this.#isSaidLost = true;
  }

  /** What it does makes up for its deaths: only those in a row count. */
  thrives(): void {
    this.#revivals = 0;
  }

  /** It ended; resolves when that is on record. Whether it lives again: if so, `again` is to be called. */
  async ended({ code, signal, exceeded }: Exited): Promise<boolean> {
    const { worker_id, node_id } = this.#assignment.actor;
    const pid = this.#running?.pid ?? 0;
    await this.#transcript.note({ type: "process.exited", data: { worker_id, node_id, pid, code, signal } });
    return this.#isEarly || (exceeded === null && this.hasMore);
  }

  /** The session goes on, or, where it is lost, another one begins with all that it needs to know. */
  async again(): Promise<OutsideSession> {
    if (!this.#job) throw new Error("It never lived.");
    if (this.#isEarly) this.#earlyDeaths += 1;
    else this.#revivals += 1;
    const isLost = this.#isEarly && (this.#isSaidLost || this.#earlyDeaths >= MOST_EARLY_DEATHS);
    await this.#transcript.cutOff((tool) => this.#tools.specs.some(({ name }) => name === tool));
    const past = await this.#assignment.past();
    const told = unheardResults(past, this.#tools);
    const resume = isLost ? null : this.#sessionId;
    const words = resume === null ? await this.#assignment.newSessionText(past, told) : resumeText(past, told);
    return this.#live({ ...this.#job, words, resume });
  }

  /** It died before it had begun to go on with its session: nothing was done in this life. */
  get #isEarly(): boolean {
    return !this.#hasBegun && this.#job !== undefined && this.#job.resume !== null;
  }

  get #home(): string {
    return programHome(this.#place.log.dir, this.#assignment.run_id, this.#assignment.actor.worker_id);
  }

  async #live(job: OutsideJob): Promise<OutsideSession> {
    this.#job = job;
    this.#hasBegun = false;
    this.#isSaidLost = false;
    const adapter = await this.#place.outside.adapter(this.#profile.kind);
    await this.#place.outside.makeHome(this.#profile, this.#home);
    this.#signal.throwIfAborted();
    this.#session = await adapter(job);
    this.#transcript.thinks();
    return this.#session;
  }

  async #start(launch: Parameters<OutsideJob["start"]>[0]): Promise<ConfinedProgram> {
    const { worker_id, node_id } = this.#assignment.actor;
    const running = await this.#confined(launch);
    this.#running = running;
    const { pid, sandbox } = running;
    const command = this.#profile.command.join(" ");
    const omitted = this.#omitted;
    const data = { worker_id, node_id, pid, command, sandbox, ...(omitted.length > 0 && { omitted }) };
    await this.#transcript.note({ type: "process.started", data });
    return running;
  }

  /** What it may see is looked up anew each time: a colleague may publish, by a rename, while it is being bound. */
  async #confined(launch: Parameters<OutsideJob["start"]>[0]): Promise<ConfinedProgram> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#place.outside.start({
          profile: this.#profile,
          tools: this.#tools,
          binds: await this.#binds(),
          cwd: this.#assignment.cwd,
          home: this.#home,
          launch,
          signal: this.#signal,
        });
      } catch (error) {
        if (!(error instanceof SandboxFailure) || tries === MOST_STARTS || this.#signal.aborted) throw error;
      }
    }
  }

  async #binds(): Promise<Binds> {
    const { omitted = [], ...binds } = await this.#assignment.binds();
    this.#omitted = [...omitted];
    return binds;
  }

  async #named(session_id: string): Promise<void> {
    const { worker_id, node_id } = this.#assignment.actor;
    if (session_id !== this.#sessionId)
      await this.#transcript.note({ type: "worker.session", data: { worker_id, node_id, session_id } });
  }

  /** The one it has now, as far as the record knows. */
  get #sessionId(): string | null {
    const { actor } = this.#assignment;
    const session = this.#place.now().outside.sessions[sessionKey(actor)];
    return session?.worker_id === actor.worker_id ? session.session_id : null;
  }
}
