import { mkdir } from "node:fs/promises";
import type { ClientConnection, ClientContext } from "@agentclientprotocol/sdk";
import { z } from "zod";
import type { Clock } from "../../../protocol/clock.ts";
import type { Running } from "../../../sandbox/program.ts";
import { putFile } from "../../../store/disk/foreign-folder.ts";
import { EventQueue } from "../event-queue.ts";
import { linesOf } from "../output-lines.ts";
import { ProgramRecord } from "../program-record.ts";
import type { Adapter, Decision, OutsideEvent, OutsideJob, OutsideSession, ToolServer } from "../session.ts";
import { serveFile } from "./acp-files.ts";
import { acpLaunch, launchOf } from "./acp-launch.ts";
import { openSession, reasonOf, SessionLost } from "./acp-opening.ts";
import { AcpPermissions, type Answer, CANCELLED } from "./acp-permissions.ts";
import { type AcpQuirks, quirksOf } from "./acp-quirks.ts";
import { messagesOf } from "./acp-stream.ts";
import { AcpTranslation } from "./acp-translation.ts";
import { notificationSchema, turnSchema } from "./acp-wire.ts";

/**
 * Any agent that speaks the Agent Client Protocol (version 1) on its standard input and output.
 *
 * ACP-1. ACP has one prompt at a time. What is said while a turn runs is steered into it where the agent can (Codex);
 *     else it is the next prompt, at once when the turn is over, and the turn is not `rested` in between. Nothing is
 *     cancelled for it: who cannot wait calls `interrupt` first, then `say`.
 * ACP-2. After a turn that was interrupted or has failed, what is still to be said waits until somebody says something.
 *     What was never sent when the program ends opens the first prompt when its session is taken up.
 * ACP-3. A session that cannot be taken up again is not begun anew behind anybody's back: it exits without a `begun`,
 *     and says `lost` where the agent does.
 * ACP-4. Leave to use our own tools is given here, by fields that the agent writes and its model does not.
 * ACP-5. Nothing is said to a new session before its id is on record: whatever it does can be taken up again.
 */
export function acpAdapter(clock: Clock): Adapter {
  return async (job) => {
    await mkdir(job.home, { recursive: true, mode: 0o700 });
    const record = new ProgramRecord(job.home, job.cwd, recordSchema);
    const before = (await record.read()) ?? { session_id: null, made_at: 0, cost_usd: 0, unsaid: [] };
    const quirks = quirksOf(job.profile);
    for (const [path, text] of Object.entries(filesOf(job, quirks))) await putFile(job.home, path, text);
    let door: ToolServer | undefined;
    const running = await job.start((given) => {
      door = given;
      return launchOf(job);
    });
    return new AcpSession({ job, clock, quirks, record, running, door, before });
  };
}

const recordSchema = z.object({
  session_id: z.string().nullable(),
  /** When the session was made, in milliseconds since the epoch. */
  made_at: z.number(),
  cost_usd: z.number().nonnegative(),
  /** What was said while a turn ran, and not yet sent. */
  unsaid: z.array(z.string()),
});
type Kept = z.infer<typeof recordSchema>;

function filesOf(job: OutsideJob, { instructions }: AcpQuirks): Record<string, string> {
  const known = job.profile.quirks && acpLaunch[job.profile.quirks];
  return { ...known?.files(job), ...(instructions ? { [instructions]: `${job.system}\n` } : {}) };
}

interface Parts {
  job: OutsideJob;
  clock: Clock;
  quirks: AcpQuirks;
  record: ProgramRecord<Kept>;
  running: Running;
  door: ToolServer | undefined;
  before: Kept;
}

class AcpSession implements OutsideSession {
  readonly events = new EventQueue();
  readonly #parts: Parts;
  readonly #translation: AcpTranslation;
  readonly #permissions: AcpPermissions;
  readonly #gone = new AbortController();
  readonly #goneEarly = aborted(this.#gone.signal);
  readonly #kept: Kept;
  /** What the agent is to be told next, in order. */
  readonly #unsaid: string[];
  #said = Promise.withResolvers<void>();
  #steered: string[] = [];
  #steering: Promise<void> = Promise.resolve();
  #connection: ClientConnection | undefined;
  /** There is one when it can be spoken to; what came before is its past. */
  #session: string | undefined;
  #canSteer = false;
  #turn: "none" | "running" | "interrupted" = "none";
  /** Until somebody says something, what is unsaid stays so. */
  #isHeld = false;
  #updates = 0;
  /** Reasons that were given in this turn. */
  #denials = 0;
  #errors: string[] = [];
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { job, quirks, before } = parts;
    const isSame = job.resume !== null && job.resume === before.session_id;
    this.#kept = isSame ? { ...before, unsaid: [] } : { ...before, cost_usd: 0, unsaid: [] };
    // Who takes it up may say it again.
    const unsaid = isSame ? before.unsaid.filter((text) => !job.words.includes(text)) : [];
    this.#unsaid = [...unsaid, job.words];
    this.#translation = new AcpTranslation(quirks, job.model ?? "unknown", this.#kept.cost_usd);
    this.#permissions = new AcpPermissions(this.#translation);
    this.events.own(this.#live());
    this.#hearErrors().catch(() => {});
  }

