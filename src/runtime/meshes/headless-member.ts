import { existsSync } from "node:fs";
import type { MeshMessage } from "../../mesh/files/mesh-message.ts";
import type { Member } from "../../mesh/running/member.ts";
import type { Clock } from "../../protocol/clock.ts";
import type { ProgramProfile } from "../../protocol/index.ts";
import type { Binds } from "../../sandbox/index.ts";
import type { Tool } from "../../tools/tool.ts";
import { Toolbox } from "../../tools/toolbox.ts";
import { LongRest } from "../../workers/outside/long-rest.ts";
import { permissionOf } from "../../workers/outside/session/permission-policy.ts";
import { isAllowedBy } from "../../workers/outside/session/permission-rules.ts";
import type { ProgramPorts } from "../../workers/outside/session/program-ports.ts";
import type { OutsideEvent, OutsideSession } from "../../workers/outside/session/session.ts";
import type { ToolRequest } from "../../workers/outside/session/tool-request.ts";
import { isForOurTool, noticing } from "./our-tools.ts";

export interface HeadlessPorts {
  clock: Clock;
  outside: ProgramPorts;
  profile: ProgramProfile;
  model: string | null;
  home: string;
  /** Where it works on what this message asks. */
  folderFor(message: MeshMessage): Promise<MemberFolder>;
  tools: readonly Tool[];
  prompt(): Promise<string>;
  words(message: MeshMessage): string;
  /** Whether this task is still active. */
  isActive(name: string): boolean;
  giveUp(why: string): Promise<void>;
  /** Whether each task begins in a new session. */
  clearsBefore: boolean;
  /** Asks a person. */
  askPermission(request: ToolRequest): Promise<boolean>;
  record(state: "starting" | "ready" | "busy" | "idle" | "dead" | "gone", detail?: string): void;
}

/** Where a program of a mesh works: the project, or a clone of its repository. */
export interface MemberFolder {
  cwd: string;
  /** Looked up at each start: files come and go in the project. */
  binds(): Promise<Binds>;
  /** What it is told of it before its first message, if anything. */
  about: string;
}

/**
 * A mesh agent that is a program without a terminal, in the sandbox, with `tx` as tools over MCP.
 *
 * HEADLESS-MEMBER-1. Messages that come while it works are in its context by its next model call, if the program
 *     supports that.
 * HEADLESS-MEMBER-2. If a turn ends before its task does, the program is reminded a few times; then the task is given
 *     up.
 * HEADLESS-MEMBER-3. A program that has ended is started again by the next message.
 * HEADLESS-MEMBER-4. If it cannot be started, or cannot be followed any more, its task is given up with the reason.
 * HEADLESS-MEMBER-5. Whatever it asks permission for is answered: if nobody could be asked, with no; if it cannot be
 *     answered at all, it is ended.
 * HEADLESS-MEMBER-6. A program that has rested for a long time is ended to free its memory, if its session can be
 *     resumed; the next message resumes it. A session that cannot be resumed after all is replaced by a new one.
 * HEADLESS-MEMBER-7. A session works in one folder: a task that has another begins in a new session, there.
 */
export class HeadlessMember implements Member {
  readonly #ports: HeadlessPorts;
  readonly #stop = new AbortController();
  #opening: Promise<OutsideSession> | undefined;
  #telling: Promise<void> = Promise.resolve();
  #task: string | undefined;
  #folder: MemberFolder | undefined;
  #reminders = 0;
  /** It has asked another agent something, or handed something on: then the end of a turn means waiting. */
  #waits = false;
  /** It is idle, and could be ended and resumed. */
  #isResting = false;
  readonly #rest: LongRest;
  /** The id of its session, to resume it. */
  #sessionId: string | null = null;
  /** What a session is told that is to be resumed, until it has begun. */
  #resumedWith: string | undefined;

