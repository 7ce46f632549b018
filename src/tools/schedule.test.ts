import { expect, test } from "vitest";
import type { CallPart } from "../protocol/index.ts";
import { TriggerWorld } from "../testing/trigger-world.ts";
import { scheduleTools } from "./schedule.ts";
import { Toolbox } from "./toolbox.ts";

const { signal } = new AbortController();
const soon = { type: "delayed", config: { delay_seconds: 60 } };

test("what is scheduled is answered with its meaning, listed and cancelled", async () => {
  const { call } = tools();
  expect(
    await call("schedule", {
      type: "scheduled",
      config: { cron: "0 9 * * MON" },
      action: "Weekly report",
      time_zone: "Europe/Berlin",
    }),
  ).toEqual({
    ok: true,
    content: `Scheduled trigger-1 [active] scheduled "0 9 * * MON" (Europe/Berlin), next 2026-01-05T09:00:00+01:00: wake up with "Weekly report"
It comes at 2026-01-05T09:00:00+01:00, 2026-01-12T09:00:00+01:00, 2026-01-19T09:00:00+01:00 …`,
  });
  await call("schedule", {
    type: "delayed",
    config: { delay_seconds: 1800 },
    action: { type: "send_message", payload: { to: "Human", content: "Done?" } },
  });
  await call("schedule", {
    type: "at_time",
    config: { at: "2026-02-12T09:00:00" },
    action: "Begin",
    time_zone: "Asia/Kolkata",
  });
  await call("schedule", { type: "heartbeat", config: { interval_seconds: 1800 }, action: "Look around" });
  await call("schedule", {
    type: "on_event",
    config: { event_pattern: "message.sent", filter: { to: "coordinator" } },
    action: "Read",
  });
  await call("schedule", {
    type: "on_idle",
    config: { idle_seconds: 3600 },
    action: { type: "run_callback", name: "tidy" },
  });
  expect(await call("cancel_trigger", { trigger_id: "trigger-1" })).toEqual({
    ok: true,
    content: "trigger-1 is cancelled.",
  });
  expect(await call("list_triggers", {})).toEqual({
    ok: true,
    content: `- trigger-2 [active] delayed by 1800 s, next 2026-01-01T00:30:00+00:00: write to Human: "Done?"
- trigger-3 [active] at_time 2026-02-12T09:00:00 (Asia/Kolkata), next 2026-02-12T09:00:00+05:30: wake up with "Begin"
- trigger-4 [active] heartbeat every 1800 s, next 2026-01-01T00:30:00+00:00: wake up with "Look around"
- trigger-5 [active] on_event message.sent {"to":"coordinator"}: wake up with "Read"
- trigger-6 [active] on_idle for 3600 s, next 2026-01-01T01:00:00+00:00: call tidy`,
  });
});

test("absolute times and the usual policies are in the facts", async () => {
  const { call, world } = tools();
  await call("schedule", { type: "delayed", config: { delay_seconds: 90 }, action: "go" });
  await call("schedule", { type: "heartbeat", config: { interval_seconds: 90 }, action: "go" });
  await call("schedule", {
    type: "at_time",
    config: { at: "2026-03-08T02:30:00-05:00" },
    action: "go",
    missed: "skip",
  });
  const action = { type: "wake_agent", payload: { task: "go" } };
  const by = { action, created_by: "coordinator" };
  expect(world.told("trigger.created").map(({ data }) => data)).toEqual([
    {
      trigger_id: "trigger-1",
      when: { type: "delayed", config: { delay_seconds: 90 } },
      ...by,
      missed: "once",
      due: world.at + 90,
    },
    {
      trigger_id: "trigger-2",
      when: { type: "heartbeat", config: { interval_seconds: 90 } },
      ...by,
      missed: "skip",
      due: null,
    },
    {
      trigger_id: "trigger-3",
      when: { type: "at_time", config: { at: "2026-03-08T02:30:00-05:00", time_zone: "UTC" } },
      ...by,
      missed: "skip",
      due: Date.UTC(2026, 2, 8, 7, 30) / 1000,
    },
  ]);
});

