import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { type AgentId, COORDINATOR, type Fact, type FactOf, type NodeId, type RunId } from "../../protocol/index.ts";

/** Where a worker works: on a node, or as the coordinator. */
type SpanKey = NodeId | typeof COORDINATOR;

interface WorkSpan {
  span: Span;
  context: Context;
}

/** The open spans of one agent: its run, nodes and turns, and the calls in them. */
export class AgentSpans {
  readonly #tracer: Tracer;
  readonly #id: AgentId;
  #name: string | undefined;
  #run: WorkSpan | undefined;
  readonly #nodes = new Map<NodeId, WorkSpan>();
  readonly #parents = new Map<NodeId, NodeId>();
  readonly #turns = new Map<SpanKey, WorkSpan & { turn: number }>();
  readonly #calls = new Map<SpanKey, Span>();
  readonly #tools = new Map<string, Span>();

  constructor(tracer: Tracer, id: AgentId, name: string | undefined) {
    this.#tracer = tracer;
    this.#id = id;
    this.#name = name;
  }

  hear(fact: Fact): void {
    const at = timeOf(fact);
    this.#hearOfRun(at, fact);
    this.#hearOfNode(at, fact);
    this.#hearOfTurn(at, fact);
  }

  #hearOfRun(at: Date, fact: Fact): void {
    switch (fact.type) {
      case "agent.created":
        this.#name = fact.data.name;
        return;
      case "run.started":
        this.#startRun(at, fact.data.run_id);
        return;
      case "run.finished":
        if (fact.data.outcome.kind !== "finished") failed(this.#run?.span, fact.data.outcome.kind);
        this.endAll(at);
        return;
      case "agent.failed":
        failed(this.#run?.span, fact.data.outcome?.kind ?? "failed");
        this.endAll(at);
        return;
      case "agent.stopped":
      case "agent.paused":
      case "agent.completed":
        this.#run?.span.setAttribute("agiraph.ended_by", fact.type);
        this.endAll(at);
        return;
    }
  }

  #hearOfNode(at: Date, fact: Fact): void {
    switch (fact.type) {
      case "node.created":
        if (fact.data.parent_node_id) this.#parents.set(fact.data.node_id, fact.data.parent_node_id);
        return;
      case "node.started":
        this.#startNode(at, fact.data);
        return;
      case "node.retried":
        this.#nodes.get(fact.data.node_id)?.span.addEvent("agiraph.node.retried", {}, at);
        return;
      case "node.completed":
        this.#endNode(at, fact.data.node_id);
        return;
      case "node.failed":
        failed(this.#nodes.get(fact.data.node_id)?.span, fact.data.outcome.kind);
        this.#endNode(at, fact.data.node_id);
        return;
      case "node.cancelled":
        this.#nodes.get(fact.data.node_id)?.span.setAttribute("agiraph.ended_by", fact.type);
        this.#endNode(at, fact.data.node_id);
        return;
    }
  }

  #hearOfTurn(at: Date, fact: Fact): void {
    switch (fact.type) {
      case "worker.idle":
      case "worker.stopped":
        if (fact.data.worker_id === COORDINATOR) this.#endTurn(at, COORDINATOR);
        return;
      case "worker.waiting":
        // Who sits out a limit is in the middle of a call.
        if (fact.data.for !== "rate_limit" && fact.data.for !== "budget") this.#endTurn(at, keyOf(fact));
        return;
      case "model.called":
        this.#startCall(at, fact);
        return;
      case "model.responded":
        if (!fact.data.correction) this.#endCall(at, fact);
        return;
      case "model.failed":
        this.#noteFailure(at, fact);
        return;
      case "tool.called":
        this.#startTool(at, fact);
        return;
      case "tool.result":
        this.#endTool(at, fact);
        return;
    }
  }

