import type { Roster } from "../../projections/index.ts";
import { COORDINATOR, HUMAN } from "../../protocol/ids.ts";
import { plain } from "./width.ts";

/** The name that people see for a worker id; for the coordinator, its title. */
export function displayName(roster: Roster, id: string): string {
  if (id === COORDINATOR) return "coordinator";
  if (id === HUMAN) return "you";
  if (id === "*") return "everyone";
  return plain(roster[id]?.spawned.name ?? id);
}