  constructor(ports: HeadlessPorts) {
    this.#ports = ports;
    const { clock, profile } = ports;
    const end = () => {
      this.#telling = this.#telling.then(() => this.#leave()).catch(() => {});
    };
    const signal = this.#stop.signal;
    this.#rest = new LongRest({ clock, seconds: profile.rest_seconds, signal, mayEnd: () => this.#isResting, end });
  }

  /** One after the other: if two come at once, the second finds the session that the first has started. */
  tell(message: MeshMessage): Promise<void> {
    const told = this.#telling.then(() => this.#tell(message));
    this.#telling = told.catch(() => {});
    return told;
  }

  async #tell(message: MeshMessage): Promise<void> {
    this.#stop.signal.throwIfAborted();
    const words = this.#ports.words(message);
    await this.#goTo(message);
    this.#reminders = 0;
    this.#waits = false;
    this.#isResting = false;
    this.#rest.ends();
    const session = await this.#opening?.catch(() => undefined);
    try {
      if (this.#resumedWith !== undefined) this.#resumedWith += `\n\n${words}`;
      if (session) await session.say(words);
      else await this.#open(words);
    } catch (error) {
      if (this.#stop.signal.aborted || message.header.type !== "task") throw error;
      await this.#couldNot("be told its task", error);
      return;
    }
    this.#ports.record("busy");
  }

  /** HEADLESS-MEMBER-7. What is said beside a task is said where that is done, unless its clone is gone. */
  async #goTo(message: MeshMessage): Promise<void> {
    const isTask = message.header.type === "task";
    const before = this.#folder?.cwd;
    if (!isTask && before !== undefined && existsSync(before)) return;
    const folder = await this.#ports.folderFor(message);
    const isNext = isTask && this.#task !== undefined && this.#task !== message.name;
    if ((before !== undefined && before !== folder.cwd) || (this.#ports.clearsBefore && isNext)) await this.#clear();
    this.#folder = folder;
    if (isTask) this.#task = message.name;
  }

  /** HEADLESS-MEMBER-4. */
  async #couldNot(what: string, error: unknown): Promise<void> {
    const why = `The program could not ${what}: ${error instanceof Error ? error.message : String(error)}`;
    this.#ports.record("dead", why);
    if (this.#hasTask && !this.#stop.signal.aborted) await this.#ports.giveUp(why);
  }

  async #clear(): Promise<void> {
    await this.#end();
    this.#sessionId = null;
  }

  /** HEADLESS-MEMBER-6. A message may have come meanwhile. */
  async #leave(): Promise<void> {
    if (this.#isResting) await this.#end();
  }

  async #end(): Promise<void> {
    const session = await this.#opening?.catch(() => undefined);
    if (session) this.#ended.add(session);
    await session?.close();
    this.#opening = undefined;
  }

  /** Sessions that we have ended ourselves. */
  readonly #ended = new WeakSet<OutsideSession>();

  async close(): Promise<void> {
    this.#stop.abort(new Error("closed"));
    const session = await this.#opening?.catch(() => undefined);
    await session?.close();
    this.#ports.record("gone");
  }

