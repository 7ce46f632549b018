import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Fact, NewFact } from "../../src/protocol/index.ts";
import { call, script } from "../../src/testing/index.ts";
import {
  ALICES,
  assigned,
  assignment,
  BIRTH,
  begun,
  calling,
  created,
  saying,
  spawned,
  type TakenUp,
  takenUp,
} from "./taken-up.ts";

/** A process was killed at a given point; what the next one makes of it. */

const finish = call("finish", { summary: "done" }).after("node-1 completed");
const running: NewFact[] = [
  created("node-1"),
  spawned("alice"),
  ...assigned("node-1", "alice"),
  { type: "node.started", data: { node_id: "node-1", worker_id: "alice" } },
];
const RUNNING = BIRTH + running.length;
const SCRATCH = "runs/run-1/nodes/node-1/scratch";
const PUBLISHED = "runs/run-1/nodes/node-1/published";
const publish = { id: "c1", name: "publish", args: { summary: "80" } };
const files = [{ path: "a.md", sha256: createHash("sha256").update("80").digest("hex"), bytes: 2 }];
const published: NewFact = {
  type: "node.published",
  data: { node_id: "node-1", worker_id: "alice", summary: "80", files },
};

test("killed before anybody took it, a node is taken now", async () => {
  await using left = await takenUp({
    facts: [created("node-1")],
    conversations: { "conversation.jsonl": [...begun(BIRTH), calling({ id: "c", name: "list_files", args: {} })] },
    minds: {
      coordinator: script(finish),
      alice: script(call("write_file", { path: "scratch/a.md", content: "80" }), call("publish", { summary: "80" })),
    },
  });
  await left.start();
  expect(await outcomeOf(left)).toEqual({ kind: "finished", summary: "done" });
});

test("killed between its assignment and its beginning, a node is begun once, by the same worker", async () => {
  await using left = await takenUp({
    facts: [created("node-1"), spawned("alice"), ...assigned("node-1", "alice")],
    conversations: { "conversation.jsonl": [...begun(BIRTH), saying("I wait.")] },
    minds: {
      coordinator: script(finish),
      alice: script(call("write_file", { path: "scratch/a.md", content: "80" }), call("publish", { summary: "80" })),
    },
  });
  await left.start();
  await outcomeOf(left);
  const told = (await left.since()).filter(({ type }) => /^node\.|worker\.spawned/.test(type));
  expect(told.map(({ type }) => type)).toEqual(["node.started", "node.published", "node.completed"]);
});

test("killed after publishing was prepared and before it was recorded, the worker can change its files again", async () => {
  const looked = Promise.withResolvers<void>();
  await using left = await takenUp({
    facts: running,
    conversations: {
      "conversation.jsonl": [...begun(BIRTH), saying("I wait.")],
      [ALICES]: [...assignment("node-1", RUNNING)],
    },
    files: { [`${SCRATCH}/a.md`]: { content: "80", mode: 0o400 } },
    minds: { coordinator: script(finish), alice: script(call("publish", { summary: "80" }).until(looked.promise)) },
  });
  const asked = until(left, (fact) => fact.type === "model.called" && fact.data.worker_id === "alice");
  await left.start();
  await asked;
  expect((await stat(join(left.agent.log.dir, SCRATCH, "a.md"))).mode & 0o777).toBe(0o600);
  looked.resolve();
  await outcomeOf(left);
});

