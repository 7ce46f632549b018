import { expect, test } from "vitest";
import { type Fact, type FactType, factTypes, type NewFact } from "../protocol/index.ts";
import { factLine } from "./fact-line.ts";
import { timestamp } from "./format.ts";
import { noPaint } from "./paint.ts";
import { Story } from "./story.ts";
import { storyText } from "./story-text.ts";

type DataOf<T extends FactType> = Extract<NewFact, { type: T }>["data"];

const ann = { worker_id: "ann", node_id: "node-1" as const };
const lead = { worker_id: "coordinator", node_id: null };
const usage = { input: 1200, output: 80, cache_read: 0, cache_write: 0, reasoning: 0 };
const call = { call_id: "c1", tool: "bash" };
const contract = { max_iterations_per_node: 40, timeout_seconds: 600, checkpoint_policy: "any" as const };
const run = { run_id: "run-1" as const };
const trigger = { trigger_id: "trigger-1" as const };
const failed = { kind: "failed" as const, error: "No key." };
const [DUE, NEXT] = [1_770_800_000, 1_770_900_000];

/** One of each kind: a new kind of fact does not compile before it is here. */
const EACH: { [T in FactType]: DataOf<T> } = {
  "agent.created": {
    name: "survey",
    goal: "Survey\nall",
    mode: "finite",
    model: "x/y",
    worker_model: "x/y",
    budget_usd: null,
    project: null,
    tools: null,
  },
  "agent.started": { why: "created", pid: 7 },
  "agent.paused": { why: "human" },
  "agent.resumed": {},
  "agent.stopped": { by: "human" },
  "agent.archived": { by: "human" },
  "agent.restored": { by: "human" },
  "agent.completed": { summary: "Done.\nAll of it." },
  "agent.failed": { error: "No key." },
  "run.started": { ...run, goal: "Survey" },
  "run.finished": { ...run, outcome: failed },
  "stage.started": { ...run, stage: 1, name: "Read", contract },
  "stage.reconvened": { ...run, stage: 1, assessment: "Good." },
  "stage.completed": { ...run, stage: 1 },
  "node.created": {
    ...run,
    node_id: "node-1",
    task: "Read",
    inference: "multi",
    dependencies: [],
    refs: {},
    deliverables: [],
    parent_node_id: null,
    created_by: "coordinator",
  },
  "node.released": { node_id: "node-1" },
  "node.reserved": ann,
  "node.assigned": ann,
  "node.started": ann,
  "node.published": { ...ann, summary: "Read.", files: [{ path: "a.md", sha256: "0", bytes: 1 }] },
  "node.completed": { ...ann, summary: "Read." },
  "node.retried": { ...ann, error: "No key." },
  "node.failed": { ...ann, outcome: failed },
  "node.reopened": { node_id: "node-1", reserved_for: "ann" },
  "worker.spawned": { ...run, worker_id: "ann", name: "Ann", kind: "harnessed", model: "x/y" },
  "worker.briefed": { worker_id: "ann", identity: "A reader" },
  "worker.retired": { worker_id: "ann" },
  "worker.busy": ann,
  "worker.idle": { worker_id: "ann" },
  "worker.waiting": { ...ann, for: "human" },
  "worker.stopped": { worker_id: "ann" },
  "worker.session": { ...ann, node_id: "node-1", session_id: "s-1" },
  "worker.permitted": { worker_id: "ann", tool: "Bash" },
  "worker.checkpointed": { ...ann, summary: "Half." },
  "message.sent": { message_id: "message-1", from: "ann", to: "human", text: "Hello", file: "m.md", hops: 1 },
  "message.received": { message_id: "message-1", by: "human" },
  "message.forwarded": { message_id: "message-1", to: "ann" },
  "message.expired": { message_id: "message-1", why: "the run has ended" },
  "suggestion.made": { ...ann, suggestion: "Read more" },
  "human.question": { ...ann, question_id: "question-1", call_id: "c1", text: "Which?", choices: ["a", "b"] },
  "human.response": { question_id: "question-1", worker_id: "ann", text: "a", channel: "terminal" },
  "human.nudge": { text: "Faster", channel: "terminal" },
  "memory.written": { path: "memory/a.md", bytes: 12, by: "coordinator" },
  "memory.compacted": { ...lead, entries: 90, tokens_before: 80_000, tokens_after: 9_000 },
  "insight.offered": { ...ann, title: "Chips throttle", content: "At 88." },
  "insight.accepted": { insight_id: "insight-1", path: "memory/a.md" },
  "insight.declined": { insight_id: "insight-2", why: "trivial" },
  "channel.opened": { channel: "pager", to: ["questions"] },
  "channel.closed": { channel: "pager" },
  "channel.delivered": { channel: "pager", of: "question-1", fact: 5 },
  "channel.delayed": { channel: "pager", of: "question-1", fact: 5, why: "503", attempts: 2, retry_in_ms: 4000 },
  "channel.failed": { channel: "pager", of: "question-1", fact: 5, why: "410", attempts: 1 },
  "model.called": { ...ann, model: "x/y", turn: 1 },
  "model.responded": { ...ann, model: "x/y", turn: 1, usage, cost_usd: 0.02, finish: "stop", ms: 1500 },
  "model.failed": { ...ann, model: "x/y", turn: 1, reason: "auth", message: "no", retry_in_ms: null },
  "model.warned": { ...ann, model: "x/y", message: "slow" },
  "mcp.failed": { ...ann, server: "files", why: "it exited with code 1" },
  "tool.called": { ...ann, ...call, gist: "ls" },
  "tool.result": { ...ann, ...call, ok: true, ms: 4, gist: "a.md" },
  "trigger.created": {
    ...trigger,
    when: { type: "scheduled", config: { cron: "0 9 * * MON", time_zone: "UTC" } },
    action: { type: "wake_agent", payload: { task: "Look" } },
    missed: "once",
    due: DUE,
    created_by: "coordinator",
  },
  "trigger.fired": { ...trigger, due: DUE, action: "wake_agent", next_due: NEXT },
  "trigger.done": { ...trigger, due: DUE, problem: "The run has ended." },
  "trigger.rescheduled": { ...trigger, due: DUE, next_due: NEXT, why: "missed" },
  "trigger.paused": { ...trigger, by: "human" },
  "trigger.resumed": { ...trigger, by: "human", due: NEXT },
  "trigger.cancelled": { ...trigger, by: "human" },
  "trigger.expired": { ...trigger, why: "It names no further time." },
  "budget.set": { budget_usd: 2 },
  "budget.warned": { spent_usd: 1.6, budget_usd: 2 },
  "budget.exceeded": { spent_usd: 2, budget_usd: 2 },
  "process.started": { ...ann, pid: 9, command: "ls", sandbox: "bubblewrap" },
  "process.exited": { ...ann, pid: 9, code: 0, signal: null },
  "mesh.opened": { mesh: "review", project: "/p", topology: "sequential", agents: ["critic"] },
  "mesh.closed": { mesh: "review", why: "stopped" },
  "mesh.received": { mesh: "review", agent: null, name: "a.md", type: "task", from: "human", title: "Look" },
  "mesh.activated": { mesh: "review", agent: "critic", name: "a.md" },
  "mesh.told": { mesh: "review", agent: "critic", name: "a.md" },
  "mesh.undelivered": { mesh: "review", agent: "critic", name: "a.md", why: "no session" },
  "mesh.completed": { mesh: "review", agent: null, name: "a.md", gist: "fine" },
  "mesh.failed": { mesh: "review", agent: null, name: "a.md", why: "no time" },
  "mesh.quarantined": { mesh: "review", agent: null, name: "b.md", why: "no header" },
  "mesh.gate": { mesh: "review", gate: "tests", ok: false, why: "2 failed" },
  "mesh.session": { mesh: "review", agent: "critic", state: "dead", detail: "exit 1" },
  "mesh.stalled": { mesh: "review", why: "no space left" },
  "mesh.reloaded": { mesh: "review", problem: null },
  "log.repaired": { file: "events.jsonl", what: "a torn tail", aside: null },
};

