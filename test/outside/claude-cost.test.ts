import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { type Fact, NO_USAGE, type Usage } from "../../src/protocol/index.ts";
import { loadSettings } from "../../src/runtime/config/settings.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import {
  type ProviderRequest,
  type ProviderTurn,
  startProviderServer,
  temporaryHome,
  until,
} from "../../src/testing/index.ts";
import { configure } from "../faults/killing.ts";
import { startHouse } from "./house.ts";
import { claudeProfile, ours, shell, withClaude } from "./real-claude.ts";

/* What the real Claude Code costs, by what its provider counted: every token of every model call, once. */

const LONG = { timeout: 120_000 };

/** Of claude-sonnet-4-5, in dollars for a million tokens. */
const PRICES = { input: 3, cache_read: 0.3, cache_write: 3.75, output: 15 };

const tokens = (usage: Partial<Usage>) => ({ usage: { ...NO_USAGE, ...usage } });

function priced({ input, cache_read, cache_write, output }: Usage): number {
  const plain = input - cache_read - cache_write;
  const sum = plain * PRICES.input + cache_read * PRICES.cache_read + cache_write * PRICES.cache_write;
  return (sum + output * PRICES.output) / 1_000_000;
}

const COORDINATOR: ProviderTurn[] = [
  { calls: [{ name: "spawn_worker", args: { name: "Clara", program: "claude-code", model: "claude-sonnet-4-5" } }] },
  { calls: [{ name: "create_work_node", args: { task: "Write it down.", worker: "Clara" } }] },
];

const WAITS = "echo once >> marks; until [ -e go ]; do sleep 0.05; done";

