import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { ClientConnection, ClientContext, McpServer } from "@agentclientprotocol/sdk";
import { z } from "zod";
import type { Clock } from "../../protocol/clock.ts";
import type { Running } from "../../sandbox/program.ts";
import { putFile } from "../../store/foreign-folder.ts";
import { serveFile } from "./acp-files.ts";
import { acpLaunch, launchOf } from "./acp-launch.ts";
import { messagesOf } from "./acp-stream.ts";
import { AcpTranslation } from "./acp-translation.ts";
import {
  type Initialized,
  initializedSchema,
  notificationSchema,
  permissionSchema,
  sessionSchema,
  turnSchema,
  type WirePermission,
} from "./acp-wire.ts";
import { EventQueue } from "./event-queue.ts";
import { linesOf } from "./lines.ts";
import { ProgramRecord } from "./program-record.ts";
import { OUR_SERVER, type Quirks, quirksOf } from "./quirks.ts";
import type { Adapter, Decision, Door, OutsideEvent, OutsideJob, OutsideSession } from "./session.ts";

/**
 * Any agent that speaks the Agent Client Protocol (version 1) on its standard input and output.
 *
 * A1. ACP has one prompt at a time. What is said while a turn runs is steered into it where the agent can (Codex); else
 *     it is the next prompt, at once when the turn is over, and the turn is not `rested` in between. Nothing is
 *     cancelled for it: who cannot wait calls `interrupt` first, then `say`.
 * A2. After a turn that was interrupted or has failed, what is still to be said waits until somebody says something.
 *     What was never sent when the program ends opens the first prompt when its session is taken up.
 * A3. A session that cannot be taken up again is not begun anew behind anybody's back: it exits without a `begun`.
 * A4. Leave to use our own tools is given here, by fields that the agent writes and its model does not.
 */
