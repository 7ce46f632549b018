import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { apply, begin, type Situation } from "../../projections/index.ts";
import type { Fact, NewFact, NodeId } from "../../protocol/index.ts";
import { BudgetExhausted, type Cost, Purse } from "./purse.ts";

const never = new AbortController().signal;

test("PURSE-1. who shares a share overdraws it by one call together, and leaves what is not theirs alone", async () => {
  const children: NodeId[] = ["node-2", "node-3", "node-4", "node-5"];
  const house = houseOf({ budget_usd: 10 }, made("node-1", { budget_usd: 0.5 }));
  for (const child of children) house.happen(made(child, { parent_node_id: "node-1" }));
  await Promise.all(children.map((child) => house.spendAll(child, { usd: 0.1875, tokens: 0 })));
  expect(house.paid).toBe(0.5625); // three calls; each of them alone would have allowed twelve
});

test("PURSE-1. calls under way may not overdraw the budget of tokens by more than one of them", async () => {
  const nodes: NodeId[] = ["node-1", "node-2", "node-3", "node-4"];
  const house = houseOf({ budget_tokens: 1000 }, ...nodes.map((id) => made(id)));
  const ends = await Promise.all(nodes.map((id) => house.spendAll(id, { usd: null, tokens: 300 })));
  expect(house.tokens).toBe(1200);
  expect(ends.map(({ outcome, exceeded }) => ({ outcome, exceeded }))).toEqual(
    nodes.map(() => ({
      outcome: { kind: "budget_exhausted", spent_usd: 0, spent_tokens: 1200 },
      exceeded: { spent_usd: 0, spent_tokens: 1200, budget_tokens: 1000 },
    })),
  );
});

test("PURSE-3, PURSE-4. what is reserved for somebody at work is waited for, and comes back with the end of their node", async () => {
  const house = houseOf({ budget_usd: 1 }, made("node-1", { budget_usd: 0.5 }), taken("node-1"));
  await house.spend(null, { usd: 0.5, tokens: 0 });
  let waits = 0;
  const next = house.purse.enter("m", null, never, () => (waits += 1));
  await setImmediate();
  expect(waits).toBe(1);
  await house.spend("node-1", { usd: 0.125, tokens: 0 });
  await setImmediate();
  expect(waits).toBe(1);
  house.happen({ type: "node.completed", data: { node_id: "node-1", worker_id: "alice", summary: "" } });
  house.purse.wake();
  (await next)({ usd: 0.375, tokens: 0 });
  await expect(house.spend(null, { usd: 1, tokens: 0 })).rejects.toThrow(BudgetExhausted);
});

test("PURSE-4. who has not begun is waited for too, unless they wait for us", async () => {
  const waiting = made("node-2", { budget_usd: 0.5, dependencies: ["node-1"] });
  const house = houseOf({ budget_usd: 1 }, made("node-1"), waiting);
  await house.spend("node-1", { usd: 0.5, tokens: 0 });
  await expect(house.spend("node-1", { usd: 0.5, tokens: 0 })).rejects.toThrow(BudgetExhausted);
  let waits = 0;
  void house.purse.enter("m", null, never, () => (waits += 1));
  await setImmediate();
  expect(waits).toBe(1);
});

test("PURSE-4. after a stop nobody goes on before the coordinator has decided: it does not wait for their shares", async () => {
  const house = houseOf({ budget_usd: 1 }, made("node-1", { budget_usd: 0.5 }), taken("node-1"));
  await house.spend(null, { usd: 0.5, tokens: 0 });
  house.happen({ type: "agent.resumed", data: { coordinator_decides: true } });
  await expect(house.spend(null, { usd: 0.5, tokens: 0 })).rejects.toThrow(BudgetExhausted);
});

test("PURSE-2. what a call may cost is known after a restart, too", async () => {
  const who = { worker_id: "coordinator", node_id: null, model: "m", turn: 1, finish: "stop", ms: 0 } as const;
  const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 };
  const house = houseOf({ budget_usd: 1 }, { type: "model.responded", data: { ...who, usage, cost_usd: 0.7 } });
  (await house.purse.enter("cheap", null, never, () => {}))({ usd: 0.01, tokens: 0 });
  const first = await house.purse.enter("m", null, never, () => {});
  let waits = 0;
  void house.purse.enter("cheap", null, never, () => (waits += 1));
  await setImmediate();
  expect(waits).toBe(1);
  first({ usd: 0, tokens: 0 });
});

test("PURSE-2. a reply whose price is unknown does not make the next ones free: they still go one by one", async () => {
  const house = houseOf({ budget_usd: 1 });
  await house.spend(null, { usd: null, tokens: 1 });
  const pay = await house.purse.enter("m", null, never, () => {});
  let waits = 0;
  const next = house.purse.enter("m", null, never, () => (waits += 1));
  await setImmediate();
  expect(waits).toBe(1);
  pay({ usd: 1.2, tokens: 1 });
  await expect(next).rejects.toThrow(BudgetExhausted);
});

test("a stop ends the wait for room", async () => {
  const house = houseOf({ budget_usd: 1 });
  const stop = new AbortController();
  await house.purse.enter("m", null, never, () => {});
  const second = house.purse.enter("m", null, stop.signal, () => {});
  stop.abort(new Error("stop"));
  await expect(second).rejects.toThrow("stop");
});

/** A purse over a fold, with what was paid from it. */
function houseOf(budget: { budget_usd?: number; budget_tokens?: number }, ...facts: NewFact[]) {
  const { budget_usd = null, budget_tokens } = budget;
  const data = { name: "n", goal: "g", mode: "finite", model: "m", worker_model: "m" } as const;
  const rest = { budget_usd, project: null, tools: null, ...(budget_tokens && { budget_tokens }) };
  const now: Situation = begin({
    seq: 1,
    ts: 0,
    agent_id: "agent-abcd",
    type: "agent.created",
    data: { ...data, ...rest },
  });
  const happen = (fact: NewFact) => apply(now, { ...fact, seq: now.seq + 1, ts: 0, agent_id: "agent-abcd" } as Fact);
  for (const fact of [{ type: "run.started", data: { run_id: "run-1", goal: "g" } } as const, ...facts]) happen(fact);
  const purse = new Purse(() => now);
  const house = { purse, happen, paid: 0, tokens: 0, spend, spendAll };
  return house;

  async function spend(node_id: NodeId | null, cost: Cost): Promise<void> {
    const pay = await purse.enter("m", node_id, never, () => {});
    await setImmediate(); // a call takes its time
    house.paid += cost.usd ?? 0;
    house.tokens += cost.tokens;
    pay(cost);
  }

  async function spendAll(node_id: NodeId | null, cost: Cost): Promise<BudgetExhausted> {
    for (;;) {
      try {
        await spend(node_id, cost);
      } catch (error) {
        if (error instanceof BudgetExhausted) return error;
        throw error;
      }
    }
  }
}

type Made = Extract<NewFact, { type: "node.created" }>["data"];

function made(node_id: NodeId, more: Partial<Made> = {}): NewFact {
  const nothing = { dependencies: [], refs: {}, deliverables: [], parent_node_id: null };
  const who = { run_id: "run-1", node_id, task: "T", inference: "multi", created_by: "coordinator" } as const;
  return { type: "node.created", data: { ...who, ...nothing, ...more } };
}

function taken(node_id: NodeId): NewFact {
  return { type: "node.assigned", data: { node_id, worker_id: "alice" } };
}
