import { expect, test } from "vitest";
import type { NewFact } from "../../protocol/index.ts";
import { TriggerWorld } from "../../testing/trigger-world.ts";
import type { TriggerOrder } from "../../triggers/trigger-order.ts";

const NEW_YEAR = Date.UTC(2026, 0, 1) / 1000;
const HOUR = 3600;
const DAY = 24 * HOUR;

const ended: NewFact = { type: "node.completed", data: { node_id: "node-1", worker_id: "alice", summary: "80" } };

test("each of the four actions is asked for, under the key of its occurrence, and marked done", async () => {
  const world = await withTriggers(
    { type: "delayed", config: { delay_seconds: 1 }, action: "Look at the build" },
    { type: "delayed", config: { delay_seconds: 2 }, action: { type: "send_message", to: "Human", content: "Ready?" } },
    { type: "delayed", config: { delay_seconds: 3 }, action: { type: "run_callback", payload: { name: "tidy" } } },
    { type: "at_time", config: { at: "2026-01-01T00:00:04" }, action: { type: "run_node", node_id: "node-1" } },
  );
  await world.pass(10);
  expect(world.done).toEqual([
    { key: `trigger-1@${NEW_YEAR + 1}`, what: "wake: Look at the build", at: NEW_YEAR + 1 },
    { key: `trigger-2@${NEW_YEAR + 2}`, what: "to Human: Ready?", at: NEW_YEAR + 2 },
    { key: `trigger-3@${NEW_YEAR + 3}`, what: "call tidy {}", at: NEW_YEAR + 3 },
    { key: `trigger-4@${NEW_YEAR + 4}`, what: "run node-1", at: NEW_YEAR + 4 },
  ]);
  const { open, undone, settled } = world.now.triggers;
  expect({ open, undone, settled: settled.map(({ id, status }) => [id, status]) }).toEqual({
    open: {},
    undone: {},
    settled: [1, 2, 3, 4].map((number) => [`trigger-${number}`, "fired"]),
  });
});

test("that it fired is on disk before anything is done about it; who dies in between does it again, once", async () => {
  for (const death of ["before", "after"] as const) {
    const world = await withTriggers({ type: "delayed", config: { delay_seconds: 5 }, action: "go" });
    world.dies = () => death;
    await world.pass(60);
    expect(world.told("trigger.fired", "trigger.done")).toEqual([fired("trigger-1", NEW_YEAR + 5, null)]);
    await world.stop();
    world.dies = () => undefined;
    world.start();
    await world.drained();
    const at = death === "before" ? NEW_YEAR + 60 : NEW_YEAR + 5;
    expect(world.done).toEqual([{ key: `trigger-1@${NEW_YEAR + 5}`, what: "wake: go", at }]);
    expect({ repeats: world.repeats, undone: world.now.triggers.undone }).toEqual({
      repeats: death === "before" ? 0 : 1,
      undone: {},
    });
  }
});

test("what cannot be done is said and not tried again; the other triggers are on time", async () => {
  const world = await withTriggers(
    { type: "scheduled", config: { cron: "*/30 * * * *" }, action: "first" },
    { type: "delayed", config: { delay_seconds: 1800 }, action: "second" },
  );
  world.refuses = (key) => (key.startsWith("trigger-1") ? "Nobody is there." : undefined);
  await world.pass(HOUR);
  const due = NEW_YEAR + 1800;
  const problem = "Nobody is there.";
  expect(world.told("trigger.done")).toEqual([
    { type: "trigger.done", data: { trigger_id: "trigger-1", due, problem } },
    { type: "trigger.done", data: { trigger_id: "trigger-2", due } },
    { type: "trigger.done", data: { trigger_id: "trigger-1", due: due + 1800, problem } },
  ]);
  expect(world.done).toEqual([{ key: `trigger-2@${due}`, what: "wake: second", at: due }]);
});

test("24 hours of heartbeats with nothing new wake nobody and leave no trace", async () => {
  const world = await withTriggers({ type: "heartbeat", config: { interval_seconds: 30 }, action: "Look around" });
  const before = world.facts.length;
  await world.pass(DAY);
  expect({ wakes: world.done, facts: world.facts.length - before, timers: world.time.due }).toEqual({
    wakes: [],
    facts: 0,
    timers: [],
  });
});

test("24 hours of heartbeats with one thing new wake once, at the next beat", async () => {
  const world = await withTriggers({ type: "heartbeat", config: { interval_seconds: 1800 }, action: "Look around" });
  await world.pass(5 * HOUR + 60);
  await world.happen(ended);
  const cause = world.facts.length;
  await world.pass(DAY - 5 * HOUR);
  expect(world.done).toEqual([
    { key: `trigger-1#${cause}`, what: "wake: Look around", at: NEW_YEAR + 5 * HOUR + 1800 },
  ]);
});

test("the work that a heartbeat sets off does not set off the next one; an unread message does", async () => {
  const world = await withTriggers({ type: "heartbeat", config: { interval_seconds: 60 }, action: "Look around" });
  await world.happen(ended, { type: "worker.idle", data: { worker_id: "coordinator" } });
  await world.pass(HOUR);
  expect(world.done).toEqual([]);
  await world.happen(message("msg-1", "alice"), message("trigger-9@1", "agiraph"));
  const cause = world.facts.find((fact) => fact.type === "message.sent")?.seq;
  await world.pass(HOUR);
  expect(world.done.map(({ key }) => key)).toEqual([`trigger-1#${cause}`]);
});

