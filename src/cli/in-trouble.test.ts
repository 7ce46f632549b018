import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { apply, begin, type Situation } from "../projections/index.ts";
import type { Fact, NewFact } from "../protocol/index.ts";
import { workersTable } from "./commands/workers.ts";
import { Terminal } from "./terminal.ts";
import { agentSummary } from "./wording/agent-summary.ts";
import { boardTable } from "./wording/board-table.ts";
import { paintFor } from "./wording/paint.ts";
import { standingWords } from "./wording/standing.ts";
import { troubleLines } from "./wording/trouble-lines.ts";

const noPaint = paintFor({}, { NO_COLOR: "1" });
const run_id = "run-1";
const coordinator = { worker_id: "coordinator", node_id: null } as const;
const failed = { ...coordinator, model: "m/x", turn: 1, reason: "connection", message: "m/x failed: no route." };

test("whose provider cannot be reached is said wherever one looks, with what is tried", () => {
  const now = agent(
    { type: "agent.started", data: { why: "created", pid: 1 } },
    { type: "run.started", data: { run_id, goal: "G" } },
    {
      type: "worker.spawned",
      data: { run_id, worker_id: "coordinator", name: "Coordinator", kind: "harnessed", model: "m/x" },
    },
    { type: "worker.busy", data: coordinator },
    { type: "model.failed", data: { ...failed, retry_in_ms: 1000 } },
    { type: "model.failed", data: { ...failed, retry_in_ms: 2000 } },
  );
  expect(standingWords("working", now, 100)).toBe("model unreachable");
  expect(standingWords("stopped", now, 100)).toBe("stopped");
  expect(workersTable(now, "working", 200, noPaint)[1]).toMatch(/^coordinator +model unreachable /i);
  const [who = "", what = ""] = troubleLines(now);
  expect(who).toMatch(/^coordinator: m\/x failed: no route\.$/i);
  expect(what).toMatch(/^ {2}2 tries failed since \d\d:\d\d:\d\d; the next at \d\d:\d\d:\d\d$/);
  expect(agentSummary(now, "working").troubles).toMatchObject([{ worker_id: "coordinator", tries: 2 }]);
});

test("a line that stands for one of many is no page in a pipe either, and a terminal without a width has one", () => {
  const lineColumns = (stream: object, env = {}) => {
    const stdout = Object.assign(new PassThrough(), stream);
    return new Terminal({ stdin: new PassThrough(), stdout, stderr: new PassThrough() }, env, "/").lineColumns;
  };
  expect([
    lineColumns({}),
    lineColumns({}, { COLUMNS: "90" }),
    lineColumns({ isTTY: true, columns: 300 }),
    lineColumns({ isTTY: true, columns: 0 }),
  ]).toEqual([200, 90, 300, 80]);
  const summary = `White. ${"They were grey. ".repeat(40)}`;
  const node = { node_id: "node-1", worker_id: "coordinator" } as const;
  const spec = { inference: "multi" as const, dependencies: [], refs: {}, deliverables: [], parent_node_id: null };
  const now = agent(
    { type: "run.started", data: { run_id, goal: "G" } },
    { type: "node.created", data: { run_id, node_id: "node-1", task: "Paint", created_by: "coordinator", ...spec } },
    { type: "node.started", data: node },
    { type: "node.completed", data: { ...node, summary } },
  );
  const [, line = ""] = boardTable(now, "completed", lineColumns({}), noPaint);
  expect(line).toMatch(/^node-1 .*White\. They were grey\..*…$/);
  expect(line.length).toBeLessThanOrEqual(200);
});

function agent(...facts: NewFact[]): Situation {
  const agent_id = "agent-abcd" as const;
  const models = { model: "m/x", worker_model: "m/x", budget_usd: null, project: null, tools: null };
  const created = { name: "a", goal: "G", mode: "finite", ...models } as const;
  const now = begin({ seq: 1, ts: 1, agent_id, type: "agent.created", data: created });
  facts.forEach((fact, at) => {
    apply(now, { ...fact, seq: at + 2, ts: 10 + at, agent_id } as Fact);
  });
  return now;
}
