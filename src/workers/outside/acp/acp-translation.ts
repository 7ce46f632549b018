import { requestGist } from "../session/request-text.ts";
import type { OutsideEvent, PermissionRequest } from "../session/session.ts";
import { requestKey } from "../session/tool-request.ts";
import {
  argsOf,
  clippedContent,
  contentText,
  MAX_CONTENT_CHARS,
  mergedCall,
  outputOf,
  planText,
  resultOf,
} from "./acp-content.ts";
import type { AcpQuirks } from "./acp-quirks.ts";
import { type AskedCall, isEmpty, permissionRequest } from "./acp-request.ts";
import { AcpUsage } from "./acp-usage.ts";
import { QUIET_UPDATES, updateSchema, type WireCall, type WirePermission, type WireTurn } from "./acp-wire.ts";

/**
 * From what an ACP agent sends to what it does. Holds no connection and no time: the same messages give the same events.
 *
 * ACP-EVENTS-1. A call is `called` once, when its arguments are known, and `answered` once; at the end of a turn none
 *     is open.
 * ACP-EVENTS-2. Words are `said` when something else follows them or the turn is over, in the order of what happened.
 * ACP-EVENTS-3. Calls of our own tools give no events: our MCP server records them.
 * ACP-EVENTS-4. Costs are told as totals of the session; what is `used` is what has been added.
 * ACP-EVENTS-5. A model call is `used`, as an estimate, when the next one writes; the end of the turn corrects the
 *     estimates, if the agent says what the turn took.
 */
export class AcpTranslation {
  readonly #quirks: AcpQuirks;
  readonly #calls = new Map<string, Call>();
  readonly #unknown = new Set<string>();
  readonly #usage: AcpUsage;
  #message: string | undefined;
  #words = "";
  #lastWords = "";
  #hasFailed = false;
  #wasDenied = false;

  constructor(quirks: AcpQuirks, model: string, costBefore: number) {
    this.#quirks = quirks;
    this.#usage = new AcpUsage(model, costBefore, quirks);
  }

  /** The session's cost up to now: what a later translation of the same session begins with. */
  get cost(): number {
    return this.#usage.cost;
  }

  /** A turn begins, with these words. */
  begin(words = ""): void {
    this.#usage.begin(words);
    this.#lastWords = "";
    this.#hasFailed = false;
    this.#wasDenied = false;
  }

  /** The agent says which model it uses. Returns the one whose price counts. */
  modelIs(model: string): string {
    this.#usage.model = model;
    return this.#usage.model;
  }