export function acpAdapter(clock: Clock): Adapter {
  return async (job) => {
    const record = new ProgramRecord(job.home, job.cwd, recordSchema);
    const before = (await record.read()) ?? { session_id: null, made_at: 0, cost_usd: 0, unsaid: [] };
    const quirks = quirksOf(job.profile);
    for (const [path, text] of Object.entries(filesOf(job, quirks))) await putFile(job.home, path, text);
    let door: Door | undefined;
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

function filesOf(job: OutsideJob, { instructions }: Quirks): Record<string, string> {
  const known = job.profile.quirks && acpLaunch[job.profile.quirks];
  return { ...known?.files(job), ...(instructions ? { [instructions]: `${job.system}\n` } : {}) };
}

interface Parts {
  job: OutsideJob;
  clock: Clock;
  quirks: Quirks;
  record: ProgramRecord<Kept>;
  running: Running;
  door: Door | undefined;
  before: Kept;
}

class AcpSession implements OutsideSession {
  readonly events = new EventQueue();
  readonly #parts: Parts;
  readonly #translation: AcpTranslation;
  readonly #gone = new AbortController();
  readonly #wants = new Map<string, Wish>();
  readonly #kept: Kept;
  /** What the agent is to be told next, in order. */
  readonly #unsaid: string[];
  #said = Promise.withResolvers<void>();
  #steering: Promise<void> = Promise.resolve();
  #agent: ClientContext | undefined;
  #session: string | undefined;
  #canSteer = false;
  #turn: "none" | "running" | "interrupted" = "none";
  /** Until somebody says something, what is unsaid stays so. */
  #isHeld = false;
  #isLive = false;
  #updates = 0;
  #asked = 0;
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
    void this.#live();
    void this.#hearErrors();
  }

  async say(text: string): Promise<void> {
    if (this.events.ended) throw new Error("The program has ended: start it again to say something to it.");
    this.#isHeld = false;
    if (this.#canSteer && this.#turn === "running" && this.#unsaid.length === 0) {
      this.#steering = this.#steering.then(() => this.#steer(text));
      return;
    }
    await this.#later(text);
  }

  async decide(id: string, decision: Decision): Promise<void> {
    const wish = this.#wants.get(id);
    if (!wish) return;
    this.#wants.delete(id);
    const outcome = outcomeOf(wish.asked, decision);
    if (!decision.allow) this.#translation.denied(wish.asked.toolCall.toolCallId);
    wish.answer({ outcome });
    // The protocol has no room for a reason.
    if (!decision.allow && decision.why) await this.say(`${wish.gist}: leave was not given. ${decision.why}`);
  }

  async interrupt(): Promise<void> {
    if (this.#turn !== "running" || !this.#agent || !this.#session) return;
    this.#turn = "interrupted";
    this.#isHeld = true;
    this.#withdraw();
    await this.#agent.notify("session/cancel", { sessionId: this.#session }).catch(() => {});
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
    let connection: ClientConnection | undefined;
    void running.ended.then(() => this.#gone.abort(new Error("The program has ended.")));
    try {
      connection = await this.#connect();
      await this.#open(connection.agent);
      while (!this.#gone.signal.aborted) await this.#nextTurn(connection.agent);
    } catch (error) {
      if (!this.#gone.signal.aborted && !this.#closing) {
        if (this.#isLive || job.resume === null) this.events.push(...this.#translation.turnFailed(reasonOf(error)));
        else this.#note(`Its session cannot be taken up: ${reasonOf(error)}`);
        void this.close();
      }
    }
    const { code, signal, exceeded } = await running.ended;
    connection?.close();
    this.#withdraw();
    this.events.push(...this.#translation.gone());
    this.events.end({ kind: "exited", code, signal, exceeded });
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
    this.#agent = agent;
    const { job, clock } = this.#parts;
    const initialized = initializedSchema.parse(
      await this.#answered(agent, "initialize", 60_000, {
        protocolVersion: 1,
        clientInfo: { name: "agiraph", version: "1" },
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      }),
    );
    if (initialized.protocolVersion !== 1)
      throw new Error(`It speaks version ${initialized.protocolVersion} of ACP; we speak version 1.`);
    const params = { cwd: job.cwd, mcpServers: await this.#servers(initialized), ...this.#system(initialized) };
    const canLoad = initialized.agentCapabilities?.loadSession === true;
    if (job.resume !== null && !canLoad) throw new Error(`It cannot take up session ${job.resume}: it keeps none.`);
    if (job.resume !== null) await this.#untilOld();
    const opened = sessionSchema.parse(
      (await this.#signedIn(agent, initialized, () =>
        job.resume === null
          ? this.#answered(agent, "session/new", 120_000, params)
          : this.#answered(agent, "session/load", 120_000, { ...params, sessionId: job.resume }),
      )) ?? {},
    );
    this.#session = job.resume ?? opened.sessionId ?? undefined;
    if (!this.#session) throw new Error("It made a session without an id.");
    if (job.resume === null) Object.assign(this.#kept, { session_id: this.#session, made_at: clock.now() });
    await this.#keep();
    if (job.resume !== null && this.#parts.quirks.replaysLate) await this.#untilSilent();
    this.#canSteer = initialized._meta?.steering?.supported === true;
    const model = await this.#chooseModel(agent, opened.configOptions ?? []);
    const { title, name, version } = initialized.agentInfo ?? {};
    const about = [title ?? name, version].filter(Boolean).join(" ");
    this.#isLive = true;
    this.events.push({
      kind: "begun",
      session_id: this.#session,
      ...(model ? { model } : {}),
      ...(about ? { about } : {}),
    });
  }

  async #servers(initialized: Initialized): Promise<McpServer[]> {
    const { door, job } = this.#parts;
    if (!door) return [];
    if (initialized.agentCapabilities?.mcpCapabilities?.http) {
      const headers = [{ name: "Authorization", value: `Bearer ${door.token}` }];
      return [{ type: "http", name: OUR_SERVER, url: door.url, headers }];
    }
    // Its home is what the sandbox shows it for certain.
    const bridge = `.agiraph/${BRIDGE.endsWith(".ts") ? "mcp-bridge.ts" : "mcp-bridge.mjs"}`;
    await putFile(job.home, bridge, await readFile(BRIDGE));
    const env = { AGIRAPH_DOOR_URL: door.url, AGIRAPH_DOOR_TOKEN: door.token };
    return [
      {
        name: OUR_SERVER,
        command: process.execPath,
        args: [`${job.home}/${bridge}`],
        env: Object.entries(env).map(([name, value]) => ({ name, value })),
      },
    ];
  }

  /** Who it is and whose words these are goes where its model takes it for granted: the system prompt. */
  #system({ agentCapabilities }: Initialized): Record<string, unknown> {
    const { job, quirks } = this.#parts;
    if (agentCapabilities?.sessionCapabilities?.systemPrompt)
      return { systemPrompt: { mode: "append", content: [{ type: "text", text: job.system }] } };
    if (!quirks.instructions && job.resume === null) this.#unsaid.unshift(job.system);
    return {};
  }

  async #signedIn<T>(agent: ClientContext, { authMethods }: Initialized, use: () => Promise<T>): Promise<T> {
    try {
      return await use();
    } catch (error) {
      if (codeOf(error) !== AUTH_REQUIRED) throw error;
      const { signIn } = this.#parts.quirks;
      const offered = authMethods?.map(({ id }) => id) ?? [];
      if (!signIn || !offered.includes(signIn))
        throw new Error(
          `It is not signed in. Sign in with it in a terminal, or give it a key (${offered.join(", ")}).`,
        );
      await this.#answered(agent, "authenticate", 60_000, { methodId: signIn });
      return use();
    }
  }

  async #untilOld(): Promise<void> {
    const { quirks, clock, before } = this.#parts;
    const left = (Math.floor(before.made_at / MINUTE) + 1) * MINUTE + 1000 - clock.now();
    if (!quirks.losesYoungSessions || left <= 0 || left > 2 * MINUTE) return;
    this.#note(`Waiting ${Math.ceil(left / 1000)} s: it would lose a session taken up in the minute it was made.`);
    await clock.sleep(left, this.#gone.signal);
  }

  async #untilSilent(): Promise<void> {
    for (let heard = -1; heard !== this.#updates; ) {
      heard = this.#updates;
      await this.#parts.clock.sleep(300, this.#gone.signal);
    }
  }

  async #chooseModel(agent: ClientContext, options: readonly Option[]): Promise<string | undefined> {
    const { model } = this.#parts.job;
    const option = options.find(({ id, category }) => category === "model" || id === "model");
    const current = typeof option?.currentValue === "string" ? option.currentValue : undefined;
    if (option && model !== null && model !== current) {
      try {
        const chosen = { sessionId: this.#session, configId: option.id, value: model };
        await this.#answered(agent, "session/set_config_option", 60_000, chosen);
      } catch (error) {
        this.#note(`It does not take the model ${model} and goes on with ${current}: ${reasonOf(error)}`);
        if (current) this.#translation.modelIs(current);
        return current;
      }
    }
    const used = model ?? current;
    if (used) this.#translation.modelIs(used);
    return used;
  }

  async #nextTurn(agent: ClientContext): Promise<void> {
    while (this.#unsaid.length === 0 || this.#isHeld) {
      this.#said = Promise.withResolvers();
      await Promise.race([this.#said.promise, aborted(this.#gone.signal)]);
    }
    const text = this.#unsaid.join("\n\n");
    this.#unsaid.length = 0;
    this.#turn = "running";
    this.#translation.begin();
    const answer = agent
      .request<unknown>("session/prompt", { sessionId: this.#session, prompt: [{ type: "text", text }] })
      .then((turn) => this.#translation.turnEnded(turnSchema.parse(turn), this.#turn === "interrupted"))
      .catch((error: unknown) => {
        if (this.#gone.signal.aborted) throw error;
        return this.#translation.turnFailed(reasonOf(error));
      });
    const events = await answer;
    await this.#steering;
    this.#turn = "none";
    this.#withdraw();
    this.#kept.cost_usd = this.#translation.cost;
    await this.#keep();
    if (hasFailed(events)) this.#isHeld = true;
    const goesOn = this.#unsaid.length > 0 && !this.#isHeld;
    this.events.push(...events.filter(({ kind }) => kind !== "rested" || !goesOn));
  }

  async #later(text: string): Promise<void> {
    this.#unsaid.push(text);
    this.#said.resolve();
    if (this.#turn !== "none") await this.#keep();
  }

  async #steer(text: string): Promise<void> {
    const params = {
      sessionId: this.#session,
      prompt: [{ type: "text", text }],
      _meta: { steering: { idleBehavior: "promptRequired" } },
    };
    try {
      const answer = await this.#agent?.request<unknown>("_session/steering", params);
      if (z.looseObject({ outcome: z.literal("injected") }).safeParse(answer).success) return;
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
    else if (this.#isLive && notification.data.sessionId === this.#session && !this.#closing)
      this.events.push(...this.#translation.update(notification.data.update));
  }

  #wanted(params: unknown): Promise<{ outcome: Outcome }> {
    const asked = permissionSchema.safeParse(params);
    if (!asked.success) throw new Error("It asked for leave in a way that we do not understand.");
    if (this.#turn === "interrupted") return Promise.resolve({ outcome: { outcome: "cancelled" } });
    const id = `leave-${++this.#asked}`;
    const { ours, events } = this.#translation.wanted(id, asked.data);
    this.events.push(...events);
    if (ours) return Promise.resolve({ outcome: outcomeOf(asked.data, { allow: true }) });
    const { promise, resolve } = Promise.withResolvers<{ outcome: Outcome }>();
    this.#wants.set(id, {
      asked: asked.data,
      gist: asked.data.toolCall.title ?? "What you asked for",
      answer: resolve,
    });
    return promise;
  }

  /** Nobody will decide any more what it asked for. */
  #withdraw(): void {
    for (const wish of this.#wants.values()) wish.answer({ outcome: { outcome: "cancelled" } });
    this.#wants.clear();
  }

  async #answered(agent: ClientContext, method: string, ms: number, params: unknown): Promise<unknown> {
    const answered = new AbortController();
    const late = this.#parts.clock
      .sleep(ms, AbortSignal.any([answered.signal, this.#gone.signal]))
      .then(() => Promise.reject(new Error(`It did not answer ${method} within ${ms / 1000} s: timed out.`)));
    try {
      return await Promise.race([agent.request<unknown>(method, params), late]);
    } finally {
      answered.abort();
      late.catch(() => {});
    }
  }

  #keep(): Promise<void> {
    return this.#parts.record.write({ ...this.#kept, unsaid: [...this.#unsaid] });
  }

  #note(text: string): void {
    if (!this.#closing) this.events.push({ kind: "noted", text });
  }

  async #hearErrors(): Promise<void> {
    let heard = 0;
    for await (const line of linesOf(this.#parts.running.stderr, MAX_NOTE * 20)) {
      if (line?.trim() && ++heard <= MAX_NOTES) this.#note(line.slice(0, MAX_NOTE));
      if (heard === MAX_NOTES + 1) this.#note("It writes more to its standard error, which is not shown.");
    }
  }
}

interface Wish {
  asked: WirePermission;
  gist: string;
  answer(response: { outcome: Outcome }): void;
}

type Outcome = { outcome: "selected"; optionId: string } | { outcome: "cancelled" };
type Option = NonNullable<z.infer<typeof sessionSchema>["configOptions"]>[number];

const MINUTE = 60_000;
const MAX_NOTES = 200;
const MAX_NOTE = 500;
const AUTH_REQUIRED = -32_000;
const BRIDGE = fileURLToPath(new URL(`./mcp-bridge.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url));

/** Once, not for ever: what is always allowed is decided on our side, where it is on record. */
function outcomeOf({ options }: WirePermission, { allow }: Decision): Outcome {
  const kinds = allow ? ["allow_once", "allow_always"] : ["reject_once", "reject_always"];
  const option = kinds.flatMap((kind) => options.find((offered) => offered.kind === kind) ?? []).at(0);
  return option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" };
}

function hasFailed(events: readonly OutsideEvent[]): boolean {
  return events.some((event) => event.kind === "rested" && (event.how === "failed" || event.how === "refused"));
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const details = z.looseObject({ data: z.looseObject({ details: z.string() }) }).safeParse(error);
  return details.success ? `${error.message} (${details.data.data.details})` : error.message;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
