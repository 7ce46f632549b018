import { expect, test } from "vitest";
import { apply, begin, type Situation } from "../projections/index.ts";
import type { Fact, NewFact, NodeId, Outcome } from "../protocol/index.ts";
import { type News, newsFor } from "./news.ts";

test("a message is news to whom it is for, or to everyone but its sender", () => {
  const one = message("alice", "bob");
  const all = message("alice", "*");
  const told = ["alice", "bob", "coordinator"].map((reader) => [newsOf(reader, one), newsOf(reader, all)]);
  const news = { text: "[Message from alice]: Look.", message_id: "m1", from: "alice" };
  expect(told).toEqual([
    [undefined, undefined],
    [news, news],
    [undefined, news],
  ]);
});

test("what nobody would read where it was sent is news to the coordinator, with whom it was for", () => {
  const instead = message("alice", "bob", "coordinator");
  const forwarded: NewFact = { type: "message.forwarded", data: { message_id: "m1", to: "coordinator" } };
  const history = [message("alice", "bob")];
  expect([newsOf("bob", instead), newsOf("coordinator", instead)]).toEqual([
    undefined,
    { text: "[Message from alice for bob, who has no work now]: Look.", message_id: "m1", from: "alice" },
  ]);
  expect([newsOf("bob", forwarded, history), newsOf("coordinator", forwarded, history)]).toEqual([
    undefined,
    { text: "[Message from alice for bob, who has finished]: Look.", message_id: "m1", from: "alice" },
  ]);
});

test("how a node ended is news to the coordinator alone, with the worker's name and its files", () => {
  const history: NewFact[] = [
    {
      type: "worker.spawned",
      data: { run_id: "run-1", worker_id: "alice", name: "Alice", kind: "harnessed", model: "m" },
    },
    created,
    { type: "node.published", data: { ...WHO, summary: "80", files: [{ path: "a.md", sha256: "", bytes: 2 }] } },
  ];
  const completed: NewFact = { type: "node.completed", data: { ...WHO, summary: "80" } };
  expect([newsOf("coordinator", completed, history), newsOf("alice", completed, history)]).toEqual([
    { text: "node-1 completed by Alice: 80\nPublished: nodes/node-1/published/a.md", isResult: true },
    undefined,
  ]);
});

test("how a sub-node ended is news to whoever made it, while they are at work on its parent; after that, to the coordinator", () => {
  const child: NewFact = { ...created, data: { ...created.data, node_id: "node-2", parent_node_id: "node-1" } };
  const completed: NewFact = { type: "node.completed", data: { node_id: "node-2", worker_id: "bob", summary: "40" } };
  const atWork: NewFact[] = [created, child, { type: "node.assigned", data: WHO }];
  const over: NewFact[] = [...atWork, { type: "node.completed", data: { ...WHO, summary: "80" } }];
  const news = { text: "node-2 completed by bob: 40", isResult: true };
  const told = (history: NewFact[]) =>
    ["alice", "bob", "coordinator"].map((reader) => newsOf(reader, completed, history));
  expect([told(atWork), told(over)]).toEqual([
    [news, undefined, undefined],
    [undefined, undefined, news],
  ]);
});

