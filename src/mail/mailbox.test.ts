import { getEventListeners } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { apply, begin, type Situation } from "../projections/index.ts";
import type { Fact, NewFact, NodeId } from "../protocol/index.ts";
import { nodeDisk } from "../store/disk/node-disk.ts";
import { openStore } from "../store/open-store.ts";
import type { AgentLog } from "../store/store.ts";
import { manualClock, temporaryHome } from "../testing/index.ts";
import { Mailbox } from "./mailbox.ts";

const never = new AbortController().signal;

test("MAILBOX-1. everything new is one entry that says up to which fact it tells; what was told is not told again", async () => {
  const { log, now } = await newAgent();
  await log.append({ facts: [hello("alice", "before"), seen("before")] }).durable;
  const box = await Mailbox.open(log, "alice", log.seq, now);
  await log.append({ facts: [hello("alice", "one"), hello("bob", "not yours"), hello("alice", "two")] }).durable;
  await log.append({ facts: [{ type: "agent.paused", data: {} }] }).durable;
  expect([box.take(), box.take()]).toEqual([
    [
      {
        role: "user",
        from: "human",
        content: "[Message from your human]: one\n\n[Message from your human]: two",
        upto: 6,
        messages: ["one", "two"],
      },
    ],
    [],
  ]);
});

test("MAILBOX-1. taken up at its cursor, a mailbox holds what came since, however much that is, and nothing else", async () => {
  const { log, now } = await newAgent();
  await log.append({ facts: [hello("alice", "told"), seen("told")] }).durable;
  const cursor = log.seq;
  const facts = Array.from({ length: 2500 }, (_, at) => hello(at % 1000 === 999 ? "alice" : "bob", `${at}`));
  await log.append({ facts }).durable;
  const box = await Mailbox.open(log, "alice", cursor, now);
  expect(box.take()).toEqual([
    {
      role: "user",
      from: "human",
      content: "[Message from your human]: 999\n\n[Message from your human]: 1999",
      upto: cursor + 2000,
      messages: ["999", "1999"],
    },
  ]);
});

test("MAILBOX-1a. who takes up a node again hears what ended below it, not below other nodes, and no letter twice", async () => {
  const { log, now } = await newAgent();
  const facts = [
    ...["node-1", "node-2"].flatMap((id) => [node(id, null), assigned(id, "alice"), node(`${id}1`, id)]),
    hello("*", "read on node-2"),
    seen("read on node-2"),
    ...["node-11", "node-21"].flatMap((id) => [assigned(id, "bob"), completed(id)]),
    hello("*", "to all"),
  ];
  await log.append({ facts }).durable;
  const told = 1 + facts.findIndex((fact) => fact.type === "message.received");
  const box = await Mailbox.open(log, "alice", 0, now, { node: "node-1", told, colleagues: 0 });
  expect(box.take()).toEqual([
    {
      role: "user",
      from: "human",
      content: "node-11 completed by bob: Done.\n\n[Message from your human]: to all",
      upto: log.seq,
      messages: ["to all"],
    },
  ]);
});

test("MAILBOX-1. what arrives while the past is read is told once: not lost between the two, nor doubled by both", async () => {
  const { log, now } = await newAgent();
  await log.append({ facts: [hello("alice", "before")] }).durable;
  const busy: AgentLog = Object.assign(Object.create(log), {
    subscribe: log.subscribe.bind(log),
    async read(range: Parameters<AgentLog["read"]>[0]) {
      await log.append({ facts: [hello("alice", "both ways")] }).durable;
      const page = await log.read(range);
      await log.append({ facts: [hello("alice", "only live")] }).durable;
      return page;
    },
  });
  const box = await Mailbox.open(busy, "alice", 1, now);
  await log.append({ facts: [hello("alice", "after")] }).durable;
  expect(box.take()[0]?.content.split("\n\n")).toEqual([
    "[Message from your human]: before",
    "[Message from your human]: both ways",
    "[Message from your human]: only live",
    "[Message from your human]: after",
  ]);
});

test("MAILBOX-1. a message that nobody has seen is told first, however long ago it was sent; one that went to somebody else is not", async () => {
  const { log, now } = await newAgent();
  const gone: NewFact = { type: "message.forwarded", data: { message_id: "gone", to: "coordinator" } };
  await log.append({ facts: [hello("alice", "early"), hello("bob", "not yours"), hello("alice", "gone"), gone] })
    .durable;
  const told = async (...later: NewFact[]) => {
    const box = await Mailbox.open(log, "alice", 5, now);
    if (later.length > 0) await log.append({ facts: later }).durable;
    return box.take();
  };
  const entry = { role: "user", from: "human" };
  const early = "[Message from your human]: early";
  expect([await told(), await told(hello("alice", "late"))]).toEqual([
    [{ ...entry, content: early, upto: 5, messages: ["early"] }],
    [{ ...entry, content: `${early}\n\n[Message from your human]: late`, upto: 6, messages: ["early", "late"] }],
  ]);
});

