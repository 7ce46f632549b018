import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { emptyBoard } from "../../projections/index.ts";
import type { Fact, NodeId } from "../../protocol/index.ts";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { nodeDir } from "../paths.ts";
import { NodeTraces } from "./node-trace.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["setImmediate", "setTimeout"] }));
afterEach(() => vi.useRealTimers());

test("the traces of a few nodes follow at once; those of many follow together, a little later", async () => {
  await using home = await temporaryHome();
  const traces = new NodeTraces(home.path, emptyBoard);
  const few = nodes(3, home.path);
  const many = nodes(30, home.path);
  const lengths = (ids: NodeId[]) => [...new Set(ids.map((id) => linesOf(home.path, id)))];

  for (const round of [1, 2]) {
    for (const id of few) traces.note(started(id));
    vi.advanceTimersByTime(0);
    expect(lengths(few)).toEqual([round]);
  }

  for (const id of many.slice(3)) traces.note(started(id));
  vi.advanceTimersByTime(0);
  expect(lengths(many.slice(3))).toEqual([1]);
  for (const id of many.slice(3)) traces.note(started(id));
  vi.advanceTimersByTime(249);
  expect(lengths(many.slice(3))).toEqual([1]);
  vi.advanceTimersByTime(1);
  expect(lengths(many.slice(3))).toEqual([2]);
});

test("a node without a folder keeps nobody else waiting, and has all its facts once there is one", async () => {
  await using home = await temporaryHome();
  const traces = new NodeTraces(home.path, emptyBoard);
  const [first] = nodes(1, home.path) as [NodeId];

  traces.note(started("node-7"));
  vi.advanceTimersByTime(0);
  for (const id of ["node-7", first] as const) traces.note(started(id));
  vi.advanceTimersByTime(0);
  expect([linesOf(home.path, first), linesOf(home.path, "node-7")]).toEqual([1, 0]);

  mkdirSync(nodeDir(home.path, "run-1", "node-7"), { recursive: true });
  traces.flush();
  expect([linesOf(home.path, first), linesOf(home.path, "node-7")]).toEqual([1, 2]);
});

function nodes(count: number, home: string): NodeId[] {
  const ids = Array.from({ length: count }, (_, at): NodeId => `node-${at + 1}`);
  for (const id of ids) mkdirSync(nodeDir(home, "run-1", id), { recursive: true });
  return ids;
}

function started(node_id: NodeId): Fact {
  return {
    seq: 1,
    type: "node.started",
    agent_id: "agent-aaaa",
    ts: 0,
    data: { node_id, worker_id: "alice" },
  };
}

function linesOf(home: string, id: NodeId): number {
  const file = join(nodeDir(home, "run-1", id), "log.jsonl");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 1 : 0;
}
