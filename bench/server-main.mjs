import { createInterface } from "node:readline";
import { openRuntime } from "../src/runtime/open-runtime.ts";
import { createLogger } from "../src/server/logs.ts";
import { buildServer } from "../src/server/server.ts";

/** The real server, with agents at work whose model looks at its folders again and again, without end. */
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
const working = [];
for (let i = 0; i < job.working; i++) {
  const agent = await runtime.create({ goal: `Work ${i}`, model: MODEL });
  working.push(agent.log.id);
}
const url = `http://127.0.0.1:${app.server.address().port}`;
tell({ url, token, working, idle: resting.map(({ id }) => id), idle_kb });

createInterface({ input: process.stdin }).on("line", () => {
  globalThis.gc();
  tell({ heap: process.memoryUsage().heapUsed });
});
process.once("SIGTERM", () => process.exit(0));

function tell(what) {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

/** Thinks for a while, says a few words, and looks at its folder again. */
function catalogOf(turnMs) {
  let calls = 0;
  const model = {
    id: MODEL,
    contextWindow: 10_000_000,
    searchesWeb: false,
    async reply({ onDelta }, signal) {
      const { promise, resolve, reject } = Promise.withResolvers();
      const timer = setTimeout(resolve, turnMs * (0.5 + Math.random()));
      const stop = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      signal.addEventListener("abort", stop, { once: true });
      await promise.finally(() => signal.removeEventListener("abort", stop));
      for (const text of ["Let me ", "look ", "again."]) onDelta?.({ kind: "text", text });
      const content = [
        { type: "text", text: "Let me look again." },
        { type: "call", id: `call_${++calls}`, name: "list_files", args: { path: calls % 2 ? "." : "memory" } },
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
  };
}
