import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { NO_USAGE } from "../protocol/index.ts";
import { call, fail, script, startTeam } from "../testing/index.ts";
import { registerEvents } from "./event-socket.ts";
import { registerMetrics } from "./metrics.ts";

test("what agents did, what it cost and how the server is doing can be scraped", async () => {
  const { promise: registered, resolve: go } = Promise.withResolvers<void>();
  const { team, scrape } = await measured({
    coordinator: script(
      fail("rate_limited", { retriedInMs: 0 }).until(registered),
      call("write_file", { path: "a.md", content: "80" }).with({
        usage: { input: 100, output: 20, cache_read: 60, cache_write: 5, reasoning: 7 },
        cost_usd: 0.25,
      }),
      call("read_file", { path: "nowhere.md" }),
      call("finish", { summary: "80" }),
    ),
  });
  const before = team.agent.now.seq;
  go();
  await team.outcome();
  const first = await scrape();
  expect(only(first, /^agiraph_(?:agents|model_(?!call_seconds)|tool|websocket)/)).toEqual([
    'agiraph_agents{status="completed"} 1',
    'agiraph_agents{status="failed"} 0',
    'agiraph_agents{status="idle"} 0',
    'agiraph_agents{status="paused"} 0',
    'agiraph_agents{status="stopped"} 0',
    'agiraph_agents{status="waiting_for_human"} 0',
    'agiraph_agents{status="working"} 0',
    'agiraph_model_calls_total{model="scripted/model",outcome="ok"} 3',
    'agiraph_model_calls_total{model="scripted/model",outcome="retried"} 1',
    'agiraph_model_cost_usd_total{model="scripted/model"} 0.25',
    'agiraph_model_tokens_total{model="scripted/model",kind="cache_read"} 60',
    'agiraph_model_tokens_total{model="scripted/model",kind="cache_write"} 5',
    'agiraph_model_tokens_total{model="scripted/model",kind="input"} 100',
    'agiraph_model_tokens_total{model="scripted/model",kind="output"} 20',
    'agiraph_model_tokens_total{model="scripted/model",kind="reasoning"} 7',
    'agiraph_tool_calls_total{tool="finish",ok="true"} 1',
    'agiraph_tool_calls_total{tool="read_file",ok="false"} 1',
    'agiraph_tool_calls_total{tool="write_file",ok="true"} 1',
    "agiraph_websocket_clients 0",
  ]);
  const facts = (await team.facts()).length - before;
  expect(only(first, /^agiraph_append_seconds_count/)).toEqual([`agiraph_append_seconds_count ${facts}`]);
  expect(only(first, /^agiraph_facts_total\{type="agent\./)).toEqual(['agiraph_facts_total{type="agent.completed"} 1']);
  expect(first).toContain("nodejs_eventloop_lag_p99_seconds");
  expect(only(await scrape(), /^agiraph_http_request_seconds_count/)).toEqual([
    'agiraph_http_request_seconds_count{method="GET",route="/metrics",status="200"} 1',
  ]);
});

test("a cost that turns out to be less than was counted is kept from what follows, and is no call", async () => {
  const { promise: registered, resolve: go } = Promise.withResolvers<void>();
  const { team, scrape } = await measured({ coordinator: script(call("finish", { summary: "80" }).until(registered)) });
  const who = { worker_id: "coordinator", node_id: null, model: "claude", turn: 1, finish: "stop", ms: 1 } as const;
  const cost = async (cost_usd: number, rest: { correction?: true } = {}) => {
    const data = { ...who, usage: NO_USAGE, cost_usd, ...rest };
    await team.agent.log.append({ facts: [{ type: "model.responded", data }] }).durable;
    return only(await scrape(), /^agiraph_model_(?:calls|cost_usd)_total.*claude/).map((line) =>
      line.split(" ").at(-1),
    );
  };
  expect(await cost(1)).toEqual(["1", "1"]);
  expect(await cost(-0.75, { correction: true })).toEqual(["1", "1"]);
  expect(await cost(0.5)).toEqual(["2", "1"]);
  expect(await cost(0.5)).toEqual(["3", "1.25"]);
  go();
  await team.outcome();
});

async function measured(plan: { coordinator: ReturnType<typeof script> }) {
  const team = await startTeam({ goal: "Be counted", ...plan });
  const app = Fastify();
  await registerEvents(app, team);
  registerMetrics(app, team);
  onTestFinished(async () => {
    await app.close();
    await team[Symbol.asyncDispose]();
  });
  return { team, scrape: async () => (await app.inject("/metrics")).body };
}

function only(text: string, wanted: RegExp): string[] {
  return text
    .split("\n")
    .filter((line) => wanted.test(line))
    .sort();
}