test.each([
  ["before the rename", SCRATCH],
  ["after the rename", PUBLISHED],
])(
  "killed after publishing was recorded, %s, it is finished as it was recorded and nobody is asked",
  async (_, where) => {
    await using left = await takenUp({
      facts: [...running, published],
      conversations: {
        "conversation.jsonl": [...begun(BIRTH), saying("I wait.")],
        [ALICES]: [...assignment("node-1", RUNNING), calling(publish)],
      },
      files: { [`${where}/a.md`]: { content: "80", mode: 0o400 } },
      minds: { coordinator: script(finish), alice: script() },
    });
    await left.start();
    expect(await outcomeOf(left)).toEqual({ kind: "finished", summary: "done" });
    expect(await readdir(join(left.agent.log.dir, PUBLISHED))).toEqual(["a.md"]);
    expect((await stat(join(left.agent.log.dir, PUBLISHED, "a.md"))).mode & 0o777).toBe(0o400);
    const told = (await left.since()).filter(({ type }) => type.startsWith("node."));
    expect(told.map(({ type }) => type)).toEqual(["node.completed"]);
    expect(left.agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", summary: "80", files });
  },
);

test("killed after the ending was said and before it was drawn, the ending is drawn and nobody is asked", async () => {
  const ending = { kind: "published", summary: "80" } as const;
  const finished = { kind: "finished", summary: "done" } as const;
  const result = (tool: string) => ({ role: "tool", call_id: "c1", tool, content: "Done.", ok: true }) as const;
  await using left = await takenUp({
    facts: [...running, published],
    conversations: {
      "conversation.jsonl": [...begun(BIRTH), saying("I wait.")],
      [ALICES]: [...assignment("node-1", RUNNING), calling(publish), { ...result("publish"), ending }],
    },
    files: { [`${PUBLISHED}/a.md`]: { content: "80", mode: 0o400 } },
    minds: { coordinator: script(finish), alice: script() },
  });
  await left.start();
  expect(await outcomeOf(left)).toEqual(finished);

  const over = { id: "c1", name: "finish", args: { summary: "done" } };
  await using alone = await takenUp({
    conversations: {
      "conversation.jsonl": [...begun(BIRTH), calling(over), { ...result("finish"), ending: finished }],
    },
    minds: { coordinator: script() },
  });
  await alone.start();
  expect(await outcomeOf(alone)).toEqual(finished);
});

test("killed in the middle of a finish, it is said again; in the middle of an order, it is not given twice", async () => {
  await using finishing = await takenUp({
    conversations: {
      "conversation.jsonl": [...begun(BIRTH), calling({ id: "c1", name: "finish", args: { summary: "done" } })],
    },
    minds: { coordinator: script() },
  });
  await finishing.start();
  expect(await outcomeOf(finishing)).toEqual({ kind: "finished", summary: "done" });

  await using ordering = await takenUp({
    conversations: {
      "conversation.jsonl": [...begun(BIRTH), calling({ id: "c1", name: "create_work_node", args: { task: "A" } })],
    },
    minds: { coordinator: script(call("finish", { summary: "nothing was made" }).after("Outcome unknown")) },
  });
  await ordering.start();
  expect(await outcomeOf(ordering)).toEqual({ kind: "finished", summary: "nothing was made" });
  expect(ordering.agent.now.board.nodes).toEqual({});
});

test("news is told once: what was told before the kill is not told again, what was not is", async () => {
  const coordinator = script(call("finish", { summary: "done" }).after("node-2 failed: two"));
  const failed = (id: "node-1" | "node-2", error: string): NewFact => ({
    type: "node.failed",
    data: { node_id: id, worker_id: "alice", outcome: { kind: "failed", error } },
  });
  const facts = [
    created("node-1"),
    created("node-2"),
    spawned("alice"),
    failed("node-1", "one"),
    failed("node-2", "two"),
  ];
  await using left = await takenUp({
    facts,
    conversations: {
      "conversation.jsonl": [
        ...begun(BIRTH),
        saying("I wait."),
        { role: "user", from: "agiraph", content: "(told of node-1)", upto: BIRTH + 4 },
      ],
    },
    minds: { coordinator },
  });
  await left.start();
  await outcomeOf(left);
  expect(coordinator.requests[0]?.history.flatMap((entry) => (entry.role === "user" ? [entry.content] : []))).toEqual([
    "Go",
    "(told of node-1)",
    "node-2 failed: two. Its unfinished files are in nodes/node-2/scratch/.",
  ]);
});

test("a worker is told what was said to it while nobody was there, and goes on with its own assignment only", async () => {
  const alice = script(call("publish", { summary: "80" }));
  const hello = (preview: string): NewFact => ({
    type: "message.sent",
    data: { message_id: preview, from: "human", to: "alice", preview, file: null },
  });
  await using left = await takenUp({
    facts: [...running, hello("told before"), hello("not told")],
    conversations: {
      "conversation.jsonl": [...begun(BIRTH), saying("I wait.")],
      [ALICES]: [...assignment("node-7", 3), saying("Long ago."), ...assignment("node-1", RUNNING + 1)],
    },
    files: { [`${SCRATCH}/a.md`]: "80" },
    minds: { coordinator: script(finish), alice },
  });
  await left.start();
  await outcomeOf(left);
  const { system, history } = alice.requests[0] ?? {};
  expect([system, history?.map((entry) => entry.content)]).toEqual([
    "You are Alice, on node-1.",
    ["Task of node-1", "[Message from human]: not told"],
  ]);
});

test("turns that were used before the kill stay used", async () => {
  await using left = await takenUp({
    config: { max_turns: 3 },
    conversations: {
      "conversation.jsonl": [
        ...begun(BIRTH),
        calling({ id: "c1", name: "list_files", args: {} }),
        { role: "tool", call_id: "c1", tool: "list_files", content: "", ok: true },
        calling({ id: "c2", name: "list_files", args: {} }),
      ],
    },
    minds: { coordinator: script(call("list_files")) },
  });
  await left.start();
  expect(await outcomeOf(left)).toEqual({ kind: "exhausted", turns: 3 });
});

test("whoever is at work again counts as at work again", async () => {
  const looked = Promise.withResolvers<void>();
  await using left = await takenUp({
    facts: [...running, { type: "worker.stopped", data: { worker_id: "alice" } }],
    conversations: {
      "conversation.jsonl": [...begun(BIRTH), saying("I wait.")],
      [ALICES]: assignment("node-1", RUNNING),
    },
    files: { [`${SCRATCH}/a.md`]: "80" },
    minds: { coordinator: script(finish), alice: script(call("publish", { summary: "80" }).until(looked.promise)) },
  });
  const asked = until(left, (fact) => fact.type === "model.called" && fact.data.worker_id === "alice");
  await left.start();
  await asked;
  expect(left.agent.now.roster.alice).toMatchObject({ status: "busy", node_id: "node-1" });
  looked.resolve();
  await outcomeOf(left);
});

test("a single answer that was given before the kill is published, and not asked for again", async () => {
  await using left = await takenUp({
    facts: [created("node-1", "single"), ...running.slice(1)],
    conversations: {
      "conversation.jsonl": [...begun(BIRTH), saying("I wait.")],
      [ALICES]: [...assignment("node-1", RUNNING), saying("Blue\nlike the sky")],
    },
    minds: {
      coordinator: script(call("finish", { summary: "Blue" }).after("node-1 completed by Alice: Blue\n")),
      alice: script(),
    },
  });
  await left.start();
  expect(await outcomeOf(left)).toEqual({ kind: "finished", summary: "Blue" });
  expect(await readFile(join(left.agent.log.dir, PUBLISHED, "answer.md"), "utf8")).toBe("Blue\nlike the sky");
});

test("what people read beside the log is made again: the agent's folder, a node's folder, and a trace that is behind", async () => {
  const failed: NewFact = {
    type: "node.failed",
    data: { node_id: "node-2", worker_id: "alice", outcome: { kind: "exhausted", turns: 3 } },
  };
  await using left = await takenUp({
    facts: [...running, created("node-2"), failed],
    conversations: {
      "conversation.jsonl": [...begun(RUNNING + 2), saying("I wait.")],
      [ALICES]: assignment("node-1", RUNNING + 2),
    },
    files: { [`${SCRATCH}/a.md`]: "80", "runs/run-1/nodes/node-2/log.jsonl": "" },
    minds: { coordinator: script(finish), alice: script(call("publish", { summary: "80" })) },
  });
  await left.start();
  const dir = left.agent.log.dir;
  expect(["SOUL.md", "GOAL.md", "MEMORY.md"].map((name) => existsSync(join(dir, name)))).toEqual([true, true, true]);
  await outcomeOf(left);
  expect(await readFile(join(dir, "runs/run-1/nodes/node-1/_spec.md"), "utf8")).toBe("# node-1\n\nTask of node-1\n");
  const trace = (await readFile(join(dir, "runs/run-1/nodes/node-2/log.jsonl"), "utf8")).trim().split("\n");
  const facts = await left.agent.log.read({ after: 0, limit: 1000 });
  const own = facts.filter((fact) => "node_id" in fact.data && fact.data.node_id === "node-2");
  expect([own.length, trace.map((line) => JSON.parse(line))]).toEqual([2, own]);
});

async function outcomeOf({ agent }: TakenUp) {
  await agent.idle();
  return agent.now.agent.run?.finished;
}

function until({ agent }: TakenUp, wanted: (fact: Fact) => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = agent.log.subscribe((fact) => {
    if (!wanted(fact)) return;
    stop();
    resolve();
  });
  return promise;
}
