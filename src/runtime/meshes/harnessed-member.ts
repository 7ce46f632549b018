import type { MeshMessage } from "../../mesh/files/mesh-message.ts";
import type { Member } from "../../mesh/running/member.ts";
import type { Model } from "../../models/model.ts";
import { type Entry, type Outcome, textOf, type UserEntry } from "../../protocol/index.ts";
import { conversationFile } from "../../store/paths.ts";
import type { Tool } from "../../tools/tool.ts";
import { closeTools } from "../../tools/tool.ts";
import { Toolbox, type Tools } from "../../tools/toolbox.ts";
import { type Past, pastOf } from "../../workers/loop/past.ts";
import { type ActingWorker, type Recorder, runRecordedLoop } from "../../workers/loop/recorded-loop.ts";
import type { ReplyWithoutCall } from "../../workers/loop/work-loop.ts";
import { MESH_RUN } from "./mesh-record.ts";

export interface HarnessedPorts {
  worker_id: string;
  recorder: Recorder;
  model(): Promise<Model>;
  /** Its prompt, as it is declared now. */
  prompt(begunBy: MeshMessage): Promise<string>;
  /** For a conversation that begins with this message. */
  tools(self: ActingWorker, model: Model, begunBy: MeshMessage): Promise<Tool[]>;
  words(message: MeshMessage): string;
  /** Whether this task is still active. */
  isActive(name: string): boolean;
  /** Gives up on its task; why. */
  giveUp(why: string): Promise<void>;
  record(state: "busy" | "idle" | "dead", detail?: string): void;
  maxTurns: number;
}

/**
 * A mesh agent that is a model in our own loop. Each task is a separate conversation: only messages and shared files
 * remain (seed 004, "Stateless agents").
 *
 * HARNESSED-MEMBER-1. A message counts as delivered when it is in the conversation, on disk. Messages that come while
 *     it works are added between two turns.
 * HARNESSED-MEMBER-2. Every task ends: by `tx_done`, or it is given up with a reason.
 * HARNESSED-MEMBER-3. A task that was in progress when the process ended continues where it was; one that waits for an
 *     answer waits on.
 */
export class HarnessedMember implements Member {
  readonly #ports: HarnessedPorts;
  readonly #self: ActingWorker;
  readonly #stop = new AbortController();
  #messages: { message: MeshMessage; told(): void }[] = [];
  #arrived = Promise.withResolvers<void>();
  #working: Promise<void> | undefined;

  constructor(ports: HarnessedPorts) {
    this.#ports = ports;
    const { worker_id } = ports;
    this.#self = { worker_id, node_id: null, conversation: conversationFile(MESH_RUN, worker_id) };
  }

