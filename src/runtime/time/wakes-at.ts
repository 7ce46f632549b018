import type { Situation } from "../../projections/index.ts";
import { whatIsDue } from "../../triggers/due.ts";

/**
 * When an agent that rests has to be open again by itself, in seconds. Null: not before somebody asks for it; `stays`:
 * it has to stay open, because something is under way, is to be looked at, or waits to leave by a channel.
 */
export function wakesAt(now: Situation, at: number): number | null | "stays" {
  const { agent, triggers, outbox } = now;
  if (agent.archived_ts !== null) return null;
  const isLooking = Object.values(triggers.open).some(
    ({ when, status }) => when.type === "on_change" && status === "active",
  );
  if (isLooking || Object.keys(triggers.undone).length > 0 || outbox.waiting.length > 0) return "stays";
  const { facts, next } = whatIsDue(now, at);
  return facts.length > 0 ? "stays" : next;
}
