import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { NewFact } from "../../src/protocol/index.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { DiskFullError } from "../../src/store/errors.ts";
import type { AgentLog } from "../../src/store/store.ts";
import { both, call, hang, say, script, startTeam, temporaryHome } from "../../src/testing/index.ts";
import {
  ALICES,
  assigned,
  assignment,
  BIRTH,
  begun,
  changed,
  created,
  saying,
  spawned,
  type TakenUp,
  takenUp,
} from "./taken-up.ts";

/** The order of effects: decide, record, and act when it is on disk. */

const waiting = { "conversation.jsonl": [...begun(BIRTH), saying("I wait.")] };
const finish = call("finish", { summary: "done" });
const taken: NewFact[] = [created("node-1"), spawned("alice"), ...assigned("node-1", "alice")];
const node = "runs/run-1/nodes/node-1";

test("nobody is asked to work on a node before its beginning is on disk", async () => {
  const alice = script(call("publish", { summary: "80" }));
  const disk = heldAt("node.started");
  await using left = await takenUp({
    facts: taken,
    conversations: waiting,
    files: { [`${node}/scratch/a.md`]: "80" },
    minds: { coordinator: script(finish.after("node-1 completed")), alice },
    wrap: disk.wrap,
  });
  await left.start();
  await disk.reached;
  await longEnough(left);
  expect(alice.requests).toEqual([]);
  disk.release();
  await left.agent.idle();
  expect(alice.requests.length).toBe(1);
});

test("nothing is published before the intent is on disk", async () => {
  const disk = heldAt("node.published");
  await using left = await takenUp({
    facts: [...taken, { type: "node.started", data: { node_id: "node-1", worker_id: "alice" } }],
    conversations: { ...waiting, [ALICES]: assignment("node-1", BIRTH + 5) },
    files: { [`${node}/scratch/a.md`]: "80" },
    minds: { coordinator: script(finish.after("node-1 completed")), alice: script(call("publish", { summary: "80" })) },
    wrap: disk.wrap,
  });
  await left.start();
  await disk.reached;
  await longEnough(left);
  const places = () =>
    Promise.all(["scratch", "published"].map((name) => readdir(join(left.agent.log.dir, node, name))));
  expect(await places()).toEqual([["a.md"], []]);
  disk.release();
  await left.agent.idle();
  expect(await places()).toEqual([[], ["a.md"]]);
});

test("nobody thinks before the goal is in the conversation on disk", async () => {
  const coordinator = script(finish);
  const disk = heldAt("conversation");
  await using left = await takenUp({ minds: { coordinator }, wrap: disk.wrap });
  await left.start();
  await disk.reached;
  await longEnough(left);
  expect(coordinator.requests).toEqual([]);
  disk.release();
  await left.agent.idle();
});

test("nodes that are made at the same moment are each taken once", async () => {
  await using left = await takenUp({
    minds: { coordinator: script(hang()), alice: script(say("Blue"), say("Blue")) },
  });
  await left.start();
  await left.agent.log.append({ facts: [created("node-1", "single"), created("node-2", "single")] }).durable;
  await ended(left.agent.log, 2);
  const told = (await left.since()).flatMap((fact) => (fact.type === "node.assigned" ? [fact.data] : []));
  expect(told).toEqual([
    { node_id: "node-1", worker_id: "alice" },
    { node_id: "node-2", worker_id: "bob" },
  ]);
});

test("who is stopped hands out no work", async () => {
  await using left = await takenUp({ minds: { coordinator: script(hang()) } });
  await left.start();
  await left.agent.stop("human");
  const { facts, durable } = left.agent.log.append({ facts: [created("node-1")] });
  await durable;
  expect([left.agent.log.seq, left.agent.now.board.nodes["node-1"]?.status]).toEqual([facts[0]?.seq, "pending"]);
});

test("a decision that could not be recorded stops everybody and is told; when there is room again, the work goes on", async () => {
  await using left = await takenUp({
    facts: [created("node-1")],
    conversations: waiting,
    files: { [`${node}/scratch/a.md`]: "80" },
    minds: { coordinator: script(finish.after("node-1 completed")), alice: script(call("publish", { summary: "80" })) },
    wrap: refusedOnce("node.assigned"),
  });
  await left.start();
  await expect(left.agent.idle()).rejects.toThrow("No space left");
  expect(left.agent.now.board.nodes["node-1"]?.status).toBe("pending");
  await left.agent.start("resumed");
  await left.agent.idle();
  expect(left.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "done" });
});

test("a stop that could not be recorded is told to whoever asked for it", async () => {
  await using left = await takenUp({
    minds: { coordinator: script(hang()) },
    wrap: refusedOnce("worker.stopped"),
  });
  await left.start();
  await expect(left.agent.stop("human")).rejects.toThrow("No space left");
});

test("when the work is over nobody listens to the log but the agent itself, its alarms, its watches and the house", async () => {
  let listeners = 0;
  const counted = (log: AgentLog) =>
    changed(log, {
      subscribe(listener) {
        listeners += 1;
        const stop = log.subscribe(listener);
        return () => {
          listeners -= 1;
          stop();
        };
      },
    });
  await using left = await takenUp({
    facts: taken,
    conversations: waiting,
    files: { [`${node}/scratch/a.md`]: "80" },
    minds: { coordinator: script(finish.after("node-1 completed")), alice: script(call("publish", { summary: "80" })) },
    wrap: counted,
  });
  await left.start();
  await left.agent.idle();
  expect(listeners).toBe(4);
});

