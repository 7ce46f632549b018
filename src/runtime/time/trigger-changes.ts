import { type Situation, triggerNamed } from "../../projections/index.ts";
import { HUMAN } from "../../protocol/index.ts";
import type { TriggerOrder } from "../../triggers/trigger-order.ts";
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
): Promise<{ trigger_id: string; detail: string }> {
  if (change.do === "schedule") {
    const made = await schedule.add(HUMAN, change.order);
    if (!made.ok) throw new HumanRefusal("bad_request", `Not scheduled: ${made.reason}`);
    return { trigger_id: made.trigger_id, detail: made.words };
  }
  const { trigger_id } = change;
  const answer = await changed(schedule, change);
  if (typeof answer === "string") return { trigger_id, detail: answer };
  const isUnknown = triggerNamed(now.triggers, trigger_id) === undefined;
  throw new HumanRefusal(isUnknown ? "not_found" : "conflict", answer.content);
}

function changed(schedule: Schedule, { do: deed, trigger_id }: Exclude<TriggerChange, { do: "schedule" }>) {
  switch (deed) {
    case "cancel_trigger":
      return schedule.cancel(HUMAN, trigger_id);
    case "pause_trigger":
      return schedule.pause(HUMAN, trigger_id);
    case "resume_trigger":
      return schedule.resume(HUMAN, trigger_id);
  }
}
