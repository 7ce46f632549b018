import { join } from "node:path";
import { type Situation, triggerRecords } from "../../projections/index.ts";
import { replaceFile } from "../disk/atomic-file.ts";

/** `triggers.json`: the schedule, for people to read. Derived: the log has every trigger. */
export function writeTriggers(agentDir: string, { agent, triggers }: Situation): void {
  const records = triggerRecords(triggers, agent.id);
  replaceFile(join(agentDir, "triggers.json"), `${JSON.stringify(records, null, 2)}\n`);
}
