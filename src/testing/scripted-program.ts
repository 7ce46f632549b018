import { PassThrough } from "node:stream";
import type { ProgramProfile, ResultEntry } from "../protocol/index.ts";
import type { ProgramEnd } from "../sandbox/program.ts";
import type { Tools } from "../tools/toolbox.ts";
import type { ProgramPorts } from "../workers/outside/session/program-ports.ts";
import type {
  Decision,
  OutsideEvent,
  OutsideSession,
  SessionSetup,
  Unread,
} from "../workers/outside/session/session.ts";

/**
 * Programs that think for themselves, played by functions: one for each time a program is started, in order.
 *
 * ```ts
 * const outside = scriptedPrograms(async (program) => {
 *   program.emit({ kind: "begun", session_id: "s-1" });
 *   await program.use("publish", { summary: "done" });
 * });
 * ```
 * A play that returns has exited with 0; one that is never ended hangs. A start that no play is left for fails.
 */
export function scriptedPrograms(...plays: Play[]): ScriptedPrograms {
  const started: ScriptedProgram[] = [];
  let at = 0;
  return {
    started,
    profile: { kind: "claude_code", command: ["scripted"] },
    list: () => (plays.length > 0 ? [{ name: "scripted", about: "A program in a test.", missing: null }] : []),
    program(name) {
      if (name === "scripted" || name === "claude-code") return this.profile;
      throw new Error(`There is no program "${name}".`);
    },
    kindOf(name) {
      return name === "scripted" || name === "claude-code" ? this.profile.kind : undefined;
    },
    adapter: async () => async (setup) => {
      const play = plays[at++];
      if (!play) throw new Error(`The program was started ${at} times, and ${plays.length} plays are written.`);
      const program = new ScriptedProgram(setup);
      started.push(program);
      await setup.start(() => ({ argv: ["scripted"], env: {} }));
      program.tools = tools.get(setup.cwd);
      void program.perform(play);
      return program;
    },
    makeHome: async () => {},
    async start(stay) {
      tools.set(stay.cwd, stay.tools);
      const ended = Promise.withResolvers<ProgramEnd>();
      const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
      return { pid: 4711, sandbox: "scripted", ...streams, ended: ended.promise, stop: async () => {} };
    },
    price: async () => 0,
  };
}

const tools = new Map<string, Tools>();

export type Play = (program: ScriptedProgram) => Promise<void>;

export interface ScriptedPrograms extends ProgramPorts {
  /** Every session so far, in order. */
  readonly started: readonly ScriptedProgram[];
  profile: ProgramProfile;
}

export class ScriptedProgram implements OutsideSession {
  readonly setup: SessionSetup;
  tools: Tools | undefined;
  /** All that was said to it after its first words, in order. */
  readonly said: string[] = [];
  readonly decisions: Record<string, Decision> = {};
  interrupted = 0;
  isClosed = false;
  /** It hears nothing before its turn is over. */
  isDeaf = false;
  /** Its session can be resumed. */
  keepsSession = true;
  /** What was said into its turn and it has not read. */
  unread: Unread | null = null;
  /** What it still does when it is asked to end. */
  onClose: () => Promise<void> = async () => {};
  readonly #queue: OutsideEvent[] = [];
  #wake: () => void = () => {};
  #watching: (() => void)[] = [];
  #calls = 0;
  #heard = 0;
  #isFollowed = false;

  constructor(setup: SessionSetup) {
    this.setup = setup;
  }

  readonly events: AsyncIterable<OutsideEvent> = this.#events();

  emit(...events: OutsideEvent[]): void {
    this.#queue.push(...events);
    this.#wake();
  }

  /** The next words said to it. */
  async hear(): Promise<string> {
    await this.#until(() => this.said.length > this.#heard);
    return this.said[this.#heard++] ?? "";
  }

  /** A call by the door. One that ends the work is never answered. */
  async use(name: string, args: unknown): Promise<ResultEntry> {
    if (!this.tools) throw new Error("It was not started.");
    await this.followed();
    const id = `${this.setup.cwd}-${process.hrtime.bigint()}-${++this.#calls}`;
    return this.tools.run({ type: "call", id, name, args }, new AbortController().signal);
  }

  /** Asks leave, and gets it or not. */
  async want(tool: string, args: unknown, title?: string): Promise<Decision> {
    const id = `want-${++this.#calls}`;
    this.emit({ kind: "asked_permission", id, tool, args, title, call_id: id });
    await this.#until(() => id in this.decisions);
    return this.decisions[id] as Decision;
  }

  /** All that it emitted so far has been taken. */
  followed(): Promise<void> {
    return this.#until(() => this.#queue.length === 0 && this.#isFollowed);
  }

  interruption(): Promise<void> {
    return this.#until(() => this.interrupted > 0);
  }

  async say(text: string): Promise<void> {
    this.said.push(text);
    this.#changed();
  }

  hears(): boolean {
    return !this.isDeaf;
  }

  canBeResumed(): boolean {
    return this.keepsSession;
  }

  async takeUnread(): Promise<Unread | null> {
    const { unread } = this;
    this.unread = null;
    return unread;
  }

  async decide(id: string, decision: Decision): Promise<void> {
    this.decisions[id] = decision;
    this.#changed();
  }

  async interrupt(): Promise<void> {
    this.interrupted += 1;
    this.#changed();
    this.emit({ kind: "rested", how: "cancelled", words: "" });
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.onClose();
    this.emit({ kind: "exited", code: null, signal: "SIGTERM", exceeded: null });
  }

  async perform(play: Play): Promise<void> {
    let code = 0;
    try {
      await play(this);
    } catch (error) {
      code = 70;
      this.emit({ kind: "noted", text: error instanceof Error ? error.message : String(error) });
    }
    if (!this.isClosed) this.emit({ kind: "exited", code, signal: null, exceeded: null });
  }

  #changed(): void {
    for (const look of this.#watching.splice(0)) look();
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#watching.push(resolve);
      await promise;
    }
  }

  async *#events(): AsyncGenerator<OutsideEvent> {
    for (;;) {
      const event = this.#queue.shift();
      if (event) {
        yield event;
        if (event.kind === "exited") return;
        continue;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      this.#isFollowed = true;
      this.#changed();
      await promise;
      this.#isFollowed = false;
    }
  }
}
