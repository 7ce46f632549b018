import { expect, test } from "vitest";
import type { Condition, TriggerAction } from "../protocol/index.ts";
import { actionWords, conditionWords } from "./phrases.ts";

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
