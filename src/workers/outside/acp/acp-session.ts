import type { ClientConnection, ClientContext } from "@agentclientprotocol/sdk";
import { z } from "zod";
import type { Clock } from "../../../protocol/clock.ts";
import type { RunningProgram } from "../../../sandbox/program.ts";
import { ErrorTail } from "../session/error-tail.ts";
import { EventQueue } from "../session/event-queue.ts";
import type { ProgramRecord } from "../session/program-record.ts";
import {
  type Decision,
  type OutsideEvent,
  type OutsideSession,
  type SessionSetup,
  type ToolServer,
  UNKNOWN_MODEL,
  type Unread,
} from "../session/session.ts";
import { connectAgent } from "./acp-connection.ts";
import { openSession, reasonOf, SessionLost } from "./acp-opening.ts";
import { AcpPermissions, CANCELLED, type PermissionAnswer } from "./acp-permissions.ts";
import type { AcpQuirks } from "./acp-quirks.ts";
import { AcpTranslation } from "./acp-translation.ts";
import { notificationSchema, turnSchema } from "./acp-wire.ts";
import { MidTurnWords } from "./mid-turn-words.ts";
import { PromptQueue } from "./prompt-queue.ts";

/** What must be known about a session after a restart. */
export const keptAcpSchema = z.object({
  session_id: z.string().nullable(),
  /** When the session was made, in milliseconds since the epoch. */
  made_at: z.number(),
  cost_usd: z.number().nonnegative(),
  /** What was said while a turn ran, and not yet sent. */
  unsaid: z.array(z.string()),
});
type KeptSession = z.infer<typeof keptAcpSchema>;

interface Parts {
  setup: SessionSetup;
  clock: Clock;
  quirks: AcpQuirks;
  record: ProgramRecord<KeptSession>;
  running: RunningProgram;
  server: ToolServer | undefined;
  before: KeptSession;
}

/**
 * A session with an agent that speaks the Agent Client Protocol.
 *
 * ACP-1. ACP has one prompt at a time. What is said while a turn runs is steered into it if the agent can do that
 *     (Codex); else it is the next prompt, at once when the turn is over, and the turn is not `rested` in between.
 *     Nothing is cancelled for it: to be heard at once, call `interrupt` first, then `say`.
 * ACP-2. After a turn that was interrupted or has failed, what is still to be said waits until somebody says something.
 *     What was never sent when the program ends opens the first prompt when its session is resumed.
 * ACP-3. A session that cannot be resumed is never silently replaced by a new one: it exits without a `begun`, and says
 *     `lost` if the agent does.
 * ACP-4. Permission to use our own tools is given here, by fields that the agent writes and its model does not.
 * ACP-5. Nothing is said to a new session before its id is on record: whatever it does can be resumed.
 * ACP-6. Whether its model has read what was said into a turn is decided when the agent has told of the call that asks.
 * ACP-7. What an agent used comes with the end of its turn: `close` ends the turn first, and waits a moment for that.
 */
