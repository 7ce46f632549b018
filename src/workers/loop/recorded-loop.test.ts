import { expect, test } from "vitest";
import { z } from "zod";
import { apply, begin, type Situation } from "../../projections/index.ts";
import { type Entry, type Fact, type NewFact, NO_USAGE, type Outcome } from "../../protocol/index.ts";
import { DiskFullError } from "../../store/errors.ts";
import type { AgentLog, Batch } from "../../store/store.ts";
import { both, call, fail, manualClock, type ScriptedModel, say, script } from "../../testing/index.ts";
import { defineTool } from "../../tools/tool.ts";
import { Toolbox } from "../../tools/toolbox.ts";
import { Purse } from "./purse.ts";
import { type Delta, runRecordedLoop } from "./recorded-loop.ts";
import type { LoopAssignment } from "./work-loop.ts";

const ACTOR = { worker_id: "alice", node_id: "node-1", conversation: "c.jsonl" } as const;
const WHO = { worker_id: "alice", node_id: "node-1" };

test("RECORD-1. no call begins before the reply that makes it is on disk", async () => {
  const disk = Promise.withResolvers<void>();
  const replied = Promise.withResolvers<void>();
  const worker = workerWith(script(call("look"), call("end")), {
    durable: (batch) => {
      if (batch.entries?.entries[0]?.role !== "assistant") return Promise.resolve();
      replied.resolve();
      return disk.promise;
    },
  });
  const work = worker.work();
  await replied.promise;
  await turnOfTheEventLoop();
  expect(worker.looks()).toBe(0);
  disk.resolve();
  expect(await work).toEqual({ kind: "finished", summary: "done" });
  expect(worker.looks()).toBe(1);
});

test("RECORD-2. an entry and the facts that follow from it are one append, and every fact says who, where and which turn", async () => {
  const worker = workerWith(script(both(call("look", { at: "a.md" }), call("nothing")), call("end")));
  await worker.work();
  expect(worker.batches.map(({ facts = [], entries }) => [entries?.entries[0]?.role, ...facts.map(brief)])).toEqual([
    [undefined, "model.called 1"],
    ["assistant", "model.responded 1", "tool.called look: a.md", "tool.called nothing: {}"],
    ["tool", "tool.result look true: seen"],
    ["tool", 'tool.result nothing false: There is no tool "nothing". You have: look, end.'],
    [undefined, "model.called 2"],
    ["assistant", "model.responded 2", "tool.called end: {}"],
    ["tool", "tool.result end true: ended"],
  ]);
  expect(worker.facts().every(({ data }) => "node_id" in data && data.node_id === "node-1")).toBe(true);
});

test("RECORD-2. a summary and its fact are one append; what is said for it is a turn, but no answer to the human", async () => {
  const words: Entry = { role: "user", from: "human", content: "Hello? ".repeat(1_000) };
  const compactable = { flushWords: async () => "Write it down.", restate: async () => [] };
  const model = script(say("Nothing to note."), both("Hello!", call("end"))).with({ contextWindow: 2_000 });
  const worker = workerWith(model, { change: { history: [words], compactable } });
  expect(await worker.work()).toEqual({ kind: "finished", summary: "done" });
  expect(worker.batches.map(({ facts = [], entries }) => [entries?.entries[0]?.role, ...facts.map(brief)])).toEqual([
    ["user"],
    [undefined, "model.called 1"],
    ["assistant", "model.responded 1"],
    ["summary", "memory.compacted"],
    [undefined, "model.called 2"],
    ["assistant", "model.responded 2", "tool.called end: {}", "message.sent"],
    ["tool", "tool.result end true: ended"],
  ]);
  const compacted = worker.facts().find((fact) => fact.type === "memory.compacted");
  expect(compacted?.data).toEqual({ ...WHO, entries: 3, tokens_before: 1_797, tokens_after: 555 });
});

test("RECORD-3. a result that the log could not take is thrown, and the model is not asked again", async () => {
  const model = script(call("look"), call("end"));
  const worker = workerWith(model, {
    durable: async (batch) => {
      if (batch.entries?.entries[0]?.role === "tool") throw new Error("no space left");
    },
  });
  await expect(worker.work()).rejects.toThrow("no space left");
  expect(worker.batches.flatMap(({ entries }) => entries?.entries.map((entry) => entry.role) ?? [])).toEqual([
    "assistant",
    "tool",
  ]);
});

test("RECORD-3. a bug is thrown, what a provider refused is an outcome, and after a stop everything is a stop", async () => {
  const broken = workerWith(script());
  await expect(broken.work()).rejects.toThrow("one more reply was asked for");
  expect(await workerWith(script(fail("auth", { message: "no such key" }))).work()).toEqual({
    kind: "failed",
    error: "no such key",
  });
  expect(await workerWith(script(say("never"))).work(AbortSignal.abort(new Error("stop")))).toEqual({
    kind: "stopped",
  });
});