  tell(message: MeshMessage): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#messages.push({ message, told: resolve });
    this.#arrived.resolve();
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
    return promise;
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error("closed"));
    await this.#working?.catch(() => {});
  }

  /** Works until there are no more messages. */
  async #work(): Promise<void> {
    while (this.#messages.length > 0 && !this.#stop.signal.aborted) {
      this.#task = undefined;
      this.#waits = false;
      this.#ports.record("busy");
      const outcome = await this.#converse().catch(
        (error: unknown): Outcome => ({
          kind: "failed",
          error: error instanceof Error ? error.message : String(error),
        }),
      );
      if (this.#stop.signal.aborted) return;
      // A conversation that could not begin has not heard the message: its task fails with the reason.
      for (const { message, told } of outcome.kind === "failed" ? this.#messages.splice(0) : []) {
        if (message.header.type === "task") this.#task = message.name;
        told();
      }
      this.#ports.record("idle");
      if (this.#task !== undefined && this.#ports.isActive(this.#task)) await this.#ports.giveUp(whyOf(outcome));
    }
  }

  /** The task it works on. */
  #task: string | undefined;
  /** It has asked another agent something, or handed something on, and may wait for the answer. */
  #waits = false;

  async #converse(): Promise<Outcome> {
    const { prompt, recorder, maxTurns } = this.#ports;
    const [first] = this.#messages;
    if (!first) throw new Error("a conversation begins with a message");
    const model = await this.#ports.model();
    const hands = await this.#ports.tools(this.#self, model, first.message);
    const toolbox = this.#noticing(new Toolbox(hands));
    const system = await prompt(first.message);
    const past = await this.#takenUp();
    if (!past) {
      const entries: Entry[] = [{ role: "system", content: system }];
      await recorder.log.append({ entries: { file: this.#self.conversation, entries } }).durable;
    }
    const { history = [], turn = 1 } = past ?? {};
    const assignment = {
      system: past?.system ?? system,
      history,
      turn,
      maxTurns: turn - 1 + maxTurns,
      compactable: null,
    };
    try {
      return await runRecordedLoop(
        { ...assignment, onReplyWithoutCall: (found, signal) => this.#onReplyWithoutCall(found, signal) },
        { model, toolbox, mail: () => this.#take() },
        this.#self,
        recorder,
        this.#stop.signal,
      );
    } finally {
      await closeTools(hands);
    }
  }

  /** HARNESSED-MEMBER-3: the conversation about a task that an earlier process had begun. */
  async #takenUp(): Promise<Past | undefined> {
    const [first] = this.#messages;
    if (first?.message.header.type !== "task") return undefined;
    const words = this.#ports.words(first.message);
    const stored = await this.#ports.recorder.log.conversation(this.#self.conversation);
    const past = pastOf(stored, "assignment", (entry) => entry.role === "user" && entry.content === words);
    if (!past) return undefined;
    this.#messages.shift();
    // It is not news to it: a wait for an answer goes on.
    if (this.#messages.length === 0) this.#arrived = Promise.withResolvers();
    this.#task = first.message.name;
    first.told();
    const heard = past.history.findLastIndex((entry) => entry.role === "user");
    this.#waits = past.history
      .slice(heard)
      .some((entry) => entry.role === "tool" && entry.ok && AWAITED.has(entry.tool));
    return past;
  }

  #noticing(tools: Tools): Tools {
    return {
      get specs() {
        return tools.specs;
      },
      run: async (call, signal) => {
        const result = await tools.run(call, signal);
        if (result.ok && AWAITED.has(call.name)) this.#waits = true;
        return result;
      },
      recover: (call, signal) => tools.recover(call, signal),
    };
  }

  #take(): UserEntry[] {
    this.#arrived = Promise.withResolvers();
    if (this.#messages.length > 0) this.#waits = false;
    return this.#messages.splice(0).map(({ message, told }): UserEntry => {
      if (message.header.type === "task") this.#task = message.name;
      // The loop writes it to disk before the model is asked.
      queueMicrotask(told);
      return { role: "user", from: "agiraph", content: this.#ports.words(message) };
    });
  }

  /** Without a task, a reply without a call is the end. With one, it waits for an answer or forgot `tx_done`. */
  async #onReplyWithoutCall(
    { reply, inARow, missedCall }: ReplyWithoutCall,
    signal: AbortSignal,
  ): Promise<Outcome | UserEntry[]> {
    if (this.#messages.length > 0) return this.#take();
    if (this.#task === undefined) return { kind: "finished", summary: textOf(reply) };
    if (this.#waits) {
      await aborted(this.#arrived.promise, signal);
      return this.#take();
    }
    if (inARow > MOST_REMINDERS)
      return { kind: "failed", error: `It stopped without tx_done. Its last words: ${textOf(reply)}` };
    const content =
      missedCall ?? "You called no tool, and your task has not ended. If it is done, call tx_done; otherwise go on.";
    return [{ role: "user", from: "agiraph", content }];
  }
}

const AWAITED = new Set(["tx_ask", "tx_send"]);
const MOST_REMINDERS = 3;

async function aborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise: stop, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await Promise.race([promise, stop]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    stop.catch(() => {});
  }
}

function whyOf(outcome: Outcome): string {
  if ("error" in outcome) return outcome.error;
  return outcome.kind === "exhausted" ? `It used all ${outcome.turns} turns.` : `It ended: ${outcome.kind}.`;
}
