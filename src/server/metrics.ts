import type {} from "@fastify/swagger";
import type { FastifyInstance } from "fastify";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { agentStatusSchema } from "../protocol/api/agents.ts";
import type { Fact } from "../protocol/index.ts";
import type { Runtime } from "../runtime/runtime.ts";

export interface MetricsDeps {
  runtime: Pick<Runtime, "listed" | "subscribe">;
  /** Milliseconds, of the clock that dates the facts. */
  now?(): number;
}

/**
 * `GET /metrics`, for Prometheus. Facts are counted as they come, since this process started.
 *
 * METRICS-1. Labels come from small sets: models can invent names of models and tools, so beyond a limit they become
 *     `other`.
 */
export function registerMetrics(app: FastifyInstance, { runtime, now = Date.now }: MetricsDeps): void {
  const register = new Registry();
  collectDefaultMetrics({ register });
  const unhear = runtime.subscribe(counting(register, now));

  new Gauge({
    name: "agiraph_agents",
    help: "Agents of this home by status",
    labelNames: ["status"],
    registers: [register],
    async collect() {
      const agents = await runtime.listed();
      for (const status of agentStatusSchema.options)
        this.set({ status }, agents.filter((agent) => agent.status === status).length);
    },
  });
  new Gauge({
    name: "agiraph_websocket_clients",
    help: "Connected WebSocket clients",
    registers: [register],
    collect() {
      this.set(app.hasDecorator("websocketServer") ? app.websocketServer.clients.size : 0);
    },
  });
  const requests = new Histogram({
    name: "agiraph_http_request_seconds",
    help: "How long requests took, by route",
    labelNames: ["method", "route", "status"],
    buckets: SECONDS,
    registers: [register],
  });

  app.addHook("onResponse", async (request, reply) => {
    const route = request.routeOptions.url ?? "none";
    requests.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1000);
  });
  app.addHook("onClose", async () => {
    unhear();
    register.clear();
  });
  app.get("/metrics", { schema: { hide: true } }, async (_request, reply) => {
    reply.type(register.contentType);
    return register.metrics();
  });
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const MODEL_SECONDS = [0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120, 300];
const MOST_NAMES = 200;

function counting(register: Registry, now: () => number): (fact: Fact) => void {
  const { facts, append, calls, answers, tokens, cost, tools, nodes } = instruments(register);
  // A counter never falls: what was counted too much is kept from what comes next.
  const tooMuch = new Map<string, number>();
  const costs = (model: string, usd: number) => {
    const due = usd - (tooMuch.get(model) ?? 0);
    tooMuch.set(model, Math.max(0, -due));
    cost.inc({ model }, Math.max(0, due));
  };
  const modelName = named();
  const toolName = named();

  return (fact) => {
    facts.inc({ type: fact.type });
    append.observe(Math.max(0, now() / 1000 - fact.ts));
    if (fact.type === "model.responded") {
      const { usage, cost_usd, ms, correction } = fact.data;
      const model = modelName(fact.data.model);
      if (cost_usd !== null) costs(model, cost_usd);
      if (correction) return;
      calls.inc({ model, outcome: "ok" });
      answers.observe({ model }, ms / 1000);
      for (const [kind, amount] of Object.entries(usage)) tokens.inc({ model, kind }, amount);
    }
    if (fact.type === "model.failed") {
      const outcome = fact.data.retry_in_ms === null ? "failed" : "retried";
      calls.inc({ model: modelName(fact.data.model), outcome });
    }
    const [, status] = /^node\.(completed|failed|cancelled)$/.exec(fact.type) ?? [];
    if (status) nodes.inc({ status });
    if (fact.type === "tool.result") tools.inc({ tool: toolName(fact.data.tool), ok: String(fact.data.ok) });
  };
}

function instruments(register: Registry) {
  const registers = [register];
  const facts = new Counter({ name: "agiraph_facts_total", help: "Facts on disk", labelNames: ["type"], registers });
  const append = new Histogram({
    name: "agiraph_append_seconds",
    help: "From a fact's timestamp to its sync (timestamps have milliseconds)",
    buckets: SECONDS,
    registers,
  });
  const calls = new Counter({
    name: "agiraph_model_calls_total",
    help: "Model calls that were answered (ok) or given up (failed), and tries that were repeated (retried)",
    labelNames: ["model", "outcome"],
    registers,
  });
  const answers = new Histogram({
    name: "agiraph_model_call_seconds",
    help: "How long models took to answer",
    labelNames: ["model"],
    buckets: MODEL_SECONDS,
    registers,
  });
  const tokens = new Counter({
    name: "agiraph_model_tokens_total",
    help: "Tokens; cached tokens are part of the input",
    labelNames: ["model", "kind"],
    registers,
  });
  const cost = new Counter({
    name: "agiraph_model_cost_usd_total",
    help: "US dollars, where prices are known",
    labelNames: ["model"],
    registers,
  });
  const tools = new Counter({
    name: "agiraph_tool_calls_total",
    help: "Finished tool calls",
    labelNames: ["tool", "ok"],
    registers,
  });
  const nodes = new Counter({
    name: "agiraph_nodes_ended_total",
    help: "Nodes that ended, by how: completed, failed or cancelled",
    labelNames: ["status"],
    registers,
  });
  return { facts, append, calls, answers, tokens, cost, tools, nodes };
}

/** The name, as long as there are not too many. */
function named(): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    if (known.size < MOST_NAMES) known.add(name);
    return known.has(name) ? name : "other";
  };
}