test("RECORD-3. what the log could not take is thrown after a stop too", async () => {
  const stop = new AbortController();
  const worker = workerWith(script(call("look")), {
    durable: async (batch) => {
      if (batch.entries === undefined) return;
      stop.abort(new Error("stop"));
      throw new DiskFullError("the home", undefined);
    },
  });
  await expect(worker.work(stop.signal)).rejects.toThrow("No space left");
});

test("RECORD-2a. what a worker was told counts as told even if it ends without thinking about it: it is on disk before the outcome", async () => {
  const disk = Promise.withResolvers<void>();
  const told = Promise.withResolvers<void>();
  const news: Entry = { role: "user", from: "agiraph", content: "node-2 failed: no such file." };
  const worker = workerWith(script(say("Waiting.").with({ cost_usd: 1 })), {
    budget_usd: 1,
    change: { onReplyWithoutCall: async () => [news] },
    durable: (batch) => {
      if (batch.entries?.entries[0]?.role !== "user") return Promise.resolve();
      told.resolve();
      return disk.promise;
    },
  });
  let hasEnded = false;
  const work = worker.work().finally(() => {
    hasEnded = true;
  });
  await told.promise;
  await turnOfTheEventLoop();
  expect(hasEnded).toBe(false);
  disk.resolve();
  expect(await work).toEqual({ kind: "budget_exhausted", spent_usd: 1 });
});

test("RECORD-3. the last words that the log could not take are thrown, whatever else ends the work", async () => {
  const news: Entry = { role: "user", from: "agiraph", content: "node-2 failed: no such file." };
  const worker = workerWith(script(say("Waiting.").with({ cost_usd: 1 })), {
    budget_usd: 1,
    change: { onReplyWithoutCall: async () => [news] },
    durable: async (batch) => {
      if (batch.entries?.entries[0]?.role === "user") throw new DiskFullError("the home", undefined);
    },
  });
  await expect(worker.work()).rejects.toThrow("No space left");
});

test("every failed attempt is a fact with its reason, status and the wait that follows", async () => {
  const worker = workerWith(
    script(fail("server", { message: "busy", status: 503, retriedInMs: 2000 }), fail("auth", { message: "no key" })),
  );
  await worker.work();
  const failed = { ...WHO, model: "scripted/model", turn: 1 };
  expect(worker.facts().filter((fact) => fact.type === "model.failed")).toEqual([
    { type: "model.failed", data: { ...failed, reason: "server", message: "busy", retry_in_ms: 2000, status: 503 } },
    { type: "model.failed", data: { ...failed, reason: "auth", message: "no key", retry_in_ms: null } },
  ]);
});

test("what the provider warned of is a fact, and streamed words go live with their speaker, never into the log", async () => {
  const model = script(both(say("Two words."), call("end")).with({ thinking: "Hm." }));
  const reply = model.reply.bind(model);
  model.reply = (request, signal) => {
    request.onWarning?.("temperature is ignored");
    return reply(request, signal);
  };
  const worker = workerWith(model);
  await worker.work();
  expect(worker.facts().filter((fact) => fact.type === "model.warned")).toEqual([
    { type: "model.warned", data: { ...WHO, model: "scripted/model", message: "temperature is ignored" } },
  ]);
  expect(worker.deltas).toEqual([
    { ...WHO, kind: "reasoning", text: "Hm." },
    { ...WHO, kind: "text", text: "Two" },
    { ...WHO, kind: "text", text: " words." },
  ]);
});

test("a worker waits visibly for a long rate limit, as long as the provider asked, and then goes on", async () => {
  const clock = manualClock(1_000_000);
  const model = script(fail("rate_limited", { retryAfterMs: 90_000 }), call("end"));
  const worker = workerWith(model, { clock });
  const work = worker.work();
  await clock.sleeping();
  expect(clock.due).toEqual([1_090_000]);
  expect(worker.facts().at(-1)).toEqual({
    type: "worker.waiting",
    data: { ...WHO, for: "rate_limit", until_ts: 1_090 },
  });
  await clock.advance(90_000);
  expect(await work).toEqual({ kind: "finished", summary: "done" });
  expect(worker.facts().find((fact) => fact.type === "worker.busy")).toEqual({ type: "worker.busy", data: WHO });
});

test("a stop ends the wait for a rate limit; any other failure is not waited for", async () => {
  const clock = manualClock();
  const stop = new AbortController();
  const waiting = workerWith(script(fail("rate_limited", { retryAfterMs: 90_000 })), { clock }).work(stop.signal);
  await clock.sleeping();
  stop.abort(new Error("stop"));
  expect(await waiting).toEqual({ kind: "stopped" });

  const server = workerWith(script(fail("server", { message: "down", retryAfterMs: 90_000 })), { clock });
  expect(await server.work()).toEqual({ kind: "failed", error: "down" });
});

