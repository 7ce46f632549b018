import { expect, test } from "vitest";
import type { TriggerState } from "../../../src/projections/index.ts";
import type { Condition, TriggerAction } from "../../../src/protocol/index.ts";
import { exactTime } from "../text/figures.ts";
import { actionWords, conditionWords, standingWords } from "./words.ts";

test("every condition and every action can be said", () => {
  const conditions: Condition[] = [
    { type: "scheduled", config: { cron: "0 9 * * MON", time_zone: "Europe/Berlin" } },
    { type: "delayed", config: { delay_seconds: 5400 } },
    { type: "at_time", config: { at: "2027-02-12T09:00:00", time_zone: "UTC" } },
    { type: "heartbeat", config: { interval_seconds: 86_400 } },
    { type: "on_event", config: { event_pattern: "node.*", filter: { node_id: "node-1" } } },
    { type: "on_idle", config: { idle_seconds: 1 } },
  ];
  const actions: TriggerAction[] = [
    { type: "wake_agent", payload: { task: "Look again" } },
    { type: "run_node", payload: { node_id: "node-2" } },
    { type: "send_message", payload: { to: "Alice", content: "Hurry" } },
    { type: "run_callback", payload: { name: "backup" } },
  ];
  expect([...conditions.map(conditionWords), ...actions.map(actionWords)]).toEqual([
    "by calendar: 0 9 * * MON (Europe/Berlin)",
    "90 minutes after it was set",
    "at 2027-02-12T09:00:00 (UTC)",
    "every 1 day, if anything is new",
    "when node.* happens and node_id is node-1",
    "after 1 second without anything happening",
    "Look again",
    "run node-2",
    "say to Alice: Hurry",
    "call backup",
  ]);
});

test("how one stands is said with its times: when it is next, was last due, and when it ended", () => {
  const base = {
    id: "trigger-1",
    when: { type: "delayed", config: { delay_seconds: 60 } },
    action: { type: "wake_agent", payload: { task: "Look again" } },
    missed: "once",
    created_by: "human",
    created_ts: 100,
    last_cause: null,
    last_seq: 3,
    since_ts: 100,
  } as const;
  const never = { ...base, fired: 0, last_due: null };
  const often = { ...base, fired: 2, last_due: 160 };
  const triggers: TriggerState[] = [
    { ...never, status: "active", due: 160 },
    { ...often, status: "active", due: 200 },
    { ...often, status: "paused", due: 200 },
    { ...base, fired: 1, last_due: 160, status: "fired", ended_ts: 161 },
    { ...never, status: "cancelled", ended_ts: 150 },
    { ...often, status: "cancelled", ended_ts: 180 },
  ];
  expect(triggers.map(standingWords)).toEqual([
    ["active", `next ${exactTime(160)}`],
    ["active", `next ${exactTime(200)}`, `fired 2 times, last due ${exactTime(160)}`],
    ["paused", `fired 2 times, last due ${exactTime(160)}`],
    [`fired ${exactTime(161)}`],
    [`cancelled ${exactTime(150)}`],
    [`cancelled ${exactTime(180)}`, "fired 2 times"],
  ]);
});
