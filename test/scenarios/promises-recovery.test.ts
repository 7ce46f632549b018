import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Fact, NewFact } from "../../src/protocol/index.ts";
import { call, hang, script } from "../../src/testing/index.ts";
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

/** Of Alice: one that was ended by the kill, and two that had ended by themselves. */
const commands: NewFact[] = [
  ...["make index", "make lint", "make test"].map((command, i): NewFact => {
    const alice = { worker_id: "alice", node_id: "node-1" } as const;
    return {
      type: "process.started",
      data: { ...alice, pid: 7 + i, command, sandbox: "s", background: `bg-${7 + i}` },
    };
  }),
  ...[8, 9].map((pid): NewFact => {
    const ended = { pid, code: pid - 8, signal: null, output: `${pid} files` };
    // Of the last one she was to be told by the result of her call.
    return {
      type: "process.exited",
      data: { worker_id: "alice", node_id: "node-1", ...ended, ...(pid === 8 && { background: "bg-8" }) },
    };
  }),
];

test("killed while commands ran in the background, their worker is told which ended with the process, and how the others did", async () => {
  const alice = script(
    call("bash_output", { id: "bg-7" }).after(
      "Exit code 1.\n9 files",
      "Background command bg-8 (make lint) ended with exit code 0. It printed:\n8 files",
      "Background command bg-7 (make index) ended because Agiraph was interrupted. What it printed is lost",
    ),
    call("bash_output", { id: "bg-8" }).after("bg-7 ended because Agiraph was interrupted."),
    call("write_file", { path: "scratch/a.md", content: "80" }).after("Exit code 0.\n8 files"),
    call("publish", { summary: "80" }),
  );
  await using left = await takenUp({
    facts: [...running, ...commands],
    conversations: {
      "conversation.jsonl": [...begun(BIRTH), saying("I wait.")],
      [ALICES]: [
        ...assignment("node-1", RUNNING),
        calling({ id: "c", name: "bash_output", args: { id: "bg-9", wait: 60 } }),
      ],
    },
    minds: { coordinator: script(finish), alice },
  });
  await left.start();
  expect(await outcomeOf(left)).toEqual({ kind: "finished", summary: "done" });
  // She is told once: they are on record as ended.
  const ended = (await left.since()).filter(({ type }) => type === "process.exited");
  expect(ended.map(({ data }) => data)).toEqual([
    {
      ...{ worker_id: "alice", node_id: "node-1", pid: 7, code: null, signal: "SIGKILL" },
      ...{ background: "bg-7", interrupted: true },
    },
  ]);
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
  const seen: NewFact = { type: "message.received", data: { message_id: "told before", by: "alice" } };
  await using left = await takenUp({
    facts: [...running, hello("alice", "told before"), seen, hello("alice", "not told")],
    conversations: {
      "conversation.jsonl": [...begun(BIRTH), saying("I wait.")],
      [ALICES]: [...assignment("node-7", 3), saying("Long ago."), ...assignment("node-1", RUNNING + 2)],
    },
    files: { [`${SCRATCH}/a.md`]: "80" },
    minds: { coordinator: script(finish), alice },
  });
  await left.start();
  await outcomeOf(left);
  const { system, history } = alice.requests[0] ?? {};
  expect([system, history?.map((entry) => entry.content)]).toEqual([
    "You are Alice, on node-1.",
    ["Task of node-1", "[Message from your human]: not told"],
  ]);
});

test("what is said to a worker before its first words, to it or to everyone, is the first it hears", async () => {
  const alice = script(call("publish", { summary: "80" }));
  await using left = await takenUp({
    facts: [
      created("node-1"),
      spawned("alice"),
      hello("*", "before her time"),
      ...assigned("node-1", "alice"),
      hello("alice", "hurry"),
      hello("*", "all of you"),
    ],
    conversations: { "conversation.jsonl": [...begun(BIRTH), saying("I wait.")] },
    files: { [`${SCRATCH}/a.md`]: "80" },
    minds: { coordinator: script(finish), alice },
  });
  await left.start();
  await outcomeOf(left);
  expect(alice.requests[0]?.history.map((entry) => entry.content)).toEqual([
    "Task of node-1",
    "[Message from your human]: hurry\n\n[Message from your human]: all of you",
  ]);
});

test("a worker's turns that were used before the kill stay used; the coordinator may take as many again", async () => {
  const looking = { id: "c1", name: "list_files", args: {} };
  const seen = { role: "tool", call_id: "c1", tool: "list_files", content: "", ok: true } as const;
  const used = [calling(looking), seen, calling({ ...looking, id: "c2" })];
  await using working = await takenUp({
    config: { max_turns: 3 },
    facts: running,
    conversations: {
      "conversation.jsonl": [...begun(BIRTH), saying("I wait.")],
      [ALICES]: [...assignment("node-1", RUNNING), ...used],
    },
    minds: {
      coordinator: script(call("finish", { summary: "no" }).after("node-1 failed: exhausted")),
      alice: script(call("list_files")),
    },
  });
  await working.start();
  await outcomeOf(working);
  expect(working.agent.now.board.nodes["node-1"]).toMatchObject({ outcome: { kind: "exhausted", turns: 3 } });

  await using alone = await takenUp({
    config: { max_turns: 3 },
    conversations: { "conversation.jsonl": [...begun(BIRTH), ...used] },
    minds: { coordinator: script(call("list_files"), call("list_files"), call("list_files")) },
  });
  await alone.start();
  await alone.agent.idle();
  expect(alone.agent.now.agent.outcome).toEqual({ kind: "exhausted", turns: 5 });
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

test("the trace of a node at work is made whole after a kill", async () => {
  await using left = await takenUp({
    facts: running,
    conversations: {
      "conversation.jsonl": [...begun(BIRTH), saying("I wait.")],
      [ALICES]: assignment("node-1", RUNNING),
    },
    files: { "runs/run-1/nodes/node-1/log.jsonl": "" },
    minds: { coordinator: script(hang()), alice: script(hang()) },
  });
  await left.start();
  const file = join(left.agent.log.dir, "runs/run-1/nodes/node-1/log.jsonl");
  const trace = (await readFile(file, "utf8")).trim().split("\n");
  const first = trace.slice(0, 4).map((line) => (JSON.parse(line) as Fact).type);
  expect(first).toEqual(["node.created", "node.assigned", "worker.busy", "node.started"]);
});

test("what an ended run left is not begun in the next, and whom a kill left busy with it takes no place there", async () => {
  await using left = await takenUp({
    config: { max_concurrent: 1 },
    facts: [
      ...running,
      created("node-2"),
      { type: "run.finished", data: { run_id: "run-1", outcome: { kind: "finished", summary: "early" } } },
    ],
    minds: { coordinator: script(call("create_work_node", { task: "Three" }), hang()), alice: script(hang()) },
  });
  const begun = until(left, (fact) => fact.type === "node.started");
  await left.start();
  await begun;
  const told = (await left.since()).flatMap((fact) => (fact.type === "node.assigned" ? [fact.data] : []));
  expect(told).toEqual([{ node_id: "node-3", worker_id: "bob" }]);
});

/** From a person, who sees what they wrote by its words. */
function hello(to: string, text: string): NewFact {
  const file = "_messages/0001_human.md";
  return { type: "message.sent", data: { message_id: text, from: "human", to, text, file, hops: 1 } };
}

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
