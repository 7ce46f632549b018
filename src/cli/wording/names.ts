import type { Roster } from "../../projections/index.ts";
import { COORDINATOR, HUMAN } from "../../protocol/ids.ts";
import { plain } from "./width.ts";

/** What people call a worker, by its id; the coordinator goes by its title. */
export function nameOf(roster: Roster, id: string): string {
  if (id === COORDINATOR) return "coordinator";
  if (id === HUMAN) return "you";
  if (id === "*") return "everyone";
  return plain(roster[id]?.spawned.name ?? id);
}
