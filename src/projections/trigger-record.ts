import type { AgentId } from "../protocol/index.ts";
import type { TriggerState, Triggers } from "./triggers.ts";

/** A trigger as it is shown outside, with the words of seed 002 §9.5. */
export interface TriggerRecord {
  id: string;
  agent_id: AgentId;
  type: string;
  action: { type: string; payload: Record<string, unknown> };
  status: TriggerState["status"];
  created_at: number;
  created_by: string;
  /** What belongs to the type. */
  metadata: Record<string, unknown>;
  missed: string;
  /** When it is due next; null where that is not known before something happens. */
  due: number | null;
  fired: number;
}

/** Active and paused triggers, then the newest that have ended. */
export function triggerRecords(triggers: Triggers, agent_id: AgentId): TriggerRecord[] {
  return [...Object.values(triggers.open), ...triggers.settled].map((trigger) => ({
    id: trigger.id,
    agent_id,
    type: trigger.when.type,
    action: trigger.action,
    status: trigger.status,
    created_at: trigger.created_ts,
    created_by: trigger.created_by,
    metadata: trigger.when.config,
    missed: trigger.missed,
    due: trigger.status === "active" ? trigger.due : null,
    fired: trigger.fired,
  }));
}
