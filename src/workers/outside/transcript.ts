import {
  type CallPart,
  callsOf,
  type Entry,
  type NewFact,
  NO_USAGE,
  type Part,
  type ReplyEntry,
  type ResultEntry,
  type Usage,
  type UserEntry,
} from "../../protocol/index.ts";
import {
  type ActingWorker,
  gistOfCall,
  gistOfText,
  isFromHuman,
  type Recorder,
  wordsAloud,
} from "../loop/recorded-loop.ts";
import type { OutsideEvent } from "./session/session.ts";

/** More of one answer or call than this is kept only in the program's own session. */
const MOST_KEPT = 64 * 1024;
/** An endless reply is written down whenever it has grown so much: it must not pile up in memory. */
const LARGEST_REPLY = 1024 * 1024;
const MOST_PARTS = 200;
const MOST_WARNINGS = 100;
const KEPT_WARNINGS = 3;
const LONGEST_WARNING = 500;

type Retry = NonNullable<Extract<OutsideEvent, { kind: "noted" }>["retry"]>;

interface Spent {
  usage: Usage;
  cost_usd: number | null;
  estimated?: true;
}

export const CUT_OFF = "Outcome unknown: the program was ended while this ran.";

/** Whether a result says that nobody knows what became of the call: the program ended while it ran. */
export function isCutOff({ ok, content }: ResultEntry): boolean {
  return !ok && content.startsWith("Outcome unknown: the program");
}

/**
 * The record of what a program says and does, in the same facts and entries as for a model in our loop.
 *
 * TRANSCRIPT-1. What it said and called since its last word is one reply; it is on disk before any result of it is.
 *     One that has no end is several. A call that begins before its reply is over is on disk at once, and before
 *     it is allowed.
 * TRANSCRIPT-2. A model call is counted once, in a fact, with the reply it made if it made one.
 */
export class Transcript {
  readonly #self: ActingWorker;
  readonly #recorder: Recorder;
  readonly #hiredAs: string;
  #model: string;
  #parts: Part[] = [];
  #size = 0;
  readonly #before: number;
  #replies = 0;
  /** Calls of the reply that have begun, each written down at once. */
  #begun = 0;
  #modelCalls = 0;
  #isThinking = false;
  #isAnswering = false;
  /** Whether its words may answer the human; what a plain program prints does not: it has `_outbox.md` for that. */
  readonly #isSpeech: boolean;
  #began = 0;
  readonly #calls = new Map<string, { tool: string; began: number }>();
  #warnings: string[] = [];
  #warned = 0;

  constructor(
    self: ActingWorker,
    recorder: Recorder,
    { model, turn, isSpeech }: { model: string; turn: number; isSpeech: boolean },
  ) {
    this.#isSpeech = isSpeech;
    this.#self = self;
    this.#recorder = recorder;
    this.#hiredAs = model;
    this.#model = model;
    this.#before = turn;
  }

  /** The number of the next turn: of its model calls or of its replies, since not everybody tells of every call. */
  get turn(): number {
    return this.#before + Math.max(this.#modelCalls, this.#replies);
  }

