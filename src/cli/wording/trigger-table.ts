import type { Situation, TriggerState } from "../../projections/index.ts";
import { actionIn, conditionIn } from "../../runtime/time/trigger-text.ts";
import { nextDue } from "../../triggers/due.ts";
import { timestamp } from "./format.ts";
import { displayName } from "./names.ts";
import type { Paint } from "./paint.ts";
import { type Cell, table, tableWidth } from "./table.ts";
import { cutToWidth, headline, plain, wrap } from "./width.ts";

/** One row per trigger if there is room; otherwise the time and the action go below it, since people look for those. */
export function triggerTable(
  triggers: readonly TriggerState[],
  now: Situation,
  at: number,
  columns: number,
  paint: Paint,
): string[] {
  const head = [...TITLES, "WHEN", "THEN"].map((text): Cell => ({ text, paint: paint.dim }));
  const rows = triggers.map((trigger): Cell[] => [
    { text: trigger.id, paint: paint.bold },
    { text: trigger.status, ...(trigger.status !== "active" && { paint: paint.dim }) },
    { text: nextWords(trigger, now, at) },
    { text: String(trigger.fired) },
    { text: displayName(now.roster, trigger.created_by) },
    { text: plain(conditionIn(trigger)) },
    { text: headline(actionIn(trigger.action)) },
  ]);
  if (tableWidth([head, ...rows]) <= columns) return table([head, ...rows], columns);
  const short = [head, ...rows].map((row) => row.slice(0, TITLES.length));
  const room = columns - INDENT.length;
  return table(short, columns).flatMap((line, i) => {
    const long = rows[i - 1]?.slice(TITLES.length).map(({ text }) => text) ?? [];
    const below = long.length === 0 ? [] : wrap(cutToWidth(long.join(": "), MOST_LINES * room), room);
    return [line, ...below.map((text) => INDENT + text)];
  });
}

const TITLES = ["TRIGGER", "STATUS", "NEXT", "FIRED", "BY"];
const INDENT = "  ";
const MOST_LINES = 3;

/** As the clock on the wall here will show it. */
function nextWords(trigger: TriggerState, now: Situation, at: number): string {
  const next = nextDue(trigger, now, at);
  if (next === null) return "-";
  const zone = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts(next * 1000);
  return `${timestamp(next)} ${zone.find(({ type }) => type === "timeZoneName")?.value ?? ""}`;
}