const factOf = (type: FactType) => ({ seq: 1, agent_id: "agent-test", ts: 0, type, data: EACH[type] }) as Fact;

test("what a program's turns really cost is told as that, not as a reply", () => {
  const usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0 };
  const said = (cost_usd: number) =>
    factLine({
      ...{ seq: 1, ts: 1, agent_id: "agent-abcd", type: "model.responded" },
      data: { ...ann, model: "x/y", turn: 2, usage, cost_usd, finish: "other", ms: 0, correction: true },
    });
  expect([said(0.25), said(-0.25)]).toEqual([
    "ann node-1 until now: $0.25 more than was counted",
    "ann node-1 until now: $0.25 less than was counted",
  ]);
});

test("every kind of fact has words: nobody is shown raw JSON", () => {
  expect(factTypes.filter((type) => /[{}]|undefined/.test(factLine(factOf(type))))).toEqual([]);
  expect(factTypes.filter((type) => factLine(factOf(type)) === "")).toEqual(["agent.resumed"]);
});

test("what is to happen later reads as a line of the log", () => {
  const words = factTypes.filter((type) => type.startsWith("trigger.")).map((type) => factLine(factOf(type)));
  const [due, next] = [timestamp(DUE), timestamp(NEXT)];
  expect(words).toEqual([
    `trigger-1 by coordinator: scheduled "0 9 * * MON" (UTC), next ${due}: wake up with "Look"`,
    `trigger-1 due ${due}: wake_agent, next ${next}`,
    "trigger-1: The run has ended.",
    `trigger-1 missed its time: ${due} → ${next}`,
    "trigger-1 by human",
    `trigger-1 by human, next ${next}`,
    "trigger-1 by human",
    "trigger-1: It names no further time.",
  ]);
});

test("memory, insights, channels, triggers and held work are told in the story as they happen", () => {
  const story = new Story(() => ({}));
  const kinds = /^(trigger|memory|insight|channel|human)\.|^node\.released$/;
  const lines = factTypes.filter((type) => kinds.test(type)).flatMap((type) => story.tell(factOf(type)));
  expect(lines.flatMap((each) => storyText(each, undefined, noPaint))).toEqual([
    "node-1      + may begin",
    "ann         ? Which?",
    "            ?   1  a",
    "            ?   2  b",
    "you         → ann: a",
    "you         → coordinator: Faster",
    "coordinator ✓ remembers: memory/a.md",
    "coordinator ▸ goes on from a summary of 90 entries (80k → 9.0k tokens)",
    "ann         → coordinator: an insight, Chips throttle",
    "coordinator ✓ keeps insight-1 in memory/a.md",
    "coordinator - declines insight-2: trivial",
    "pager       + carries questions",
    "pager       - closed",
    "pager       ✓ question-1 delivered",
    "pager       ✗ question-1 could not be delivered: 410",
    'trigger-1   + scheduled "0 9 * * MON" (UTC): wake up with "Look"',
    "trigger-1   ▸ wakes the agent",
    "trigger-1   ✗ The run has ended.",
    `trigger-1   ! missed its time; next ${timestamp(NEXT)}`,
    "trigger-1   - paused",
    "trigger-1   ▸ goes on",
    "trigger-1   - cancelled",
    "trigger-1   - It names no further time.",
  ]);
});