  get #who() {
    const { worker_id, node_id } = this.#self;
    return { worker_id, node_id };
  }

  /** Its model is asked: it was spoken to, or has its results. */
  thinks(): void {
    if (this.#isThinking) return;
    this.#isThinking = true;
    this.#began = this.#recorder.clock.now();
    this.#append([{ type: "model.called", data: { ...this.#who, model: this.#model, turn: this.turn } }]).catch(
      () => {}, // the next entry will say so
    );
  }

  async said(text: string): Promise<void> {
    this.thinks();
    if (text !== "") await this.#add({ type: "text", text: cut(text) }, text.length);
  }

  /** `isBegun`: it runs already. Otherwise it begins when its reply is over. */
  async called(id: string, name: string, args: unknown, isBegun = false): Promise<void> {
    this.thinks();
    const text = JSON.stringify(args) ?? "null";
    await this.#add({ type: "call", id, name, args: text.length > MOST_KEPT ? cut(text) : args }, text.length);
    if (isBegun) await this.begins();
  }

  /** What it has called so far begins now, although its reply may go on. */
  async begins(): Promise<void> {
    if (this.#parts.length > 0) await this.#reply(undefined, "goes on");
  }

  async #add(part: Part, size: number): Promise<void> {
    this.#parts.push(part);
    this.#size += size;
    if (this.#size >= LARGEST_REPLY || this.#parts.length >= MOST_PARTS) await this.flush();
  }

  /** One model call is over: what it took, with the reply that it made. */
  async used(model: string, usage: Usage, cost_usd: number | null, estimated?: true): Promise<void> {
    this.#model = model;
    await this.#reply({ usage, cost_usd, ...(estimated && { estimated }) });
  }

  /** The calls so far have cost so much more, or less, than was counted. This is neither a call nor a turn. */
  async corrects(cost_usd: number, usage_correction?: Usage): Promise<void> {
    const what = { model: this.#model, turn: this.turn, usage: NO_USAGE, cost_usd, finish: "other", ms: 0 };
    const data = { ...this.#who, ...what, correction: true as const, ...(usage_correction && { usage_correction }) };
    await this.#append([{ type: "model.responded", data }]);
  }

  async answered(call_id: string, ok: boolean, content: string, facts: NewFact[]): Promise<void> {
    await this.flush();
    const tool = this.#calls.get(call_id)?.tool;
    // A result without a call would break the conversation.
    if (tool !== undefined) await this.result({ role: "tool", call_id, tool, ok, content: cut(content) }, facts);
    else if (facts.length > 0) await this.#append(facts);
  }

  /** A call of one of our tools: on disk before it begins. */
  async calls(call: CallPart): Promise<void> {
    this.#parts.push(call);
    await this.flush();
  }

  async result(result: ResultEntry, facts: NewFact[] = []): Promise<void> {
    const { call_id, tool, ok, content } = result;
    this.#begun = 0;
    const began = this.#calls.get(call_id)?.began ?? this.#recorder.clock.now();
    this.#calls.delete(call_id);
    const ms = Math.round(this.#recorder.clock.now() - began);
    const fact: NewFact = {
      type: "tool.result",
      data: { ...this.#who, call_id, tool, ok, ms, gist: gistOfText(content) },
    };
    await this.#append([fact, ...facts], [result]);
  }

  /** It was ended in the middle of its own calls: no other result will come. */
  async cutOff(isOurs: (tool: string) => boolean): Promise<void> {
    await this.flush();
    for (const [call_id, { tool }] of [...this.#calls])
      if (!isOurs(tool)) await this.result({ role: "tool", call_id, tool, ok: false, content: CUT_OFF });
  }

  /** What is said to it, on disk before it is said. */
  async heard(entries: readonly UserEntry[], facts: NewFact[] = []): Promise<void> {
    // What it said before it heard this comes first: it is not an answer to it.
    await this.flush();
    this.#begun = 0;
    const received = entries
      .flatMap(({ messages = [] }) => messages)
      .map((message_id): NewFact => ({ type: "message.received", data: { message_id, by: this.#self.worker_id } }));
    if (this.#isSpeech && entries.some(isFromHuman)) this.#isAnswering = true;
    await this.#append([...received, ...facts], entries);
  }

  /** What a person may want to know about it, up to a limit. */
  async warned(text: string, retry?: Retry): Promise<void> {
    const message = text.slice(0, LONGEST_WARNING);
    this.#warnings = [...this.#warnings.slice(1 - KEPT_WARNINGS), message];
    if (++this.#warned > MOST_WARNINGS) return;
    const what = { ...this.#who, model: this.#hiredAs, message };
    if (!retry) return this.#append([{ type: "model.warned", data: what }]);
    // It asks its model again by itself: without this fact it would look busy.
    const { in_ms: retry_in_ms, ...failure } = retry;
    await this.#append([{ type: "model.failed", data: { ...what, turn: this.turn, ...failure, retry_in_ms } }]);
  }

  /** The last of them. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  note(...facts: NewFact[]): Promise<void> {
    return this.#append(facts);
  }

  /** What was said and not yet written is written; nothing follows from it any more. */
  async flush(): Promise<void> {
    if (this.#parts.length > 0) await this.#reply(undefined);
  }

  async #reply(spent: Spent | undefined, goesOn?: "goes on"): Promise<void> {
    const parts = this.#parts;
    this.#parts = [];
    this.#size = 0;
    const { usage, cost_usd } = spent ?? { usage: NO_USAGE, cost_usd: 0 };
    const calls = parts.filter((part) => part.type === "call");
    const finish = calls.length > 0 ? "tool-calls" : "stop";
    const model = this.#model;
    const reply: ReplyEntry = { role: "assistant", content: parts, model, usage, cost_usd, finish };
    const now = this.#recorder.clock.now();
    const facts: NewFact[] = [];
    if (spent) {
      const ms = this.#isThinking ? Math.round(now - this.#began) : 0;
      const data = { ...this.#who, model, turn: this.turn, usage, cost_usd, finish, ms };
      const estimated = spent.estimated && { estimated: spent.estimated };
      facts.push({ type: "model.responded", data: { ...data, ...estimated } });
      this.#isThinking = false;
    }
    for (const call of callsOf(reply)) {
      this.#calls.set(call.id, { tool: call.name, began: now });
      const data = { ...this.#who, call_id: call.id, tool: call.name, gist: gistOfCall(call) };
      facts.push({ type: "tool.called", data });
    }
    const words = this.#isAnswering ? wordsAloud(reply) : "";
    if (words && this.#recorder.aloud) facts.push(this.#recorder.aloud(this.#self.worker_id, words));
    if (parts.length > 0) this.#isAnswering = false;
    if (spent) this.#modelCalls += 1;
    if (spent) this.#begun = 0;
    // Calls that begin one after the other belong to one reply; without end they do not.
    const isCounted = goesOn === undefined || this.#begun++ % MOST_PARTS === 0;
    if (parts.length > 0 && isCounted) this.#replies += 1;
    await this.#append(facts, parts.length > 0 ? [reply] : []);
  }

  #append(facts: NewFact[], entries: readonly Entry[] = []): Promise<void> {
    const batch = entries.length > 0 ? { entries: { file: this.#self.conversation, entries: [...entries] } } : {};
    return this.#recorder.log.append({ facts, ...batch }).durable;
  }
}

function cut(text: string): string {
  return text.length > MOST_KEPT ? `${text.slice(0, MOST_KEPT)}\n… (${text.length} characters in all)` : text;
}
