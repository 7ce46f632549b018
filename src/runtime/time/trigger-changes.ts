import { type Situation, triggerNamed } from "../../projections/index.ts";
import { HUMAN } from "../../protocol/index.ts";
import type { TriggerOrder } from "../../triggers/order.ts";
import { HumanRefusal } from "../human/human-refusal.ts";
import type { Schedule } from "./schedule.ts";

/** A person's change to an agent's triggers. */
export type TriggerChange =
  | { do: "schedule"; order: TriggerOrder }
  | { do: "cancel_trigger" | "pause_trigger" | "resume_trigger"; trigger_id: string };

/** Resolves with the result once it is on disk; rejects with a `HumanRefusal` if it is not possible. */
export async function changeTriggers(
  { schedule, now }: { schedule: Schedule; now: Situation },
  change: TriggerChange,
): Promise<string> {
  const answer = await changed(schedule, change);
  if (typeof answer === "string") return answer;
  if (change.do === "schedule") throw new HumanRefusal("bad_request", answer.content);
  const isUnknown = triggerNamed(now.triggers, change.trigger_id) === undefined;
  throw new HumanRefusal(isUnknown ? "not_found" : "conflict", answer.content);
}

function changed(schedule: Schedule, change: TriggerChange) {
  switch (change.do) {
    case "schedule":
      return schedule.create(HUMAN, change.order);
    case "cancel_trigger":
      return schedule.cancel(HUMAN, change.trigger_id);
    case "pause_trigger":
      return schedule.pause(HUMAN, change.trigger_id);
    case "resume_trigger":
      return schedule.resume(HUMAN, change.trigger_id);
  }
}