test("what ended below somebody who was never told of it is told with their own end; what ends later, by itself", () => {
  const under = (node_id: NodeId, parent_node_id: NodeId): NewFact => ({
    ...created,
    data: { ...created.data, node_id, parent_node_id },
  });
  const done = (node_id: NodeId, worker_id: string, summary: string, ...unheard: NodeId[]): NewFact => ({
    type: "node.completed",
    data: { node_id, worker_id, summary, unheard },
  });
  const outcome = { kind: "failed", error: "no" } as const;
  const before: NewFact[] = [
    created,
    under("node-2", "node-1"),
    under("node-3", "node-2"),
    under("node-4", "node-1"),
    { type: "node.assigned", data: WHO },
    done("node-3", "carol", "20\nin all"),
    { type: "node.failed", data: { node_id: "node-2", worker_id: "bob", outcome, unheard: ["node-3"] } },
  ];
  const end = done("node-1", "alice", "80", "node-2");
  const late = done("node-4", "dora", "10");
  expect([newsOf("coordinator", end, before), newsOf("coordinator", late, [...before, end])]).toEqual([
    {
      text: [
        "node-1 completed by alice: 80",
        "Ended below it, unheard:",
        "- node-2 failed: no. Its unfinished files are in nodes/node-2/scratch/.",
        "- node-3 completed by carol: 20",
        "  in all",
      ].join("\n"),
      isResult: true,
    },
    { text: "node-4 completed by dora: 10", isResult: true },
  ]);
  // Read only after everything was over, it is the same.
  const all = [...before, end, late];
  expect(all.map((_, at) => newsAt("coordinator", all, at)?.text.split("\n", 1)[0] ?? null)).toEqual([
    ...before.map(() => null),
    "node-1 completed by alice: 80",
    "node-4 completed by dora: 10",
  ]);
});

test.each<[Outcome, string]>([
  [{ kind: "failed", error: "no such key" }, "no such key"],
  [{ kind: "budget_exhausted", spent_usd: 1 }, "budget exhausted"],
  [{ kind: "exhausted", turns: 3 }, "exhausted"],
  [{ kind: "abandoned", error: "Not done within 60 s." }, "Not done within 60 s"],
])("why a node failed is said, and where its files are: %j", (outcome, why) => {
  const failed: NewFact = { type: "node.failed", data: { ...WHO, outcome } };
  expect([newsOf("coordinator", failed, [created]), newsOf("alice", failed, [created])]).toEqual([
    { text: `node-1 failed: ${why}. Its unfinished files are in nodes/node-1/scratch/.` },
    undefined,
  ]);
});

test("who has lost is told once, with the news of who won, and not of those who finished all the same", () => {
  const contract = { max_iterations_per_node: 9, timeout_seconds: 9, checkpoint_policy: "any" as const };
  const node = (number: number): NewFact => ({
    ...created,
    data: { ...created.data, node_id: `node-${number}`, stage: 1 },
  });
  const completed = (number: number): NewFact => ({
    type: "node.completed",
    data: { node_id: `node-${number}`, worker_id: "alice", summary: "80" },
  });
  const history: NewFact[] = [
    { type: "run.started", data: { run_id: "run-1", goal: "Race" } },
    { type: "stage.started", data: { run_id: "run-1", stage: 1, name: "Race", contract } },
    ...[1, 2, 3].map(node),
    completed(1),
    completed(2),
    { type: "node.cancelled", data: { node_id: "node-3", by: "agiraph", reason: "no" } },
    node(4),
    completed(4),
  ];
  const done = (number: number, lost = "") =>
    `node-${number} completed by alice: 80\nStage 1 (Race) is done.${lost} Reconvene, create more work, or finish.`;
  const live = [5, 6, 9].map((at) => newsOf("coordinator", history[at] as NewFact, history.slice(0, at))?.text);
  const later = [5, 6, 9].map((at) => newsAt("coordinator", history, at)?.text);
  const both = " No longer needed, so cancelled: node-2, node-3.";
  expect(live).toEqual([done(1, both), done(2), done(4)]);
  expect(later).toEqual([done(1, " No longer needed, so cancelled: node-3."), done(2), done(4)]);
});

test("why a node that had ended is open again is said", () => {
  const failed: NewFact = { type: "node.failed", data: { ...WHO, outcome: { kind: "failed", error: "no" } } };
  const reopened = (why?: "trigger"): NewFact => ({
    type: "node.reopened",
    data: { node_id: "node-1", reserved_for: null, ...(why && { why }) },
  });
  expect([undefined, "trigger" as const].map((why) => newsOf("coordinator", reopened(why), [created, failed]))).toEqual(
    [
      { text: "node-1 had run out of money and goes on where it was." },
      { text: "node-1 had failed and is tried again, as a trigger asks." },
    ],
  );
});