  async #open(words: string): Promise<void> {
    const { outside, profile, model, home, tools, prompt } = this.#ports;
    const folder = this.#folder;
    if (!folder) throw new Error("a session begins with a message");
    const { cwd, binds, about } = folder;
    this.#ports.record("starting");
    await outside.makeHome(profile, home);
    const adapter = await outside.adapter(profile.kind);
    const resume = this.#sessionId;
    this.#resumedWith = resume === null ? undefined : words;
    const noticed = noticing(tools, () => {
      this.#waits = true;
    });
    this.#opening = adapter({
      profile: { ...profile, permissions: permissionOf(profile, REACH) },
      system: [await prompt(), about].filter(Boolean).join("\n"),
      words,
      resume,
      model,
      assigned: 0,
      cwd,
      home,
      start: async (launch) =>
        outside.start({
          profile,
          tools: new Toolbox(noticed),
          binds: await binds(),
          cwd,
          home,
          launch,
          signal: this.#stop.signal,
        }),
    });
    const session = await this.#opening.catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    this.#follow(session).catch(() => {}); // its end could not be written: that it is dead is recorded
  }

  async #follow(session: OutsideSession): Promise<void> {
    try {
      for await (const event of session.events) await this.#take(session, event);
    } catch (error) {
      if (!this.#ended.has(session)) await this.#couldNot("be followed any more", error);
      await session.close();
    } finally {
      if (!this.#ended.has(session)) this.#opening = undefined;
    }
  }

  async #take(session: OutsideSession, event: OutsideEvent): Promise<void> {
    switch (event.kind) {
      case "begun":
        this.#sessionId = event.session_id;
        this.#resumedWith = undefined;
        return;
      case "asked_permission":
        // Nobody waits for it: it works on while a person thinks.
        void this.#decide(session, event)
          .catch((error: unknown) => session.decide(event.id, { allow: false, why: unasked(error) }))
          .catch(() => session.close())
          .catch(() => {});
        return;
      case "called":
        // What it was told last may be another turn than the one that has just ended.
        this.#isResting = false;
        return;
      case "rested":
        await this.#rested(session, event.words);
        return;
      case "exited": {
        if (this.#stop.signal.aborted || this.#ended.has(session)) return;
        this.#sessionId = null;
        if (this.#resumedWith !== undefined) return this.#beginAnew(session);
        const how = event.signal ?? event.code ?? "no code";
        this.#ports.record("dead", `it ended with ${how}`);
        if (this.#hasTask) await this.#ports.giveUp(`The program ended (${how}) before the task did.`);
        return;
      }
      default:
        return;
    }
  }

  /** HEADLESS-MEMBER-6. In turn with what it is told meanwhile, which is among the words that it begins with. */
  #beginAnew(session: OutsideSession): void {
    this.#ended.add(session);
    const begin = async () => {
      if (this.#resumedWith === undefined) return;
      this.#opening = undefined;
      await this.#open(this.#resumedWith);
      this.#ports.record("busy");
    };
    this.#telling = this.#telling
      .then(begin)
      .catch((error: unknown) => this.#couldNot("be started", error))
      .catch(() => {});
  }

  get #hasTask(): boolean {
    return this.#task !== undefined && this.#ports.isActive(this.#task);
  }

  async #rested(session: OutsideSession, words: string): Promise<void> {
    this.#ports.record("idle");
    if (this.#hasTask && !this.#waits) {
      if (++this.#reminders <= MOST_REMINDERS) {
        await session.say("Your task has not ended. If it is done, call tx_done; otherwise go on.");
        this.#ports.record("busy");
        return;
      }
      await this.#ports.giveUp(`It stopped without ending its task. Its last words: ${words}`);
      if (this.#hasTask) return;
    }
    this.#isResting = this.#sessionId !== null && session.canBeResumed?.() === true;
    this.#rest.begins();
  }

  async #decide(session: OutsideSession, wish: Extract<OutsideEvent, { kind: "asked_permission" }>): Promise<void> {
    const { profile } = this.#ports;
    const cwd = this.#folder?.cwd ?? "/";
    const policy = permissionOf(profile, REACH);
    const isAllowed = policy === "allow" || (policy === "ask" && isAllowedBy(profile.allow ?? [], wish, cwd));
    const allow = isForOurTool(wish) || isAllowed || (policy === "ask" && (await this.#ports.askPermission(wish)));
    await session.decide(wish.id, allow ? { allow } : { allow, why: "It is not allowed here." });
  }
}

/** It works in the project itself. */
const REACH = "the person's files";
const MOST_REMINDERS = 3;

function unasked(error: unknown): string {
  return `It is not allowed: nobody could be asked (${error instanceof Error ? error.message : String(error)}).`;
}