test("an event fires once for each fact that fits, by pattern and filter, also if the process died meanwhile", async () => {
  const filter = { node_id: "node-1" };
  const world = await withTriggers({ type: "on_event", config: { event_pattern: "node.*", filter }, action: "go" });
  const other: NewFact = { ...ended, data: { ...ended.data, node_id: "node-2" } } as NewFact;
  await world.happen(other, ended);
  const first = world.facts.findLast((fact) => fact.type === "node.completed")?.seq;
  await world.stop();
  await world.happen(ended);
  const second = world.facts.length;
  await world.pass(HOUR);
  world.start();
  await world.drained();
  expect(world.done.map(({ key, at }) => [key, at])).toEqual([
    [`trigger-1#${first}`, NEW_YEAR],
    [`trigger-1#${second}`, NEW_YEAR + HOUR],
  ]);
});

test("what triggers cause themselves triggers nothing", async () => {
  const world = await withTriggers({ type: "on_event", config: { event_pattern: "message.*" }, action: "go" });
  await world.happen(message("trigger-7@1", "agiraph"), {
    type: "message.received",
    data: { message_id: "trigger-7@1", by: "coordinator" },
  });
  await world.pass(HOUR);
  expect(world.told("trigger.fired")).toEqual([]);
});

test("a storm of 1000 facts fires ten times at once, and once more for the last of them", async () => {
  const world = await withTriggers({ type: "on_event", config: { event_pattern: "node.completed" }, action: "go" });
  await world.happen(...Array.from({ length: 1000 }, () => ended));
  const last = world.facts.findLast((fact) => fact.type === "node.completed")?.seq;
  await world.pass(HOUR);
  expect(world.done.length).toBe(11);
  expect(world.done.at(-1)).toEqual({ key: `trigger-1#${last}`, what: "wake: go", at: NEW_YEAR + 60 });
});

test("idleness fires once for each stretch, counted from the last sign of life", async () => {
  const world = await withTriggers({ type: "on_idle", config: { idle_seconds: HOUR }, action: "Still there?" });
  await world.pass(1800);
  await world.happen(ended);
  const first = world.facts.length;
  await world.pass(DAY);
  await world.happen(ended);
  const second = world.facts.length;
  await world.pass(DAY);
  expect(world.done.map(({ key, at }) => [key, at])).toEqual([
    [`trigger-1#${first}`, NEW_YEAR + 1800 + HOUR],
    [`trigger-1#${second}`, NEW_YEAR + 1800 + DAY + HOUR],
  ]);
});

test("nobody who is paused or stopped is woken; when they go on, what passed was missed", async () => {
  for (const halt of ["agent.paused", "agent.stopped"] as const) {
    const world = await withTriggers(
      { type: "scheduled", config: { cron: "0 * * * *" }, action: "once" },
      { type: "scheduled", config: { cron: "0 * * * *" }, action: "skip", missed: "skip" },
    );
    await world.happen({ type: halt, data: { by: "human" } } as NewFact);
    await world.pass(5 * HOUR + 600);
    expect(world.done).toEqual([]);
    await world.happen({ type: "agent.resumed", data: {} });
    await world.pass(HOUR);
    expect(world.done.map(({ what, at }) => [what, at - NEW_YEAR])).toEqual([
      ["wake: once", 5 * HOUR + 600],
      ["wake: once", 6 * HOUR],
      ["wake: skip", 6 * HOUR],
    ]);
  }
});

test("a suspended machine notices within a nap that a time has passed", async () => {
  const world = await withTriggers({ type: "delayed", config: { delay_seconds: 30 * DAY }, action: "go" });
  await world.pass(30);
  world.jump(40 * DAY);
  await world.pass(60);
  expect(world.done.map(({ at }) => at)).toEqual([NEW_YEAR + 40 * DAY + 60]);
});

test("a clock that ran ahead and was set back fires nothing twice and goes on with the times to come", async () => {
  const world = await withTriggers({ type: "scheduled", config: { cron: "0 9 * * *" }, action: "go" });
  world.jump(365 * DAY);
  await world.pass(60);
  world.jump(-365 * DAY);
  await world.pass(3 * DAY);
  expect(world.told("trigger.fired").map(({ data }) => (data as { due: number }).due - NEW_YEAR)).toEqual([
    9 * HOUR,
    DAY + 9 * HOUR,
    2 * DAY + 9 * HOUR,
  ]);
});

test("a cancelled or paused trigger does not fire; a resumed one goes on", async () => {
  const world = await withTriggers(
    { type: "delayed", config: { delay_seconds: 60 }, action: "cancelled" },
    { type: "scheduled", config: { cron: "0 * * * *" }, action: "paused" },
  );
  await world.schedule.cancel("test", "trigger-1");
  await world.schedule.pause("test", "trigger-2");
  await world.pass(3 * HOUR + 600);
  await world.schedule.resume("test", "trigger-2");
  await world.pass(HOUR);
  expect(world.done.map(({ what, at }) => [what, at - NEW_YEAR])).toEqual([["wake: paused", 4 * HOUR]]);
});

async function withTriggers(...orders: TriggerOrder[]): Promise<TriggerWorld> {
  const world = new TriggerWorld();
  await world.happen({
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
  });
  world.start();
  for (const order of orders) expect(await world.schedule.create("coordinator", order)).toMatch(/^Scheduled trigger-/);
  await world.drained();
  return world;
}

function fired(trigger_id: string, due: number, next_due: number | null) {
  return { type: "trigger.fired", data: { trigger_id, due, action: "wake_agent", next_due } };
}

function message(message_id: string, from: string): NewFact {
  return { type: "message.sent", data: { message_id, from, to: "coordinator", text: "…", file: "m.md", hops: 1 } };
}
