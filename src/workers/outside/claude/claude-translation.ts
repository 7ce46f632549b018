import { NO_USAGE, type Usage } from "../../../protocol/index.ts";
import { OUR_SERVER, type OutsideEvent } from "../session/session.ts";
import type { ClaudeLine, WireBlock, WireUsage } from "./claude-wire.ts";

type LineOf<K extends ClaudeLine["is"]> = Extract<ClaudeLine, { is: K }>["line"];

const OURS = `mcp__${OUR_SERVER}__`;

/**
 * From the lines of Claude Code to what it does. Holds no process and no time: the same lines give the same events.
 *
 * CLAUDE-EVENTS-1. Calls of our own tools give no events: our MCP server records them.
 * CLAUDE-EVENTS-2. What a sub-agent of its own does is part of the call that began it; only what it uses is told, as
 *     far as it is known before the turn is over.
 * CLAUDE-EVENTS-3. `total_cost_usd` is the session's, over all its processes; what is told is what the turn has added.
 * CLAUDE-EVENTS-4. A turn is over with its `result`, unless something that was said to it waits for the next: that one
 *     begins by itself.
 * CLAUDE-EVENTS-5. A session is lost when it says so in words; an end before it has begun says nothing of it.
 */
export class ClaudeTranslation {
  /** What was said and is not yet in its context, by uuid. */
  readonly #unheard = new Set<string>();
  /** Of these, those that it has not even taken from its input: its next model call may begin without them. */
  readonly #untaken = new Set<string>();
  #allTaken = Promise.withResolvers<void>();
  /** Of what is unheard, what `takeUnread` has told of. */
  readonly #toldOf = new Set<string>();
  readonly #ours = new Set<string>();
  readonly #open = new Set<string>();
  #model = "unknown";
  #hasBegun = false;
  #words = "";
  #cost: number | null;
  #usage: Usage | undefined;
  /** Replies of sub-agents that were told of: each comes in several lines. */
  readonly #aside = new Set<string>();
  /** While its model replies. */
  #reply: PromiseWithResolvers<void> | undefined;
  /** From what is said to it to the end of the turn. */
  #turn: PromiseWithResolvers<void> | undefined;

  /** `cost` is what the session had cost before; null where nobody knows. */
  constructor(cost: number | null) {
    this.#cost = cost;
  }

  /** Resolves when its model is not in the middle of a reply. */
  get replyIsOver(): Promise<void> {
    return this.#reply?.promise ?? Promise.resolve();
  }

  /** Resolves with the end of its turn, when it has told what that cost. */
  get turnIsOver(): Promise<void> {
    return this.#turn?.promise ?? Promise.resolve();
  }