test("MAILBOX-1c. a refused publish is told while it is the last word on its node, and not once that has come in or ended", async () => {
  const { log, now } = await newAgent();
  await log.append({ facts: [opened, ...["node-1", "node-2", "node-3"].map((id) => node(id, null))] }).durable;
  const box = await Mailbox.open(log, "coordinator", log.seq, now);
  const facts = [refused("node-1"), refused("node-2"), refused("node-1"), refused("node-3")];
  await log.append({ facts }).durable;
  await log.append({ facts: [cameIn("node-2"), hello("coordinator", "now")] }).durable;
  await log.append({ facts: [assigned("node-3", "bob"), completed("node-3")] }).durable;
  const told = box.take()[0]?.content.split("\n\n");
  expect(told).toEqual([
    "The work of node-1 is not in the branch yet: its checks do not pass. Its worker knows, and fixes it.",
    "[Message from your human]: now",
    "node-3 completed by bob: Done.\nIt changed nothing on the branch.",
  ]);
  await log.append({ facts: [refused("node-2"), cameIn("node-2")] }).durable;
  expect(box.take()).toEqual([]);
});

test("MAILBOX-2. waiting ends with the first news, at once when it is there already, and what is no news wakes nobody", async () => {
  const { log, now } = await newAgent();
  const box = await Mailbox.open(log, "alice", log.seq, now);
  let woken = 0;
  const waiting = box.arrived(never).then(() => (woken += 1));
  await log.append({ facts: [hello("bob", "not yours")] }).durable;
  expect(woken).toBe(0);
  await log.append({ facts: [hello("alice", "yours")] }).durable;
  await waiting;
  await box.arrived(never);
  expect(box.take()[0]?.content).toBe("[Message from your human]: yours");
});

test("MAILBOX-2. results that may wait for others are not told sooner because of news that wakes nobody", async () => {
  const { log, now } = await newAgent();
  const box = await Mailbox.open(log, "coordinator", log.seq, now);
  await log.append({ facts: [opened, node("node-1", null), refused("node-1")] }).durable;
  expect([box.waiting, box.hasMoreThanResults]).toEqual([0, false]);
  await log.append({ facts: [hello("coordinator", "now")] }).durable;
  expect(box.hasMoreThanResults).toBe(true);
});

test("MAILBOX-2. a stop ends the waiting with its reason and leaves no listener behind, nor does the news", async () => {
  const { log, now } = await newAgent();
  const box = await Mailbox.open(log, "alice", log.seq, now);
  const stop = new AbortController();
  const waiting = box.arrived(stop.signal);
  stop.abort(new Error("stop"));
  await expect(waiting).rejects.toThrow("stop");
  await expect(box.arrived(stop.signal)).rejects.toThrow("stop");

  const patient = box.arrived(never);
  await log.append({ facts: [hello("alice", "yours")] }).durable;
  await patient;
  expect([getEventListeners(stop.signal, "abort"), getEventListeners(never, "abort")]).toEqual([[], []]);
});

test("a closed mailbox hears nothing any more", async () => {
  const { log, now } = await newAgent();
  const box = await Mailbox.open(log, "alice", log.seq, now);
  box.close();
  await log.append({ facts: [hello("alice", "too late")] }).durable;
  expect(box.take()).toEqual([]);
});

function hello(to: string, text: string): NewFact {
  const file = "_messages/0001.md";
  return { type: "message.sent", data: { message_id: text, from: "human", to, text, file, hops: 1 } };
}

function node(node_id: string, parent_node_id: string | null): NewFact {
  return {
    type: "node.created",
    data: {
      ...{ run_id: "run-1", node_id: node_id as NodeId, parent_node_id: parent_node_id as NodeId | null },
      ...{ task: "t", inference: "multi", created_by: "coordinator" },
      ...{ dependencies: [], refs: {}, deliverables: [] },
    },
  };
}

function assigned(node_id: string, worker_id: string): NewFact {
  return { type: "node.assigned", data: { node_id: node_id as NodeId, worker_id } };
}

function completed(node_id: string): NewFact {
  return { type: "node.completed", data: { node_id: node_id as NodeId, worker_id: "bob", summary: "Done." } };
}

const COMMIT = "a".repeat(40);

const opened: NewFact = {
  type: "repository.opened",
  data: {
    ...{ base: COMMIT, branch: "agiraph/n", source: "/project", source_branch: "main" },
    ...{ uncommitted: 0, submodules: [], uses_lfs: false, is_shallow: false, skipped: [] },
  },
};

function refused(node_id: NodeId): NewFact {
  const data = { node_id, worker_id: "alice", commit: COMMIT, branch_at: COMMIT, why: "checks" as const, files: [] };
  return { type: "merge.refused", data };
}

function cameIn(node_id: NodeId): NewFact {
  const tree = { commit: COMMIT, tree: COMMIT, parent: COMMIT, merged: COMMIT };
  const commit = { ...tree, files: 1, insertions: 1, deletions: 0 };
  return { type: "node.published", data: { node_id, worker_id: "alice", summary: "Done.", files: [], commit } };
}

function seen(message_id: string): NewFact {
  return { type: "message.received", data: { message_id, by: "alice" } };
}

async function newAgent(): Promise<{ log: AgentLog; now: () => Situation }> {
  const home = await temporaryHome();
  const store = await openStore({ root: home.path, disk: nodeDisk, clock: manualClock() });
  onTestFinished(async () => {
    await store.close();
    await home.remove();
  });
  const log = await store.create("agent-abcd");
  const data = { name: "n", goal: "g", mode: "finite", model: "m", worker_model: "m" } as const;
  const created = { type: "agent.created", data: { ...data, budget_usd: null, project: null, tools: null } } as const;
  const { facts, durable } = log.append({ facts: [created] });
  await durable;
  const now = begin(facts[0] as Fact);
  log.subscribe((fact) => apply(now, fact));
  return { log, now: () => now };
}
