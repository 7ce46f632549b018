import { expect, test } from "vitest";
import type { TriggerState } from "../../../src/projections/index.ts";
import { exactTime } from "../text/figures.ts";
import { triggerStateWords } from "./trigger-words.ts";

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
  expect(triggers.map(triggerStateWords)).toEqual([
    ["active", `next ${exactTime(160)}`],
    ["active", `next ${exactTime(200)}`, `fired 2 times, last due ${exactTime(160)}`],
    ["paused", `fired 2 times, last due ${exactTime(160)}`],
    [`fired ${exactTime(161)}`],
    [`cancelled ${exactTime(150)}`],
    [`cancelled ${exactTime(180)}`, "fired 2 times"],
  ]);
});
