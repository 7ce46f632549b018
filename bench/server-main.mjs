import { statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { openRuntime } from "../src/runtime/open-runtime.ts";
import { createLogger } from "../src/server/logs.ts";
import { buildServer } from "../src/server/server.ts";

/**
 * The real server, and agents whose model looks at its folders again and again, without end. Told by lines: `work` sets
 * them to it, the first time or again, `rest` stops them, `look` only looks; each is answered with what is held then,
 * after a collection.
 */
const job = JSON.parse(process.argv[2]);
const MODEL = "bench/steady";
const token = "b".repeat(64);
const settings = { home: job.home, env: { AGIRAPH_LOG_LEVEL: "warn" }, config: { max_turns: 100_000 } };

const runtime = await openRuntime(settings, { catalog: catalogOf(job.turnMs) });
globalThis.gc();
const empty = process.memoryUsage().heapUsed;
const resting = await runtime.summaries();
globalThis.gc();
const idle_kb = (process.memoryUsage().heapUsed - empty) / resting.length / 1024;

const app = await buildServer({ runtime, settings, token, logger: createLogger({ settings, secrets: [token] }) });
await app.listen({ port: 0, host: "127.0.0.1" });
const url = `http://127.0.0.1:${app.server.address().port}`;
const agents = [];
let turns = 0;
tell({ url, token, idle: resting.map(({ id }) => id), idle_kb });

const orders = { work, rest, look: async () => {} };
createInterface({ input: process.stdin }).on("line", async (order) => {
  await orders[order]();
  globalThis.gc();
  const working = agents.filter(({ isWorking }) => isWorking).map(({ log }) => log.id);
  const said = agents.reduce((sum, { log }) => sum + statSync(join(log.dir, "conversation.jsonl")).size, 0);
  tell({ heap: process.memoryUsage().heapUsed, turns, said, working });
});
process.once("SIGTERM", () => process.exit(0));

/** Until everybody is well under way: what is made once, at the beginning, is no growth. */
async function work() {
  const until = turns + 3 * job.working;
  if (agents.length > 0) await Promise.all(agents.map((agent) => agent.start("resumed")));
  else for (let i = 0; i < job.working; i++) agents.push(await runtime.create({ goal: `Work ${i}`, model: MODEL }));
  while (turns < until) await setTimeout(job.turnMs);
}

async function rest() {
  await Promise.all(agents.map((agent) => agent.stop("human")));
}

function tell(what) {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

/** Thinks for a while, says a few words, and looks at its folders: never at the same twice in a row, which is a circle. */
function catalogOf(turnMs) {
  const model = {
    id: MODEL,
    contextWindow: 10_000_000,
    searchesWeb: false,
    async reply({ history, onDelta }, signal) {
      await setTimeout(turnMs * (0.5 + Math.random()), undefined, { signal });
      for (const text of ["Let me ", "look ", "again."]) onDelta?.({ kind: "text", text });
      turns += 1;
      const replies = history.filter(({ role }) => role === "assistant").length;
      const content = [
        { type: "text", text: "Let me look again." },
        { type: "call", id: `call_${turns}`, name: "list_files", args: { path: replies % 2 ? "agent/memory" : "." } },
      ];
      const usage = { input: 100, output: 10, cache_read: 0, cache_write: 0, reasoning: 0 };
      return { role: "assistant", content, model: MODEL, usage, cost_usd: 0, finish: "tool-calls" };
    },
  };
  return {
    model: async () => model,
    list: async () => [],
    chooseDefault: async () => ({ model: MODEL, why: "bench" }),
    cost: async () => 0,
    resolve: (id) => ({ id, contextWindow: 10_000_000, searchesWeb: false, note: null }),
    programOf: () => undefined,
  };
}
