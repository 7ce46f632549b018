import { expect, test } from "vitest";
import type { Fact, NewFact } from "../protocol/index.ts";
import { applyToTroubles, type Troubles, troubleOf, troublesOf, troubleWords } from "./trouble.ts";

const who = { worker_id: "alice", node_id: "node-1" } as const;

test("two failed tries in a row are trouble, told with their beginning and what comes next, until the model answers", () => {
  const troubles: Troubles = {};
  tell(troubles, 10, failed("connection", 1000));
  expect(troublesOf(troubles)).toEqual([]);
  tell(troubles, 11, failed("connection", 2000));
  expect(troublesOf(troubles)).toEqual([
    {
      worker_id: "alice",
      model: "m",
      reason: "connection",
      message: "m failed.",
      since_ts: 10,
      tries: 2,
      retry_ts: 13,
    },
  ]);
  expect(troublesOf(troubles).map(troubleWords)).toEqual(["model unreachable"]);
  // Given up, and tried once more by the same worker: it is still the same trouble.
  tell(troubles, 13, failed("connection", null));
  tell(troubles, 14, { type: "model.called", data: { ...who, model: "m", turn: 1 } });
  expect(troubleOf(troubles, "alice")).toMatchObject({ since_ts: 10, tries: 3, retry_ts: null });
  tell(troubles, 15, responded());
  expect(troubles).toEqual({});
});

test("a long wait and a silence are trouble at once; a long limit says until when", () => {
  const troubles: Troubles = {};
  tell(troubles, 10, failed("rate_limited", 40_000));
  expect(troubleOf(troubles, "alice")).toMatchObject({ tries: 1, retry_ts: 50 });
  tell(troubles, 50, failed("rate_limited", null));
  tell(troubles, 50, { type: "worker.waiting", data: { ...who, for: "rate_limit", until_ts: 3650 } });
  expect(troubleOf(troubles, "alice")).toMatchObject({ tries: 2, retry_ts: 3650 });
  tell(troubles, 60, { type: "worker.idle", data: { worker_id: "alice" } });
  expect(troubles).toEqual({});
  tell(troubles, 200, failed("stalled", 500));
  expect(troublesOf(troubles).map(troubleWords)).toEqual(["model silent"]);
});

test("nobody is in trouble whose work has ended, however it did", () => {
  const ends: NewFact[] = [
    { type: "worker.stopped", data: { worker_id: "alice" } },
    { type: "worker.retired", data: { worker_id: "alice" } },
    { type: "tool.called", data: { ...who, call_id: "c", tool: "bash", gist: "" } },
    { type: "agent.paused", data: {} },
    { type: "agent.stopped", data: { by: "human" } },
    { type: "agent.failed", data: { error: "" } },
    { type: "agent.completed", data: { summary: "" } },
    { type: "agent.started", data: { why: "recovered", pid: 1 } },
    { type: "run.finished", data: { run_id: "run-1", outcome: { kind: "stopped" } } },
  ];
  const left = ends.filter((end) => {
    const troubles: Troubles = {};
    tell(troubles, 10, failed("server", 60_000));
    tell(troubles, 11, end);
    return troublesOf(troubles).length > 0;
  });
  expect(left).toEqual([]);
});

function tell(troubles: Troubles, ts: number, fact: NewFact): void {
  applyToTroubles(troubles, { ...fact, seq: 1, ts, agent_id: "agent-abcd" } as Fact);
}

function failed(reason: string, retry_in_ms: number | null): NewFact {
  return { type: "model.failed", data: { ...who, model: "m", turn: 1, reason, message: "m failed.", retry_in_ms } };
}

function responded(): NewFact {
  const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 };
  return {
    type: "model.responded",
    data: { ...who, model: "m", turn: 1, usage, cost_usd: 0, finish: "stop", ms: 1 },
  };
}