const REFUSALS: [what: string, order: Record<string, unknown>, words: string][] = [
  ["too few fields", cron("9 * *"), 'Not scheduled: "9 * *" is not a cron expression: it has 3 fields.'],
  ["a nickname without its sign", cron("daily"), 'it has 1 field. Did you mean "@daily"?'],
  ["a time of day", cron("9:30"), 'Did you mean "30 9 * * *"?'],
  ["plain words", cron("every 5 minutes"), 'Did you mean "*/5 * * * *"?'],
  ["plain words with a day", cron("every monday at 9:00"), 'Did you mean "0 9 * * 1"?'],
  ["seconds", cron("0 0 9 * * MON"), 'it has 6 fields. Did you mean "0 9 * * mon"?'],
  ["a long name", cron("0 9 * * MONDAY"), 'Did you mean "0 9 * * mon"?'],
  [
    "an hour too many",
    cron("0 25 * * *"),
    "Invalid value for hour: 25. Expected five fields: minute (0-59), hour (0-23)",
  ],
  ["a day that never comes", cron("0 0 30 2 *"), '"0 0 30 2 *" names a time that never comes.'],
  [
    "an unknown zone",
    { ...cron("0 9 * * *"), time_zone: "Mars/Olympus" },
    '"Mars/Olympus" is not a time zone. Use an IANA name',
  ],
  [
    "the past",
    at("2025-12-31T23:59:59"),
    "2025-12-31T23:59:59 is in the past: it is 2026-01-01T00:00:00+00:00 in UTC.",
  ],
  [
    "a date that is none",
    at("2026-02-30T09:00:00"),
    '"2026-02-30T09:00:00" is not a time. Write it as 2027-02-12T09:00:00',
  ],
  ["a date alone", at("2026-03-01"), '"2026-03-01" is not a time.'],
  ["no delay", { type: "delayed", config: { delay_seconds: 0 }, action: "go" }, "must be more than 0"],
  [
    "a delay in words",
    { type: "delayed", config: { delay_seconds: "soon" }, action: "go" },
    'looks like {"delay_seconds": 1800}',
  ],
  [
    "the config of another type",
    { type: "delayed", config: { cron: "@daily" }, action: "go" },
    'there is no field "cron". Choose from: delay_seconds',
  ],
  [
    "a field that is nearly right",
    { type: "heartbeat", config: { interval_seconds: 60, stuck_second: 5 }, action: "go" },
    'there is no field "stuck_second". Did you mean "stuck_seconds"?',
  ],
  [
    "a field of an action that is nearly right",
    { ...soon, action: { type: "send_message", payload: { to: "human", contents: "Hello" } } },
    'there is no field "contents". Did you mean "content"?',
  ],
  [
    "a field beside the payload that there is not",
    { ...soon, action: { type: "wake_agent", payload: { task: "go" }, mised: "skip" } },
    'there is no field "mised". Choose from: task',
  ],
  [
    "a heartbeat that races",
    { type: "heartbeat", config: { interval_seconds: 0.5 }, action: "go" },
    "at least 1 second",
  ],
  ["idleness of no length", { type: "on_idle", config: { idle_seconds: 0 }, action: "go" }, "at least 1 second"],
  ["everything", event("*"), '"*" is everything that happens.'],
  ["a fact that there is not", event("node.done"), 'No event is called "node.done". Choose from: node.created,'],
  ["the triggers' own facts", event("trigger.fired"), 'No event is called "trigger.fired".'],
  [
    "a field that there is not",
    event("message.received", { to: "x" }),
    'has no field "to", so it would never fire. Its fields: message_id, by.',
  ],
  [
    "an unknown callback",
    { ...soon, action: { type: "run_callback", name: "rm" } },
    'No callback is called "rm". Choose from: tidy.',
  ],
  [
    "an unknown node",
    { ...soon, action: { type: "run_node", node_id: "node-9" } },
    'There is no node "node-9". The board is empty.',
  ],
  [
    "an unknown name",
    { ...soon, action: { type: "send_message", to: "Zed", content: "?" } },
    'There is nobody named "Zed". Choose from: human.',
  ],
  [
    "an unknown action",
    { ...soon, action: { type: "run_code", code: "1" } },
    "wake_agent, run_node, send_message, run_callback",
  ],
  ["an empty task", { ...soon, action: " " }, "An action is a task in words"],
];

test.each(REFUSALS)("%s is refused, and nothing changes", async (_, order, words) => {
  const { call, world } = tools();
  const { ok, content } = await call("schedule", order);
  expect({ ok, content }).toEqual({ ok: false, content: expect.stringContaining(words) });
  expect(world.told("trigger.created")).toEqual([]);
});

test("cancelling what is not there says what is; cancelling twice is cancelling once", async () => {
  const { call, world } = tools();
  await call("schedule", { ...soon, action: "go" });
  expect(await call("cancel_trigger", { trigger_id: "trigger-2" })).toEqual({
    ok: false,
    content: 'There is no trigger "trigger-2". Choose from: trigger-1.',
  });
  await call("cancel_trigger", { trigger_id: "trigger-1" });
  expect((await call("cancel_trigger", { trigger_id: "trigger-1" })).ok).toBe(true);
  expect(world.told("trigger.cancelled").length).toBe(1);
});

test("there are at most a hundred", async () => {
  const { call } = tools();
  for (let each = 0; each < 100; each++) await call("schedule", { ...soon, action: "go" });
  expect(await call("schedule", { ...soon, action: "go" })).toEqual({
    ok: false,
    content: "Not scheduled: There are 100 triggers already. Cancel those you no longer need (list_triggers).",
  });
});

function tools() {
  const world = new TriggerWorld();
  const toolbox = new Toolbox(scheduleTools(world.schedule.by("coordinator"), "coordinator's"));
  const call = async (name: string, args: unknown) => {
    const part: CallPart = { type: "call", id: "1", name, args };
    const { ok, content } = await toolbox.run(part, signal);
    return { ok, content };
  };
  return { world, call };
}

function cron(expression: string) {
  return { type: "scheduled", config: { cron: expression }, action: "go" };
}

function at(time: string) {
  return { type: "at_time", config: { at: time }, action: "go" };
}

function event(event_pattern: string, filter?: Record<string, unknown>) {
  return { type: "on_event", config: { event_pattern, ...(filter && { filter }) }, action: "go" };
}