  update(received: { sessionUpdate: string; [field: string]: unknown }): OutsideEvent[] {
    const parsed = updateSchema.safeParse(received);
    if (!parsed.success) return this.#notUnderstood(received.sessionUpdate);
    const update = parsed.data;
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return this.#say(contentText(update.content), update.messageId ?? undefined);
      case "agent_thought_chunk":
        return [
          ...this.#usage.writes(contentText(update.content).length),
          { kind: "delta", of: "reasoning", text: contentText(update.content) },
        ];
      case "tool_call":
      case "tool_call_update":
        return [...this.#wordsAreOver(), ...this.#callChanged(this.#withInput(update))];
      case "plan":
        return [{ kind: "noted", text: planText(update.entries) }];
      case "usage_update":
        this.#usage.told(update);
        return [];
      case "session_info_update":
        if (update._meta && this.#quirks.hasFailed?.(update._meta)) this.#hasFailed = true;
        return [];
    }
  }

  /** Asked for permission. `ours` needs none. */
  askedPermission(id: string, asked: WirePermission): { ours: boolean; events: OutsideEvent[] } {
    const toolCall = this.#withInput(asked.toolCall);
    const isAnnounced = this.#calls.has(toolCall.toolCallId);
    const call = this.#call(toolCall);
    const announced = isAnnounced ? call.wire.rawInput : undefined;
    // The record keeps what it was called with; the question shows what is asked, and both where they differ.
    const rawInput = isEmpty(announced) ? toolCall.rawInput : undefined;
    const events = [...this.#wordsAreOver(), ...this.#callChanged({ ...toolCall, status: undefined, rawInput })];
    if (call.ours && this.#quirks.attests && (isAnnounced || !this.#quirks.titleIsTool)) return { ours: true, events };
    call.asked = { title: toolCall.title ?? undefined, rawInput: toolCall.rawInput };
    return { ours: false, events: [...events, ...this.#announce(call), permissionRequest(id, call)] };
  }

  /** What is asked for as it stands now, or nothing where it is what it was when the question was put. */
  changedSince(before: PermissionRequest, id: string): PermissionRequest | undefined {
    const call = this.#calls.get(before.call_id ?? "");
    const now = call && permissionRequest(id, call);
    return now && requestKey(now) !== requestKey(before) ? { ...now, isChanged: true } : undefined;
  }

  /** A person, or the policy, allowed this. */
  allowed(request: PermissionRequest): void {
    const call = this.#calls.get(request.call_id ?? "");
    if (call) call.allowed = [request.args, request.announced].map((input) => JSON.stringify(input));
  }

  /** The human, or the policy, did not give permission: an agent need not say what became of the call. */
  denied(callId: string): void {
    this.#wasDenied = true;
    const call = this.#calls.get(callId);
    if (call) call.denied = true;
  }

  /** Whether it has announced this call with some of its arguments, and tells of the rest later. */
  isPartial(callId: string): boolean {
    return this.#quirks.fillsLater === true && this.#calls.get(callId)?.state === "incomplete";
  }

  /** Whether it has told of a call of this tool of ours that has no result yet. */
  isCalling(tool: string): boolean {
    const isIt = (call: Call) => call.ours && call.state === "called" && call.tool.endsWith(`__${tool}`);
    return [...this.#calls.values()].some(isIt);
  }

  /** The turn is over. `interrupted` by us, not by itself. */
  turnEnded(turn: WireTurn, interrupted: boolean): OutsideEvent[] {
    const closed = this.#closed();
    if (this.#hasFailed) this.#usage.callFailed();
    const { events: used, ...cost } = this.#usage.turnEnded(turn);
    const events = [...closed, ...used];
    const words = this.#lastWords;
    const rested = { kind: "rested", words, ...cost } as const;
    if (this.#hasFailed) return [...events, { ...rested, how: "failed", retryable: isTransient(words) }];
    const { stopReason } = turn;
    if (stopReason === "refusal") return [...events, { ...rested, how: "refused" }];
    // An agent that was denied something may stop there as if it had been told to.
    if (stopReason === "cancelled" && (interrupted || !this.#wasDenied))
      return [...events, { ...rested, how: "cancelled" }];
    const why: OutsideEvent[] =
      stopReason === "end_turn" ? [] : [{ kind: "noted", text: `It stopped its turn: ${stopReason}.` }];
    return [...events, ...why, { ...rested, how: "done" }];
  }

  /** The turn ended with an error in place of an answer. */
  turnFailed(error: string): OutsideEvent[] {
    const closed = this.#closed();
    this.#usage.callFailed();
    return [...closed, { kind: "rested", how: "failed", words: error, retryable: isTransient(error) }];
  }

  /** The program has gone: nothing is left open. */
  gone(): OutsideEvent[] {
    const closed = this.#closed("Outcome unknown: the program ended while this ran.");
    return [...closed, ...this.#usage.callIsOver()];
  }

  #notUnderstood(kind: string): OutsideEvent[] {
    if (QUIET_UPDATES.has(kind) || this.#unknown.has(kind) || this.#unknown.size > 50) return [];
    this.#unknown.add(kind);
    return [{ kind: "noted", text: `It sent an update that we do not understand: ${kind.slice(0, 80)}.` }];
  }

  #say(text: string, message: string | undefined): OutsideEvent[] {
    const before = message !== this.#message ? this.#wordsAreOver() : [];
    this.#message = message;
    const used = this.#usage.writes(text.length);
    if (this.#words.length < MAX_CONTENT_CHARS) this.#words += text;
    return [...before, ...used, { kind: "delta", of: "text", text }];
  }

  #wordsAreOver(): OutsideEvent[] {
    const text = clippedContent(this.#words).trim();
    this.#words = "";
    if (text === "") return [];
    this.#lastWords = text;
    return [{ kind: "said", text }];
  }

  #callChanged(change: WireCall): OutsideEvent[] {
    const call = this.#call(change);
    if (call.state === "answered") return [];
    const isOther =
      call.allowed && !isEmpty(change.rawInput) && !call.allowed.includes(JSON.stringify(change.rawInput));
    call.wire = mergedCall(call.wire, change);
    const isOver = change.status === "completed" || change.status === "failed";
    if (call.output.length < MAX_CONTENT_CHARS) call.output += outputOf(change);
    const isPartial = change.status === "pending" && this.#quirks.fillsLater;
    const isKnown = change.status === "in_progress" || (!isEmpty(change.rawInput) && !isPartial);
    const events = isOver || isKnown ? this.#announce(call) : [];
    if (isOther) {
      delete call.allowed; // told once
      const text = `After permission was given it reported other arguments: ${requestGist({ tool: call.tool, args: change.rawInput })}`;
      events.push({ kind: "noted", text });
    }
    if (!isOver) return events;
    const content = resultOf(call.wire) || clippedContent(call.output) || (call.denied ? DENIED : "");
    return [...events, ...this.#answer(call, change.status === "completed", content)];
  }

  /** With its arguments where the protocol has them. */
  #withInput<C extends WireCall>(call: C): C {
    const rawInput = isEmpty(call.rawInput) ? this.#quirks.inputOf?.(call) : undefined;
    return rawInput === undefined ? call : { ...call, rawInput };
  }

  #call(wire: WireCall): Call {
    const known = this.#calls.get(wire.toolCallId);
    if (known) return known;
    // Never its title: a model may choose that.
    const tool = this.#quirks.toolOf(wire) ?? wire.name ?? wire.kind ?? "unnamed";
    const call: Call = {
      wire,
      tool: tool.slice(0, 200),
      ours: this.#quirks.isOurs(wire),
      state: "incomplete",
      denied: false,
      output: "",
    };
    this.#calls.set(wire.toolCallId, call);
    return call;
  }

  #announce(call: Call): OutsideEvent[] {
    if (call.state !== "incomplete") return [];
    call.state = "called";
    const args = argsOf(call.wire);
    const used = this.#usage.writes(JSON.stringify(args ?? null).length);
    if (call.ours) return used;
    return [...used, { kind: "called", call_id: call.wire.toolCallId, tool: call.tool, args, isBegun: true }];
  }

  #answer(call: Call, ok: boolean, content: string): OutsideEvent[] {
    call.state = "answered";
    this.#usage.answered(content.length);
    // Ids are the agent's and not used again; what is kept is only that this one is over.
    call.wire = { toolCallId: call.wire.toolCallId, rawInput: undefined, rawOutput: undefined };
    call.output = "";
    return call.ours ? [] : [{ kind: "answered", call_id: call.wire.toolCallId, ok, content }];
  }

  #closed(open = "Its turn ended before it said what came of this call."): OutsideEvent[] {
    const events = this.#wordsAreOver();
    for (const call of this.#calls.values()) {
      if (call.state === "answered") continue;
      const why = call.denied ? DENIED : open;
      events.push(...this.#announce(call), ...this.#answer(call, false, why));
    }
    this.#calls.clear();
    return events;
  }
}

interface Call extends AskedCall {
  ours: boolean;
  /** `incomplete` until its arguments are known. */
  state: "incomplete" | "called" | "answered";
  denied: boolean;
  /** What it has written so far. */
  output: string;
  /** What was allowed, as JSON. */
  allowed?: string[];
}

const DENIED = "Not run: permission was not given.";

/** What may be gone when it is tried again: limits, overload, the network. */
export function isTransient(error: string): boolean {
  return /\b(408|429|5\d\d)\b|overload|rate.?limit|quota|time.?out|timed out|ECONN|ENOTFOUND|network|unavailable|fetch failed/i.test(
    error,
  );
}