export class AcpSession implements OutsideSession {
  readonly events = new EventQueue();
  readonly #parts: Parts;
  readonly #translation: AcpTranslation;
  readonly #permissions: AcpPermissions;
  readonly #prompts: PromptQueue;
  readonly #steering: MidTurnWords;
  readonly #errors: ErrorTail;
  readonly #gone = new AbortController();
  readonly #goneEarly = aborted(this.#gone.signal);
  readonly #kept: KeptSession;
  #connection: ClientConnection | undefined;
  /** Set when it can be spoken to. */
  #session: { id: string; canSteer: boolean; canBeResumed: boolean } | undefined;
  #turn: "none" | "running" | "interrupted" = "none";
  #turnIsOver: Promise<void> = Promise.resolve();
  /** Of those that come while it is closed. */
  #lateUpdates = 0;
  #updates = 0;
  #updated = Promise.withResolvers<void>();
  /** How often it was told in this turn why permission was not given. */
  #denials = 0;
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { setup, quirks, before, running } = parts;
    const isSame = setup.resume !== null && setup.resume === before.session_id;
    this.#kept = isSame ? { ...before, unsaid: [] } : { ...before, cost_usd: 0, unsaid: [] };
    // The words it is begun with may contain it.
    const unsaid = isSame ? before.unsaid.filter((text) => !setup.words.includes(text)) : [];
    this.#prompts = new PromptQueue([...unsaid, setup.words]);
    this.#steering = new MidTurnWords(
      (text) => this.#inject(text),
      (text) => this.#later(text),
    );
    this.#translation = new AcpTranslation(quirks, setup.model ?? UNKNOWN_MODEL, this.#kept.cost_usd);
    this.#permissions = new AcpPermissions(this.#translation);
    this.#errors = new ErrorTail(running.stderr);
    this.events.own(this.#run());
  }

  async say(text: string): Promise<void> {
    this.#prompts.resume();
    if (this.#session?.canSteer && this.#turn === "running" && this.#prompts.unsent.length === 0)
      this.#steering.say(text);
    else await this.#later(text);
  }

  hears(): boolean {
    return this.#turn === "none" || this.#session?.canSteer === true;
  }

  async takeUnread(tool: string): Promise<Unread | null> {
    if (this.#steering.hasUnread) await this.#hasToldOf(tool);
    const isSteered = this.#steering.takeUnread();
    const words = this.#prompts.takeAll();
    if (words !== "") void this.#keep();
    return isSteered || words !== "" ? { words: words === "" ? [] : [words] } : null;
  }

  /** Its calls come to the door on a way of their own: what it did before may still be on its way to us. */
  async #hasToldOf(tool: string): Promise<void> {
    await this.#inAMoment(async (late, isLate) => {
      while (!isLate() && !this.#translation.isCalling(tool)) await Promise.race([this.#updated.promise, late]);
      // What it has not taken when this call is answered would miss its next model call, too.
      if (this.#steering.hasUnread) await Promise.race([this.#steering.allDecided, late]);
    });
  }

  /** Waits for what it tells, as long as `late` has not come. */
  async #inAMoment(wait: (late: Promise<void>, isLate: () => boolean) => Promise<void>): Promise<void> {
    const over = new AbortController();
    const late = this.#parts.clock.sleep(TELL_MS, AbortSignal.any([over.signal, this.#gone.signal])).catch(() => {});
    let isLate = false;
    void late.then(() => {
      isLate = true;
    });
    await wait(late, () => isLate);
    over.abort();
  }

  canBeResumed(): boolean {
    return this.#session?.canBeResumed === true;
  }

  async decide(id: string, decision: Decision): Promise<void> {
    const { why, again } = this.#permissions.decide(id, decision);
    if (again) this.events.push(again);
    // A flood of requests is not answered by a flood of words.
    if (why !== undefined && ++this.#denials <= MOST_DENIALS) await this.#later(why);
  }

  async interrupt(): Promise<void> {
    if (this.#turn !== "running" || !this.#connection || !this.#session) return;
    this.#turn = "interrupted";
    this.#prompts.pause();
    this.#permissions.withdraw();
    await this.#connection.agent.notify("session/cancel", { sessionId: this.#session.id }).catch(() => {});
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { running, quirks, clock } = this.#parts;
    // What still comes is read, so that its output ends; what came of its calls is still told, up to a limit.
    this.events.stopWaiting();
    const over = this.interrupt().then(() => this.#turnIsOver);
    await Promise.race([over, clock.sleep(TURN_END_MS, this.#gone.signal).catch(() => {})]);
    running.stdin.end();
    if (quirks.endsWithInput) {
      await Promise.race([running.ended, clock.sleep(1000, this.#gone.signal).catch(() => {})]);
    }
    await running.stop(1000);
  }

  /** From the first message to the last; whatever goes wrong, `exited` comes at the end. */
  async #run(): Promise<void> {
    const { running } = this.#parts;
    this.#goneEarly.catch(() => {});
    void running.ended.catch(() => {}).then(() => this.#gone.abort(new Error("The program has ended.")));
    try {
      this.#connection = await this.#connect();
      const { agent } = this.#connection;
      const sessionId = await this.#open(agent);
      while (!this.#gone.signal.aborted) await this.#nextTurn(agent, sessionId);
    } catch (error) {
      await this.#waitForExit();
      if (!this.#gone.signal.aborted && !this.#closing) this.#giveUp(error);
    }
    const { code, signal, exceeded } = await running.ended;
    this.#connection?.close();
    this.#permissions.withdraw();
    this.events.push(...this.#translation.gone());
    this.#tellErrors();
    this.events.end({ kind: "exited", code, signal, exceeded });
  }

  #giveUp(error: unknown): void {
    this.#tellErrors();
    if (error instanceof SessionLost) this.events.push({ kind: "lost", why: error.message });
    else if (this.#session === undefined && this.#parts.setup.resume !== null)
      this.#note(`Its session could not be resumed: ${reasonOf(error)}`);
    else this.events.push(...this.#translation.turnFailed(reasonOf(error)));
    void this.close();
  }

  /** Its output ends a moment before it exits. */
  async #waitForExit(): Promise<void> {
    const { running, clock } = this.#parts;
    if (!this.#connection?.signal.aborted) return;
    await Promise.race([running.ended, clock.sleep(1000, this.#gone.signal).catch(() => {})]);
  }

  #connect(): Promise<ClientConnection> {
    const { running, setup } = this.#parts;
    return connectAgent(running, {
      cwd: setup.cwd,
      room: () => this.events.room(),
      note: (text) => this.#note(text),
      notified: (method, params) => this.#notified(method, params),
      permission: (params) => this.#permission(params),
    });
  }

  async #open(agent: ClientContext): Promise<string> {
    const { setup, clock, quirks, server, before } = this.#parts;
    const opened = await openSession({
      ...{ setup, clock, quirks, server },
      madeAt: before.made_at,
      gone: this.#gone.signal,
      request: (method, params) => agent.request<unknown>(method, params),
      note: (text) => this.#note(text),
      updates: () => this.#updates,
    });
    const { session_id, canSteer, canBeResumed, preface, ...begun } = opened;
    this.#session = { id: session_id, canSteer, canBeResumed };
    if (preface) this.#prompts.unshift(preface);
    // Whether a budget can be kept is decided by it, so "unknown" is said, too.
    const model = this.#translation.modelIs(begun.model ?? UNKNOWN_MODEL);
    if (setup.resume === null) {
      Object.assign(this.#kept, { session_id, made_at: clock.now() });
      await setup.named?.(session_id);
    }
    await this.#keep();
    this.events.push({ kind: "begun", session_id, ...begun, model });
    return session_id;
  }

  async #nextTurn(agent: ClientContext, sessionId: string): Promise<void> {
    await this.#prompts.ready(this.#goneEarly);
    const prompt = promptOf(this.#prompts.takeAll());
    this.#denials = 0;
    this.#turn = "running";
    this.#translation.begin(prompt.map(({ text }) => text).join("\n"));
    const isOver = Promise.withResolvers<void>();
    this.#turnIsOver = isOver.promise;
    const { events, isWhole } = await this.#prompt(agent, { sessionId, prompt }).finally(() => isOver.resolve());
    this.events.push(...events.filter(({ kind }) => kind !== "rested"));
    const steered = await this.#steering.turnEnds();
    this.#turn = "none";
    this.#permissions.withdraw();
    // What was steered into a turn that was cut off may never have reached the model: better said twice than not at all.
    if (!isWhole) this.#prompts.unshift(...steered);
    this.#kept.cost_usd = this.#translation.cost;
    await this.#keep();
    if (hasFailed(events)) this.#prompts.pause();
    if (!this.#prompts.isReady) this.events.push(...events.filter(({ kind }) => kind === "rested"));
  }

  async #prompt(
    agent: ClientContext,
    params: { sessionId: string; prompt: unknown },
  ): Promise<{ events: OutsideEvent[]; isWhole: boolean }> {
    try {
      const turn = turnSchema.parse(await agent.request<unknown>("session/prompt", params));
      const events = this.#translation.turnEnded(turn, this.#turn === "interrupted");
      return { events, isWhole: turn.stopReason === "end_turn" && !hasFailed(events) };
    } catch (error) {
      await this.#waitForExit();
      if (this.#gone.signal.aborted) throw error;
      return { events: this.#translation.turnFailed(reasonOf(error)), isWhole: false };
    }
  }

  /** With the next prompt. */
  async #later(text: string): Promise<void> {
    this.#prompts.push(text);
    if (this.#turn !== "none" || this.events.ended) await this.#keep();
  }

  async #inject(text: string): Promise<boolean> {
    const answer = await this.#connection?.agent.request<unknown>("_session/steering", {
      sessionId: this.#session?.id,
      prompt: promptOf(text),
      _meta: { steering: { idleBehavior: "promptRequired" } },
    });
    return z.looseObject({ outcome: z.literal("injected") }).safeParse(answer).success;
  }

  #notified(method: string, params: unknown): void {
    if (method !== "session/update") return;
    this.#updates++;
    const notification = notificationSchema.safeParse(params);
    if (!notification.success) this.#note("It sent an update that we do not understand.");
    // What it tells about the past of a resumed session is in our record.
    else if (notification.data.sessionId === this.#session?.id && this.#isHeard()) {
      this.#did(this.#translation.update(notification.data.update));
      if (/^(completed|failed)$/.test(String(notification.data.update.status))) this.#steering.answered();
      this.#updated.resolve();
      this.#updated = Promise.withResolvers();
    }
  }

  #did(events: readonly OutsideEvent[]): void {
    // A model call that began after an answer has read what was said before that answer.
    if (events.some(({ kind }) => kind === "used")) this.#steering.isRead();
    this.events.push(...events);
  }

  #isHeard(): boolean {
    return !this.#closing || ++this.#lateUpdates <= MOST_LATE_UPDATES;
  }

  async #permission(params: unknown): Promise<PermissionAnswer> {
    if (this.#turn === "interrupted") return CANCELLED;
    if (this.#permissions.isEarly(params)) {
      await this.#inAMoment(async (late, isLate) => {
        while (!isLate() && this.#permissions.isEarly(params)) await Promise.race([this.#updated.promise, late]);
      });
      if (this.#turn !== "running") return CANCELLED;
    }
    const { events, answer } = this.#permissions.asked(params);
    this.#did(events);
    return answer;
  }

  async #keep(): Promise<void> {
    try {
      await this.#parts.record.write({ ...this.#kept, unsaid: [...this.#prompts.unsent] });
    } catch (error) {
      this.#note(`The record of its session could not be written: ${reasonOf(error)}`);
    }
  }

  #note(text: string): void {
    if (!this.#closing) this.events.push({ kind: "noted", text });
  }

  #tellErrors(): void {
    const errors = this.#errors.take();
    if (errors !== undefined) this.#note(errors);
  }
}

/** How long we wait to be told of a call that has come, or what it is called with. */
const TELL_MS = 2000;
const MOST_DENIALS = 20;
const MOST_LATE_UPDATES = 1000;
/** Codex and Gemini end a turn within 0.1 s, opencode within 1 s. */
const TURN_END_MS = 2000;

/** Words that begin with a slash would be a command to the agent, as if typed by its user: `/logout`. */
function promptOf(text: string): { type: "text"; text: string }[] {
  return [{ type: "text", text: text.trimStart().startsWith("/") ? `You are told: ${text}` : text }];
}

function hasFailed(events: readonly OutsideEvent[]): boolean {
  return events.some((event) => event.kind === "rested" && (event.how === "failed" || event.how === "refused"));
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
