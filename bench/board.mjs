import { existsSync, mkdirSync } from "node:fs";
import { setTimeout as after } from "node:timers/promises";
import { openRuntime } from "../dist/bundle/index.js";
// Of one copy with the scheduler: what waits is known beside the board, not in it.
import { apply, begin, isStageDone } from "../src/projections/index.ts";
import { assignments } from "../src/runtime/team/scheduler.ts";

/**
 * What a fact costs the fold and the scheduler, in microseconds: every node but the first could begin, one works at a
 * time, and when it is done the oldest of all others is the next. No disk, no model; the median of several boards.
 */
export function costOfAFact(size) {
  const costs = Array.from({ length: 25 }, () => costOnOneBoard(size, 90)).sort((a, b) => a - b);
  return costs[costs.length >> 1];
}

const NO_PROGRAMS = { programFor: () => undefined, kindOf: () => undefined };

function costOnOneBoard(size, rounds) {
  let seq = 0;
  const fact = (type, data) => ({ seq: ++seq, agent_id: "agent-bench", ts: 0, type, data });
  const now = begin(fact("agent.created", AGENT));
  const tell = (...facts) => {
    for (const { type, data } of facts) apply(now, fact(type, data));
    return assignments(now, { maxConcurrent: 1, programs: NO_PROGRAMS });
  };
  tell({ type: "run.started", data: { run_id: "run-1", goal: "" } }, stageStarted());
  tell(...Array.from({ length: size }, (_, i) => nodeOf(i + 1, 0)));
  const from = seq;
  const began = performance.now();
  for (let next = tell(), round = 0; round < rounds; round++) {
    tell(...next);
    const who = next.find(({ type }) => type === "node.assigned").data;
    tell({ type: "node.started", data: who });
    tell({ type: "node.published", data: { ...who, summary: "", files: [] } });
    next = tell({ type: "node.completed", data: { ...who, summary: "" } }, { type: "worker.idle", data: who });
    if (isStageDone(now.stages[0], now.board)) throw new Error("The board is used up.");
  }
  return ((performance.now() - began) * 1000) / (seq - from);
}

const AGENT = {
  name: "bench",
  goal: "",
  mode: "finite",
  model: "bench/none",
  worker_model: "bench/none",
  budget_usd: null,
  project: null,
  tools: null,
};

/**
 * A board of so many nodes, its first ones a chain: when one is completed, the next is ready. No model thinks; an
 * answer is there at once, so what is measured is the fold, the scheduler and the record.
 *
 * BENCH-BOARD-1. Nodes are made by their facts, as the coordinator's tool makes them; all others wait for the end of
 *     the chain.
 * BENCH-BOARD-2. The clock runs from the fact that completes a node to the fact that the next one has started, both on
 *     disk.
 */
export async function openBoard(home, size, wanted) {
  const links = Math.min(wanted, size - 1);
  mkdirSync(home, { recursive: true });
  const gate = Promise.withResolvers();
  const runtime = await openRuntime({ home, env: {}, config: {} }, { catalog: catalogOf(gate.promise) });
  const agent = await runtime.create({ goal: "Work through the board", model: "bench/none" });
  for (const batch of inBatches(size, links)) await agent.log.append({ facts: batch }).durable;
  const lastFolder = `${agent.log.dir}/runs/run-1/nodes/node-${size}/scratch`;
  while (!existsSync(lastFolder)) await after(20);
  await after(200); // what was made for 10,000 nodes is still being written
  globalThis.gc?.();

  const completed = new Map();
  const delays = [];
  const ended = Promise.withResolvers();
  agent.log.subscribe(({ type, data }) => {
    if (type === "node.completed") {
      const number = Number(data.node_id.slice(5));
      completed.set(number, performance.now());
      if (number === links) ended.resolve();
    }
    if (type !== "node.started") return;
    const since = completed.get(Number(data.node_id.slice(5)) - 1);
    if (since !== undefined) delays.push(performance.now() - since);
  });
  return {
    async run() {
      gate.resolve();
      await ended.promise;
      const sorted = delays.slice(0, links - 1).sort((a, b) => a - b);
      return { ready_ms: sorted[sorted.length >> 1], ready_p95_ms: sorted[Math.floor(sorted.length * 0.95)] };
    },
    close: () => runtime.close(),
  };
}

function* inBatches(size, links) {
  yield [stageStarted()];
  for (let from = 1; from <= size; from += 200) {
    const numbers = Array.from({ length: Math.min(200, size - from + 1) }, (_, i) => from + i);
    yield numbers.map((number) => nodeOf(number, links));
  }
}

function stageStarted() {
  const contract = { max_iterations_per_node: 40, timeout_seconds: 1800, checkpoint_policy: "all_must_complete" };
  return { type: "stage.started", data: { run_id: "run-1", stage: 1, name: "Stage 1", contract } };
}

function nodeOf(number, chain) {
  const waitsFor = number === 1 || chain === 0 ? [] : [`node-${Math.min(number - 1, chain)}`];
  return {
    type: "node.created",
    data: {
      run_id: "run-1",
      node_id: `node-${number}`,
      stage: 1,
      task: `Piece ${number}: find out what is to be known about it, and write it down.`,
      inference: "single",
      dependencies: waitsFor,
      refs: {},
      deliverables: [],
      parent_node_id: null,
      created_by: "coordinator",
    },
  };
}

/** The coordinator never has anything to say; a worker's answer is there as soon as the gate is open. */
export function catalogOf(open) {
  const model = {
    id: "bench/none",
    contextWindow: 1_000_000,
    searchesWeb: false,
    toolPrompt: () => "",
    async reply({ tools }, signal) {
      // Stopped while it began, the coordinator is asked all the same: nobody aborts a second time.
      signal.throwIfAborted();
      if (tools.length > 0)
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      await open;
      const usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0 };
      const content = [{ type: "text", text: "It is known." }];
      return { role: "assistant", content, model: "bench/none", usage, cost_usd: 0, finish: "stop" };
    },
  };
  return {
    model: async () => model,
    list: async () => [],
    chooseDefault: async () => ({ model: model.id, why: "bench" }),
    cost: async () => 0,
    resolve: (id) => ({ id, contextWindow: 1_000_000, searchesWeb: false, note: null }),
    programOf: () => undefined,
  };
}