  /** Resolves when it has taken all that was said so far: its next model call has it. */
  get allTaken(): Promise<void> {
    return this.#allTaken.promise;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  said(uuid: string): void {
    this.#turn ??= Promise.withResolvers();
    this.#unheard.add(uuid);
    if (this.#untaken.size === 0) this.#allTaken = Promise.withResolvers();
    this.#untaken.add(uuid);
  }

  /** Whether something waits to be in its context; each is told of once. */
  takeUnread(): boolean {
    const isMore = [...this.#unheard].some((uuid) => !this.#toldOf.has(uuid));
    for (const uuid of this.#unheard) this.#toldOf.add(uuid);
    return isMore;
  }

  translate({ is, line }: ClaudeLine): OutsideEvent[] {
    switch (is) {
      case "system/init":
        return this.#begun(line);
      case "system/api_retry":
        return [{ kind: "noted", text: retryWords(line), retry: retryOf(line) }];
      case "assistant":
        return line.parent_tool_use_id ? this.#spokenAside(line) : this.#spoken(line);
      case "user":
        return this.#answers(line);
      case "stream_event":
        return line.parent_tool_use_id ? [SIGN_OF_LIFE] : this.#streamed(line.event);
      case "command_lifecycle":
        this.#taken(line.command_uuid);
        if (line.state !== "queued") this.#unheard.delete(line.command_uuid);
        return [];
      case "result":
        return this.#result(line);
      case "control_request/can_use_tool":
        return [permissionRequest(line)];
      case "control_cancel_request":
        return [];
    }
  }

  /** The program has gone: nothing is left open. */
  gone(): OutsideEvent[] {
    this.#turnEnded();
    this.#allTaken.resolve();
    const content = "Outcome unknown: the program ended while this ran.";
    const open = [...this.#open];
    this.#open.clear();
    return open.map((call_id) => ({ kind: "answered", call_id, ok: false, content }));
  }

  #taken(uuid: string): void {
    this.#untaken.delete(uuid);
    if (this.#untaken.size === 0) this.#allTaken.resolve();
  }

  #begun({ session_id, model, claude_code_version, mcp_servers }: LineOf<"system/init">): OutsideEvent[] {
    if (model) this.#model = model;
    // It says so again with every turn.
    if (this.#hasBegun) return [];
    this.#hasBegun = true;
    const about = claude_code_version ? { about: `Claude Code ${claude_code_version}` } : {};
    const lost = mcp_servers.filter(({ name, status }) => name === OUR_SERVER && status === "failed");
    return [
      { kind: "begun", session_id, ...(model ? { model } : {}), ...about },
      ...lost.map((): OutsideEvent => ({ kind: "noted", text: "It could not reach our tools: it cannot publish." })),
    ];
  }

  #spoken({ message }: LineOf<"assistant">): OutsideEvent[] {
    // Words of the program in place of a reply of its model: the result says the same.
    if (message.model === "<synthetic>") return [];
    this.#model = message.model;
    return message.content.flatMap((block) => this.#part(block));
  }

  /** A sub-agent's reply. How much it wrote is not said: about a token for every four characters. */
  #spokenAside({ message }: LineOf<"assistant">): OutsideEvent[] {
    const { id, model, usage, content } = message;
    const output = Math.ceil(JSON.stringify(content).length / 4);
    const isNew = !this.#aside.has(id);
    if (this.#aside.size > MANY_REPLIES) this.#aside.clear();
    this.#aside.add(id);
    const counted = isNew ? usageOf(usage ?? NO_WIRE_USAGE) : NO_USAGE;
    return [{ kind: "used", model, usage: { ...counted, output }, cost_usd: null, aside: true }];
  }

  #part(block: WireBlock): OutsideEvent[] {
    if ("text" in block) {
      this.#words = block.text;
      return [{ kind: "said", text: block.text }];
    }
    if (!("input" in block)) return [];
    if (block.name.startsWith(OURS)) {
      this.#ours.add(block.id);
      return [];
    }
    this.#open.add(block.id);
    return [{ kind: "called", call_id: block.id, tool: block.name, args: block.input }];
  }

  #answers({ message, uuid, isReplay, parent_tool_use_id }: LineOf<"user">): OutsideEvent[] {
    if (isReplay && uuid) {
      this.#taken(uuid);
      this.#unheard.delete(uuid);
    }
    if (isReplay || typeof message.content === "string") return [];
    if (parent_tool_use_id) return [SIGN_OF_LIFE];
    return message.content.flatMap((block) => {
      if (!("tool_use_id" in block) || this.#ours.delete(block.tool_use_id)) return [];
      const { tool_use_id: call_id, is_error } = block;
      this.#open.delete(call_id);
      return [{ kind: "answered", call_id, ok: is_error !== true, content: textOf(block.content) }] as const;
    });
  }

  #streamed({ type, delta, message, usage }: LineOf<"stream_event">["event"]): OutsideEvent[] {
    if (message) this.#model = message.model;
    if (type === "message_start") this.#reply ??= Promise.withResolvers();
    if (type === "message_stop") this.#replied();
    if (type === "message_delta" && usage) this.#usage = usageOf(usage);
    if (type === "message_stop") return this.#used();
    if (delta?.type === "text_delta" && delta.text) return [{ kind: "delta", of: "text", text: delta.text }];
    if (delta?.type === "thinking_delta" && delta.thinking)
      return [{ kind: "delta", of: "reasoning", text: delta.thinking }];
    return [];
  }

  #used(): OutsideEvent[] {
    const usage = this.#usage;
    this.#usage = undefined;
    return usage ? [{ kind: "used", model: this.#model, usage, cost_usd: null }] : [];
  }

  #result(line: LineOf<"result">): OutsideEvent[] {
    if (!this.#hasBegun) return [wordsOf(line)].map((why) => (LOST.test(why) ? { kind: "lost", why } : noted(why)));
    const denied = (line.permission_denials ?? []).map(({ tool_name }) => tool_name);
    const events = this.#used();
    if (denied.length > 0) events.push({ kind: "noted", text: `It was not allowed to use: ${denied.join(", ")}.` });
    this.#replied();
    const isNextTurn = this.#unheard.size > 0 || (line.queued_turn_count ?? 0) > 0;
    if (isNextTurn && !line.is_error) return events;
    this.#turnEnded();
    const before = this.#cost;
    if (typeof line.total_cost_usd === "number") this.#cost = line.total_cost_usd;
    const added = before !== null && this.#cost !== null ? { cost_usd: Math.max(0, this.#cost - before) } : {};
    return [
      ...events,
      { kind: "rested", ...howOf(line), words: line.is_error ? wordsOf(line) : this.#said(line), ...added },
    ];
  }

  #replied(): void {
    this.#reply?.resolve();
    this.#reply = undefined;
  }

  #turnEnded(): void {
    this.#replied();
    this.#aside.clear();
    this.#turn?.resolve();
    this.#turn = undefined;
  }

  #said({ result }: LineOf<"result">): string {
    return result || this.#words;
  }
}

const MANY_REPLIES = 10_000;
const NO_WIRE_USAGE: WireUsage = { input_tokens: 0, output_tokens: 0 };

/** All that it says, before it exits, when it is asked to resume a session that it does not have. */
const LOST = /^No conversation found with session ID/m;

function noted(text: string): OutsideEvent {
  return { kind: "noted", text };
}

/** Tells the silence watchdog that it works. */
const SIGN_OF_LIFE: OutsideEvent = { kind: "delta", of: "reasoning", text: "" };

function howOf({ is_error, terminal_reason, stop_reason }: LineOf<"result">): {
  how: "done" | "cancelled" | "failed" | "refused";
} {
  if (terminal_reason?.startsWith("aborted")) return { how: "cancelled" };
  // An error of the API comes with the subtype "success".
  if (is_error) return { how: "failed" };
  return { how: stop_reason === "refusal" ? "refused" : "done" };
}

function wordsOf({ result, errors, subtype }: LineOf<"result">): string {
  return result || errors?.join("\n") || `It ended its turn with ${subtype}.`;
}

function retryWords({ attempt, max_retries, error_status, error }: LineOf<"system/api_retry">): string {
  const what = [error_status, error].filter((part) => part !== null && part !== undefined).join(" ");
  return `Its model did not answer (${what}); it tries again, ${attempt} of ${max_retries}.`;
}

function retryOf({ error_status, retry_delay_ms }: LineOf<"system/api_retry">) {
  const status = error_status ?? undefined;
  return { reason: reasonOf(status), in_ms: retry_delay_ms, ...(status !== undefined && { status }) };
}

/** As our own models call it. Without a status there was no answer. */
function reasonOf(status: number | undefined): string {
  if (status === undefined) return "connection";
  if (status === 401 || status === 403) return "auth";
  return status === 429 || status === 529 ? "rate_limited" : status >= 500 ? "server" : "unknown";
}

function permissionRequest({ request_id, request }: LineOf<"control_request/can_use_tool">): OutsideEvent {
  const { tool_name, input, description, tool_use_id } = request;
  return {
    kind: "asked_permission",
    id: request_id,
    tool: tool_name,
    args: input,
    ...(description ? { title: description } : {}),
    ...(tool_use_id ? { call_id: tool_use_id } : {}),
  };
}

function usageOf(usage: WireUsage): Usage {
  const cache_read = usage.cache_read_input_tokens ?? 0;
  const cache_write = usage.cache_creation_input_tokens ?? 0;
  return {
    ...NO_USAGE,
    // Ours counts every prompt token, theirs only those that no cache had.
    input: usage.input_tokens + cache_read + cache_write,
    output: usage.output_tokens,
    cache_read,
    cache_write,
  };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return JSON.stringify(content) ?? "";
  return content
    .map((part: unknown) => {
      if (typeof part !== "object" || part === null) return String(part);
      if ("text" in part && typeof part.text === "string") return part.text;
      return `(${"type" in part ? String(part.type) : "something"})`;
    })
    .join("\n");
}