/** A coordinator that hires Claude Code, the model behind that, and what its vendor would charge for it. */
async function vendor(mind: (request: ProviderRequest) => ProviderTurn) {
  const bill = { usd: 0, calls: 0 };
  const provider = await startProviderServer({
    respond(request) {
      const words = JSON.stringify(request.messages);
      if (request.tools.includes("spawn_worker")) {
        if (!words.includes("node-1 completed")) return COORDINATOR[request.turn] ?? { text: "I wait." };
        return { calls: [{ name: "finish", args: { summary: "done", learned: "" } }] };
      }
      if (request.tools.length === 0) return { text: "ok", ...tokens({ input: 1000, output: 100 }) };
      const turn = mind(request);
      bill.usd += priced({ ...NO_USAGE, ...turn.usage });
      bill.calls += 1;
      return turn;
    },
  });
  const home = await temporaryHome();
  await configure(home.path, provider.url, {
    programs: { "claude-code": claudeProfile(provider.url) },
    models: { "openai-compatible/local/m": { prices: { input: 0, output: 0 } } },
  });
  return {
    ...{ bill, provider, home: home.path },
    async [Symbol.asyncDispose]() {
      await provider[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

async function opened(home: string, budget_usd?: number) {
  const settings = await loadSettings({ home }, { PATH: process.env.PATH }, home);
  const runtime = await openRuntime(settings);
  const model = settings.config.model ?? "";
  const agent = await runtime.create({ goal: "g", model, ...(budget_usd && { budget_usd }) });
  return { agent, [Symbol.asyncDispose]: () => runtime.close() };
}

const isSubAgent = ({ messages }: ProviderRequest) => !JSON.stringify(messages).includes("Write it down.");
const delegates: ProviderTurn = {
  calls: [{ name: "Agent", args: { description: "Look", prompt: "Look at it.", subagent_type: "general-purpose" } }],
  ...tokens({ input: 10_000, cache_write: 4000, output: 300 }),
};
const looks: ProviderTurn = { text: "Seen.", ...tokens({ input: 100_000, cache_read: 40_000, output: 2000 }) };
const publishes: ProviderTurn = {
  ...ours("publish", { summary: "It is written." }),
  ...tokens({ input: 12_000, cache_read: 10_000, output: 70 }),
};

withClaude("all that Claude Code used is counted when it publishes, that of its sub-agents too", LONG, async () => {
  await using at = await vendor((request) => {
    if (isSubAgent(request)) return looks;
    return (
      [delegates, { ...shell("echo hello > a.md"), ...tokens({ input: 11_000, output: 50 }) }][request.turn] ??
      publishes
    );
  });
  await using own = await opened(at.home);
  await until(own.agent, ({ agent }) => agent.status === "completed");
  expect(at.bill.calls).toBe(4);
  const { calls, cost_usd, unpriced_calls } = own.agent.now.spending.by_worker.clara ?? {};
  expect({ calls, unpriced_calls }).toEqual({ calls: 3, unpriced_calls: 0 });
  expect(cost_usd).toBeCloseTo(at.bill.usd, 9);
  expect(own.agent.now.board.nodes["node-1"]).toMatchObject({ spent_usd: cost_usd });
});

withClaude("a turn that was stopped in the middle is not counted again when its session is resumed", LONG, async () => {
  await using at = await vendor((request) => {
    const isAgain = JSON.stringify(request.messages).includes("You were interrupted");
    if (isAgain) return publishes;
    return { ...shell(WAITS), ...tokens({ input: 150_000, output: 1000 }) };
  });
  await using own = await opened(at.home);
  const marks = join(own.agent.log.dir, "runs/run-1/nodes/node-1/scratch/marks");
  await vi.waitFor(() => access(marks), { timeout: 60_000 });
  await own.agent.stop("human");
  await own.agent.start("resumed");
  await until(own.agent, ({ agent }) => agent.status === "completed");
  expect(own.agent.now.spending.by_worker.clara?.cost_usd).toBeCloseTo(at.bill.usd, 9);
  expect(at.bill.usd).toBeGreaterThan(0.4);
});

withClaude("killed with us after a turn, it is counted once all the same", LONG, async () => {
  await using at = await vendor((request) => {
    const words = JSON.stringify(request.messages);
    if (words.includes("I go on.")) return publishes;
    if (words.includes("You were interrupted")) return { text: "I go on.", ...tokens({ input: 30_000, output: 500 }) };
    // Its turn ends without a result: it is reminded, and goes on.
    if (request.turn === 0) return { text: "I begin.", ...tokens({ input: 140_000, output: 1000 }) };
    return { ...shell(WAITS), ...tokens({ input: 20_000, output: 1000 }) };
  });
  const first = await startHouse(at.home, "Have it written.");
  const { agent_id } = await first.fact("process.started");
  const agent = join(at.home, `agents/${agent_id}`);
  await vi.waitFor(() => access(join(agent, "runs/run-1/nodes/node-1/scratch/marks")), { timeout: 60_000 });
  first.child.kill("SIGKILL");
  await first.over;
  const second = await startHouse(at.home);
  expect(await second.over).toBe(0);
  const lines = (await readFile(join(agent, "events.jsonl"), "utf8")).trim().split("\n");
  const spent = lines.flatMap((line) => {
    const fact = JSON.parse(line) as Fact;
    return fact.type === "model.responded" && fact.data.worker_id === "clara" ? [fact.data.cost_usd ?? 0] : [];
  });
  expect(spent.reduce((sum, usd) => sum + usd, 0)).toBeCloseTo(at.bill.usd, 9);
});

withClaude("a budget is kept in the middle of a turn, also against its sub-agents", LONG, async () => {
  await using at = await vendor((request) => {
    if (!isSubAgent(request)) return delegates;
    return { ...shell("echo again"), ...tokens({ input: 190_000, output: 10 }) };
  });
  await using own = await opened(at.home, 1);
  await until(own.agent, ({ agent }) => agent.outcome?.kind === "budget_exhausted");
  expect(own.agent.now.agent.outcome).toMatchObject({ kind: "budget_exhausted" });
  // Each reply of the sub-agent costs 0.57 dollars.
  expect(at.bill.usd).toBeLessThan(3);
});