  endAll(at: Date): void {
    for (const span of this.#tools.values()) span.end(at);
    for (const span of this.#calls.values()) span.end(at);
    for (const { span } of this.#turns.values()) span.end(at);
    for (const { span } of this.#nodes.values()) span.end(at);
    this.#run?.span.end(at);
    this.#run = undefined;
    for (const open of [this.#tools, this.#calls, this.#turns, this.#nodes, this.#parents]) open.clear();
  }

  #startRun(at: Date, run_id: RunId | undefined): WorkSpan {
    const attributes = {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.id": this.#id,
      "gen_ai.conversation.id": this.#id,
      ...(this.#name && { "gen_ai.agent.name": this.#name }),
      ...(run_id && { "agiraph.run.id": run_id }),
    };
    this.#run?.span.end(at);
    this.#run = this.#begin(`invoke_agent ${this.#name ?? this.#id}`, at, ROOT_CONTEXT, attributes);
    return this.#run;
  }

  /** A run that began in another process has no span here: what goes on of it gets one. */
  #runAt(at: Date): WorkSpan {
    return this.#run ?? this.#startRun(at, undefined);
  }

  #startNode(at: Date, { node_id, worker_id }: FactOf<"node.started">["data"]): WorkSpan {
    const known = this.#nodes.get(node_id);
    if (known) return known;
    const parent = this.#parents.get(node_id);
    const above = (parent && this.#nodes.get(parent)) ?? this.#runAt(at);
    const work = this.#begin(`invoke_agent ${worker_id}`, at, above.context, {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.id": `${this.#id}/${worker_id}`,
      "gen_ai.agent.name": worker_id,
      "gen_ai.conversation.id": this.#id,
      "agiraph.node.id": node_id,
    });
    this.#nodes.set(node_id, work);
    return work;
  }

  #endNode(at: Date, id: NodeId): void {
    this.#endTurn(at, id);
    this.#nodes.get(id)?.span.end(at);
    this.#nodes.delete(id);
    this.#parents.delete(id);
  }

  #startCall(at: Date, fact: FactOf<"model.called">): void {
    const { model, turn } = fact.data;
    const key = keyOf(fact);
    const above = this.#turnAt(at, fact, turn);
    const provider = model.split("/", 1)[0] ?? model;
    const call = this.#begin(
      `chat ${model}`,
      at,
      above.context,
      {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "gen_ai.conversation.id": this.#id,
      },
      SpanKind.CLIENT,
    );
    this.#calls.get(key)?.end(at);
    this.#calls.set(key, call.span);
  }

  #endCall(at: Date, fact: FactOf<"model.responded">): void {
    const { model, usage, finish, cost_usd } = fact.data;
    const key = keyOf(fact);
    const call = this.#calls.get(key);
    call?.setAttributes({
      "gen_ai.response.model": model,
      "gen_ai.response.finish_reasons": [finish],
      "gen_ai.usage.input_tokens": usage.input,
      "gen_ai.usage.output_tokens": usage.output,
      "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
      "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
      ...(cost_usd !== null && { "agiraph.cost_usd": cost_usd }),
    });
    call?.end(at);
    this.#calls.delete(key);
  }

  #noteFailure(at: Date, fact: FactOf<"model.failed">): void {
    const { reason, status, retry_in_ms } = fact.data;
    const key = keyOf(fact);
    const call = this.#calls.get(key);
    const why = { "error.type": reason, ...(status !== undefined && { "http.response.status_code": status }) };
    if (retry_in_ms !== null) {
      call?.addEvent("agiraph.model.retried", why, at);
      return;
    }
    call?.setAttributes(why);
    failed(call, reason);
    call?.end(at);
    this.#calls.delete(key);
  }

  #startTool(at: Date, fact: FactOf<"tool.called">): void {
    const { tool, call_id } = fact.data;
    const above = this.#turns.get(keyOf(fact)) ?? this.#aboveTurn(at, fact);
    const { span } = this.#begin(`execute_tool ${tool}`, at, above.context, {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
      "gen_ai.tool.call.id": call_id,
      "gen_ai.tool.type": "function",
      "gen_ai.conversation.id": this.#id,
    });
    this.#tools.set(toolKey(fact), span);
  }

  #endTool(at: Date, fact: FactOf<"tool.result">): void {
    const key = toolKey(fact);
    const span = this.#tools.get(key);
    if (!fact.data.ok) failed(span, "tool_error");
    span?.end(at);
    this.#tools.delete(key);
  }

  #turnAt(at: Date, fact: FactOf<"model.called">, turn: number): WorkSpan {
    const key = keyOf(fact);
    const known = this.#turns.get(key);
    if (known?.turn === turn) return known;
    this.#endTurn(at, key);
    const work = this.#begin(`turn ${turn}`, at, this.#aboveTurn(at, fact).context, { "agiraph.turn": turn });
    this.#turns.set(key, { ...work, turn });
    return work;
  }

  #aboveTurn(at: Date, { data: { node_id, worker_id } }: FactOf<"model.called" | "tool.called">): WorkSpan {
    return node_id === null ? this.#runAt(at) : this.#startNode(at, { node_id, worker_id });
  }

  #endTurn(at: Date, key: SpanKey): void {
    this.#calls.get(key)?.end(at);
    this.#calls.delete(key);
    this.#turns.get(key)?.span.end(at);
    this.#turns.delete(key);
  }

  #begin(name: string, startTime: Date, above: Context, attributes: Attributes, kind = SpanKind.INTERNAL): WorkSpan {
    const span = this.#tracer.startSpan(name, { startTime, attributes, kind }, above);
    return { span, context: trace.setSpan(above, span) };
  }
}

function keyOf({ data: { node_id } }: { data: { node_id: NodeId | null } }): SpanKey {
  return node_id ?? COORDINATOR;
}

/** Providers number calls anew in every conversation. */
function toolKey(fact: FactOf<"tool.called" | "tool.result">): string {
  return `${keyOf(fact)} ${fact.data.call_id}`;
}

function failed(span: Span | undefined, why: string): void {
  span?.setAttribute("error.type", why);
  span?.setStatus({ code: SpanStatusCode.ERROR, message: why });
}

function timeOf({ ts }: Fact): Date {
  return new Date(Math.round(ts * 1000));
}