test("a budget that is spent to the cent is spent; one that nears its end is warned of once", async () => {
  const model = script(
    call("look").with({ cost_usd: 0.75 }),
    call("look").with({ cost_usd: 0.125 }),
    call("look").with({ cost_usd: 0.0625 }),
    call("look").with({ cost_usd: 0.0625 }),
  );
  const worker = workerWith(model, { budget_usd: 1 });
  expect(await worker.work()).toEqual({ kind: "budget_exhausted", spent_usd: 1 });
  model.assertDone();
  expect(worker.facts().filter((fact) => fact.type.startsWith("budget."))).toEqual([
    { type: "budget.warned", data: { spent_usd: 0.875, budget_usd: 1 } },
    { type: "budget.exceeded", data: { spent_usd: 1, budget_usd: 1 } },
  ]);
});

test("a budget of tokens that nears its end is warned of too, once", async () => {
  const used = (input: number) => ({ usage: { ...NO_USAGE, input, output: 50 } });
  const model = script(call("look").with(used(700)), call("look").with(used(50)), call("look").with(used(100)));
  const worker = workerWith(model, { budget_tokens: 1000 });
  expect(await worker.work()).toEqual({ kind: "budget_exhausted", spent_usd: 0, spent_tokens: 1000 });
  expect(worker.facts().filter((fact) => fact.type.startsWith("budget."))).toEqual([
    { type: "budget.warned", data: { spent_usd: 0, spent_tokens: 850, budget_tokens: 1000 } },
    { type: "budget.exceeded", data: { spent_usd: 0, spent_tokens: 1000, budget_tokens: 1000 } },
  ]);
});

test("the line a person sees of a call or a result is one line, and short", async () => {
  const worker = workerWith(
    script(call("look", { at: `${"x".repeat(200)}\nmore` }), call("look", "{broken\nworse"), call("end")),
  );
  await worker.work();
  const gists = worker.facts().flatMap((fact) => (fact.type === "tool.called" ? [fact.data.gist] : []));
  expect(gists).toEqual([`${"x".repeat(119)}…`, "{broken", "{}"]);
});

interface Conditions {
  change?: Partial<LoopAssignment>;
  durable?: (batch: Batch) => Promise<void>;
  clock?: ReturnType<typeof manualClock>;
  budget_usd?: number;
  budget_tokens?: number;
}

/** A worker with a log that only remembers what it was given, and a fold over it. */
function workerWith(
  model: ScriptedModel,
  { durable = async () => {}, clock = manualClock(), budget_usd, budget_tokens, change = {} }: Conditions = {},
) {
  const batches: Batch[] = [];
  const deltas: Delta[] = [];
  const now = born({ budget_usd: budget_usd ?? null, ...(budget_tokens && { budget_tokens }) });
  let looks = 0;
  const append: AgentLog["append"] = (batch) => {
    batches.push(batch);
    const facts = (batch.facts ?? []).map(
      (fact, at) => ({ ...fact, seq: now.seq + 1 + at, ts: 0, agent_id: ID }) as Fact,
    );
    for (const fact of facts) apply(now, fact);
    return { facts, durable: durable(batch) };
  };
  const shape = { description: "", repeatable: true };
  const look = defineTool({
    ...shape,
    name: "look",
    parameters: z.object({ at: z.string().optional() }),
    run: async () => {
      looks += 1;
      return "seen";
    },
  });
  const end = defineTool({
    ...shape,
    name: "end",
    parameters: z.object({}),
    run: async () => ({ content: "ended", ending: { kind: "finished", summary: "done" } as const }),
  });
  const assignment = {
    system: "S",
    history: [],
    turn: 1,
    maxTurns: 9,
    compactable: null,
    onReplyWithoutCall: async () => [],
    ...change,
  };
  const record = {
    log: { append } as AgentLog,
    now: () => now,
    pending: () => now,
    clock,
    timeZone: "UTC",
    live: (delta: Delta) => void deltas.push(delta),
    purse: new Purse(() => now),
    aloud: (from: string, text: string): NewFact => {
      const data = { message_id: "m", from, to: "human", text, file: "f", hops: 1, aloud: true } as const;
      return { type: "message.sent", data };
    },
  };
  const ports = { model, toolbox: new Toolbox([look, end]), mail: () => [] };
  return {
    batches,
    deltas,
    looks: () => looks,
    facts: (): NewFact[] => batches.flatMap(({ facts }) => facts ?? []),
    work: (signal: AbortSignal = new AbortController().signal): Promise<Outcome> =>
      runRecordedLoop(assignment, ports, ACTOR, record, signal),
  };
}

const ID = "agent-abcd";

function born(budget: { budget_usd: number | null; budget_tokens?: number }): Situation {
  const data = {
    name: "n",
    goal: "g",
    mode: "finite",
    model: "m",
    worker_model: "m",
    project: null,
    tools: null,
  } as const;
  return begin({ seq: 1, ts: 0, agent_id: ID, type: "agent.created", data: { ...data, ...budget } });
}

function brief({ type, data }: NewFact): string {
  if (type === "tool.called") return `${type} ${data.tool}: ${data.gist}`;
  if (type === "tool.result") return `${type} ${data.tool} ${data.ok}: ${data.gist}`;
  return "turn" in data ? `${type} ${data.turn}` : type;
}

function turnOfTheEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