test("who goes on is told what had happened, and resuming is nobody's deed where nobody had stopped it", () => {
  const words = (data: Extract<NewFact, { type: "agent.resumed" }>["data"]) =>
    newsOf("coordinator", { type: "agent.resumed", data })?.text.split("\n")[0];
  const closed = { was: "stopped", why: "its terminal was closed" } as const;
  expect([
    words({ was: "paused" }),
    words({ was: "paused", why: "stage 1 wants approval" }),
    words({ was: "stopped" }),
    words(closed),
    words({ was: "failed", why: "The provider does not answer." }),
    words({ coordinator_decides: true }),
    words({ coordinator_decides: true, ...closed }),
  ]).toEqual([
    "Your human had paused the work. It goes on now.",
    "The work was paused (stage 1 wants approval). It goes on now.",
    "Your human had stopped the work. It goes on now.",
    "The work was interrupted: its terminal was closed. It goes on now.",
    "The run had failed (The provider does not answer). It goes on now.",
    "Your human had stopped the work and speaks to you now.",
    "The work was interrupted: its terminal was closed; your human speaks to you now.",
  ]);
});

test("who is resumed is told the board as it is, not as it is remembered", () => {
  const resumed: NewFact = { type: "agent.resumed", data: {} };
  expect([newsOf("coordinator", resumed, [created]), newsOf("alice", resumed, [created])]).toEqual([
    {
      text: "The work was paused or interrupted. It goes on now. The board as it is:\n- node-1 [pending] Measure\nGo on where you were.",
      cycle: "goes on",
    },
    undefined,
  ]);
});

const WHO = { node_id: "node-1", worker_id: "alice" } as const;
const created: Extract<NewFact, { type: "node.created" }> = {
  type: "node.created",
  data: {
    run_id: "run-1",
    node_id: "node-1",
    task: "Measure",
    inference: "multi",
    dependencies: [],
    refs: {},
    deliverables: [],
    parent_node_id: null,
    created_by: "coordinator",
  },
};

function message(from: string, to: string, reader?: string): NewFact {
  const words = { message_id: "m1", from, to, text: "Look.", file: "_messages/0001.md", hops: 1 };
  return { type: "message.sent", data: reader === undefined ? words : { ...words, reader } };
}

/** As the mailbox asks it: the situation already holds the fact. */
function newsOf(reader: string, fact: NewFact, history: NewFact[] = []): News | undefined {
  const now = situation();
  const facts = [...history, fact].map((each, at) => ({ ...each, seq: at + 2, ts: 0, agent_id: now.agent.id }) as Fact);
  for (const each of facts) apply(now, each);
  return newsFor(reader, facts.at(-1) as Fact, now);
}

/** As somebody asks it who reads the log from the beginning, when all of it has happened. */
function newsAt(reader: string, history: NewFact[], at: number): News | undefined {
  const now = situation();
  const facts = history.map((each, place) => ({ ...each, seq: place + 2, ts: 0, agent_id: now.agent.id }) as Fact);
  for (const each of facts) apply(now, each);
  return newsFor(reader, facts[at] as Fact, now);
}

function situation(): Situation {
  const data = { name: "n", goal: "g", mode: "finite", model: "m", worker_model: "m" } as const;
  const nothing = { budget_usd: null, project: null, tools: null };
  return begin({ seq: 1, ts: 0, agent_id: "agent-abcd", type: "agent.created", data: { ...data, ...nothing } });
}

test("the end of a command in the background is news to whoever left it running, while they are on that work", () => {
  const exited: NewFact = {
    type: "process.exited",
    data: { worker_id: "alice", node_id: "node-1", pid: 7, code: 1, signal: null, background: "bg-7" },
  };
  const plain: NewFact = { ...exited, data: { worker_id: "alice", node_id: "node-1", pid: 7, code: 1, signal: null } };
  const news = { text: "Background command bg-7 ended with exit code 1 and printed nothing new." };
  expect([
    newsOf("alice", exited),
    newsOf("bob", exited),
    newsOf("coordinator", exited),
    newsOf("alice", plain),
  ]).toEqual([news, undefined, undefined, undefined]);
});