test("closing ends the work and leaves a snapshot of how things stand", async () => {
  const left = await takenUp({ minds: { coordinator: script(hang()) } });
  try {
    await left.start();
    await left.runtime.close();
    expect(left.agent.now.roster.coordinator?.status).toBe("stopped");
    const text = await readFile(join(left.agent.log.dir, "snapshots/situation.json"), "utf8");
    expect(JSON.parse(text).state).toEqual(left.agent.now);
  } finally {
    await left[Symbol.asyncDispose]();
  }
});

test("a model that cannot be had is said before anything is made, the workers' too", async () => {
  await using home = await temporaryHome();
  const catalog = {
    model: async (id: string) => {
      if (id.startsWith("none/")) throw new Error(`${id} cannot be had.`);
      return script();
    },
    list: async () => [],
    programOf: () => undefined,
    chooseDefault: async () => ({ model: "m", why: "" }),
    cost: async () => 0,
    resolve: (id: string) => ({ id, contextWindow: 1, searchesWeb: false, note: null }),
  };
  const runtime = await openRuntime({ home: home.path, env: {}, config: {} }, { catalog });
  try {
    await expect(runtime.create({ goal: "Go", model: "none/a" })).rejects.toThrow("none/a cannot be had.");
    const order = { goal: "Go", model: "some/a", worker_model: "none/b" };
    await expect(runtime.create(order)).rejects.toThrow("none/b cannot be had.");
    expect(await runtime.store.agents()).toEqual([]);
    await expect(runtime.agent("agent-late")).rejects.toThrow();
    const log = await runtime.store.create("agent-late");
    const data = { name: "n", goal: "g", mode: "finite", model: "m", worker_model: "m" } as const;
    const nothing = { budget_usd: null, project: null, tools: null };
    await log.append({ facts: [{ type: "agent.created", data: { ...data, ...nothing } }] }).durable;
    expect((await runtime.agent("agent-late")).now.agent.id).toBe("agent-late");
  } finally {
    await runtime.close();
  }
});

test("a node's folder is there when its maker is told of it, also while nobody has taken it", async () => {
  await using team = await startTeam({
    goal: "Go",
    config: { max_concurrent: 1, max_turns: 2 },
    coordinator: script(
      both(call("create_work_node", { task: "One" }), call("create_work_node", { task: "Two" })),
      call("list_files", { path: "nodes/node-2" }),
    ),
    workers: { Alice: script(hang()) },
  });
  await team.agent.idle();
  expect(existsSync(join(team.agent.log.dir, "runs/run-1/nodes/node-2/_spec.md"))).toBe(true);
  expect((await team.conversation()).at(-1)).toMatchObject({ role: "tool", ok: true });
});

test("commands are in the log with their process", async () => {
  const coordinator = script(call("bash", { command: "exit 3" }), finish);
  await using team = await startTeam({ goal: "Go", coordinator, config: { sandbox: { unsafe: true } } });
  await team.outcome();
  const told = (await team.facts())
    .filter((fact) => fact.type.startsWith("process."))
    .map(({ type, data }) => ({ type, data }));
  const pid = expect.any(Number);
  const who = { worker_id: "coordinator", node_id: null, pid };
  expect(told).toEqual([
    { type: "process.started", data: { ...who, command: "exit 3", sandbox: "unsafe" } },
    { type: "process.exited", data: { ...who, code: 3, signal: null } },
  ]);
});

/** A log whose disk takes its time over the first batch with this fact, or with words for the conversation. */
function heldAt(what: NewFact["type"] | "conversation") {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const wrap = (log: AgentLog) =>
    changed(log, {
      append(batch) {
        const { facts, durable } = log.append(batch);
        const held = what === "conversation" ? batch.entries : batch.facts?.some((fact) => fact.type === what);
        if (!held) return { facts, durable };
        const slow = durable.then(() => {
          reached.resolve();
          return released.promise;
        });
        return { facts, durable: slow };
      },
    });
  return { wrap, reached: reached.promise, release: () => released.resolve() };
}

/** A log whose disk is full when it is first given this fact, and not after that. */
function refusedOnce(type: NewFact["type"]) {
  let full = true;
  return (log: AgentLog) =>
    changed(log, {
      append(batch) {
        if (!full || !batch.facts?.some((fact) => fact.type === type)) return log.append(batch);
        full = false;
        return { facts: [], durable: Promise.reject(new DiskFullError("the home", undefined)) };
      },
    });
}

function ended(log: AgentLog, count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  log.subscribe((fact) => fact.type === "node.completed" && --left === 0 && resolve());
  return promise;
}

/** More trips to the disk than anybody needs who would not wait. */
async function longEnough({ agent }: TakenUp): Promise<void> {
  for (let trip = 0; trip < 500; trip++) await readFile(join(agent.log.dir, "events.jsonl"));
}