  async say(text: string): Promise<void> {
    this.#isHeld = false;
    if (this.#canSteer && this.#turn === "running" && this.#unsaid.length === 0) {
      this.#steering = this.#steering.then(() => this.#steer(text));
      return;
    }
    await this.#later(text);
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
    this.#isHeld = true;
    this.#permissions.withdraw();
    await this.#connection.agent.notify("session/cancel", { sessionId: this.#session }).catch(() => {});
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { running, quirks, clock } = this.#parts;
    // Whatever still comes is read, so that its output ends, and dropped.
    this.events.stopWaiting();
    await Promise.race([this.interrupt(), clock.sleep(500, this.#gone.signal).catch(() => {})]);
    running.stdin.end();
    if (quirks.endsWithInput) {
      await Promise.race([running.ended, clock.sleep(1000, this.#gone.signal).catch(() => {})]);
    }
    await running.stop(1500);
  }

  /** From the first message to the last; whatever goes wrong, `exited` comes at the end. */
  async #live(): Promise<void> {
    const { running, job } = this.#parts;
    this.#goneEarly.catch(() => {});
    void running.ended.catch(() => {}).then(() => this.#gone.abort(new Error("The program has ended.")));
    try {
      this.#connection = await this.#connect();
      const { agent } = this.#connection;
      await this.#open(agent);
      while (!this.#gone.signal.aborted) await this.#nextTurn(agent);
    } catch (error) {
      await this.#seeWhetherGone();
      if (!this.#gone.signal.aborted && !this.#closing) {
        this.#tellErrors();
        if (error instanceof SessionLost) this.events.push({ kind: "lost", why: error.message });
        else if (this.#session === undefined && job.resume !== null)
          this.#note(`Its session could not be taken up: ${reasonOf(error)}`);
        else this.events.push(...this.#translation.turnFailed(reasonOf(error)));
        void this.close();
      }
    }
    const { code, signal, exceeded } = await running.ended;
    this.#connection?.close();
    this.#permissions.withdraw();
    this.events.push(...this.#translation.gone());
    this.#tellErrors();
    this.events.end({ kind: "exited", code, signal, exceeded });
  }

  /** Its output ends a moment before it does. */
  async #seeWhetherGone(): Promise<void> {
    const { running, clock } = this.#parts;
    if (!this.#connection?.signal.aborted) return;
    await Promise.race([running.ended, clock.sleep(1000, this.#gone.signal).catch(() => {})]);
  }

  async #connect(): Promise<ClientConnection> {
    // Loaded with the first agent: nobody else pays for it.
    const { client, RequestError } = await import("@agentclientprotocol/sdk");
    const stream = messagesOf(this.#parts.running, {
      room: () => this.events.room(),
      note: (text) => this.#note(text),
      notified: (method, params) => this.#notified(method, params),
    });
    return client({ name: "agiraph" })
      .onRequest("*", async ({ method, params }) => {
        if (method === "session/request_permission") return this.#wanted(params);
        if (method === "fs/read_text_file" || method === "fs/write_text_file") {
          const answer = await serveFile(method, params, this.#parts.job.cwd);
          if (answer.ok) return answer.result;
          throw RequestError.invalidParams(undefined, answer.why);
        }
        if (method.startsWith("terminal/"))
          throw new RequestError(-32601, "There is no terminal here: run commands with your own tools.");
        throw RequestError.methodNotFound(method);
      })
      .connect(stream);
  }

  async #open(agent: ClientContext): Promise<void> {
    const { job, clock, quirks, door, before } = this.#parts;
    const opened = await openSession({
      ...{ job, clock, quirks, door },
      madeAt: before.made_at,
      gone: this.#gone.signal,
      request: (method, params) => agent.request<unknown>(method, params),
      note: (text) => this.#note(text),
      updates: () => this.#updates,
    });
    const { session_id, canSteer, preface, ...begun } = opened;
    this.#session = session_id;
    this.#canSteer = canSteer;
    if (preface) this.#unsaid.unshift(preface);
    if (begun.model) this.#translation.modelIs(begun.model);
    if (job.resume === null) {
      Object.assign(this.#kept, { session_id, made_at: clock.now() });
      await job.named?.(session_id);
    }
    await this.#keep();
    this.events.push({ kind: "begun", session_id, ...begun });
  }

  async #nextTurn(agent: ClientContext): Promise<void> {
    while (this.#unsaid.length === 0 || this.#isHeld) {
      this.#said = Promise.withResolvers();
      await Promise.race([this.#said.promise, this.#goneEarly]);
    }
    const prompt = promptOf(this.#unsaid.join("\n\n"));
    this.#unsaid.length = 0;
    this.#denials = 0;
    this.#turn = "running";
    this.#translation.begin();
    const { events, isWhole } = await this.#prompt(agent, prompt);
    this.events.push(...events.filter(({ kind }) => kind !== "rested"));
    await this.#steering;
    this.#turn = "none";
    this.#permissions.withdraw();
    // What was steered into a turn that was cut off may never have reached the model: better said twice than not at all.
    if (!isWhole) this.#unsaid.unshift(...this.#steered);
    this.#steered = [];
    this.#kept.cost_usd = this.#translation.cost;
    await this.#keep();
    if (hasFailed(events)) this.#isHeld = true;
    const goesOn = this.#unsaid.length > 0 && !this.#isHeld;
    if (!goesOn) this.events.push(...events.filter(({ kind }) => kind === "rested"));
  }

  async #prompt(agent: ClientContext, prompt: unknown): Promise<{ events: OutsideEvent[]; isWhole: boolean }> {
    try {
      const turn = turnSchema.parse(
        await agent.request<unknown>("session/prompt", { sessionId: this.#session, prompt }),
      );
      const events = this.#translation.turnEnded(turn, this.#turn === "interrupted");
      return { events, isWhole: turn.stopReason === "end_turn" && !hasFailed(events) };
    } catch (error) {
      await this.#seeWhetherGone();
      if (this.#gone.signal.aborted) throw error;
      return { events: this.#translation.turnFailed(reasonOf(error)), isWhole: false };
    }
  }

  async #later(text: string): Promise<void> {
    this.#unsaid.push(text);
    this.#said.resolve();
    if (this.#turn !== "none" || this.events.ended) await this.#keep();
  }

  async #steer(text: string): Promise<void> {
    const params = {
      sessionId: this.#session,
      prompt: promptOf(text),
      _meta: { steering: { idleBehavior: "promptRequired" } },
    };
    try {
      const answer = await this.#connection?.agent.request<unknown>("_session/steering", params);
      if (z.looseObject({ outcome: z.literal("injected") }).safeParse(answer).success) {
        this.#steered.push(text);
        return;
      }
    } catch {
      // Then it is the next prompt.
    }
    await this.#later(text);
  }

  #notified(method: string, params: unknown): void {
    if (method !== "session/update") return;
    this.#updates++;
    const notification = notificationSchema.safeParse(params);
    if (!notification.success) this.#note("It sent an update that we do not understand.");
    // What it tells of a session that is taken up is in our record.
    else if (notification.data.sessionId === this.#session && !this.#closing)
      this.events.push(...this.#translation.update(notification.data.update));
  }

  #wanted(params: unknown): Promise<Answer> {
    if (this.#turn === "interrupted") return Promise.resolve(CANCELLED);
    const { events, answer } = this.#permissions.asked(params);
    this.events.push(...events);
    return answer;
  }

  async #keep(): Promise<void> {
    try {
      await this.#parts.record.write({ ...this.#kept, unsaid: [...this.#unsaid] });
    } catch (error) {
      this.#note(`What is known of its session could not be kept: ${reasonOf(error)}`);
    }
  }

  #note(text: string): void {
    if (!this.#closing) this.events.push({ kind: "noted", text });
  }

  async #hearErrors(): Promise<void> {
    for await (const line of linesOf(this.#parts.running.stderr, MAX_STDERR_LINE)) {
      if (line?.trim()) this.#errors = [...this.#errors.slice(1 - STDERR_LINES), line.slice(0, 500)];
    }
  }

  /** What it wrote to its standard error is of interest when something went wrong. */
  #tellErrors(): void {
    if (this.#errors.length > 0) this.#note(this.#errors.join("\n"));
    this.#errors = [];
  }
}

const MOST_DENIALS = 20;
const STDERR_LINES = 20;
const MAX_STDERR_LINE = 64 * 1024;

/** Words that begin with a slash would be a command to the agent, as if somebody sat before it: `/logout`. */
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
