import { money } from "../../../src/wording/figures.ts";
import { visible } from "./visible.ts";

export { age, amount, count, milliseconds, money } from "../../../src/wording/figures.ts";

/** Figures and times as the page shows them. */

export function costOf(
  tally: { cost_usd: number; unpriced_calls: number; estimated_calls?: number } | undefined,
): string {
  if (!tally) return "$0";
  const known = `${tally.estimated_calls ? "about " : ""}${money(tally.cost_usd)}`;
  if (tally.unpriced_calls === 0) return known;
  return tally.cost_usd === 0 ? "price unknown" : `${known} + ${tally.unpriced_calls} unpriced`;
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

// From 0 to 23 wherever a time stands: the same moment must not look like two.
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DAY_AND_CLOCK = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
const dayAndClock = new Intl.DateTimeFormat(undefined, DAY_AND_CLOCK);
const dayAndSecond = new Intl.DateTimeFormat(undefined, { ...DAY_AND_CLOCK, second: "2-digit" });
const second = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });

/** With the day if it is another one: 09:12 alone would be read as this morning. */
export const clockTime = (ts: number, now = Date.now()): string =>
  (isToday(ts, now) ? clock : dayAndClock).format(ts * 1000);
export const secondTime = (ts: number, now = Date.now()): string =>
  (isToday(ts, now) ? second : dayAndSecond).format(ts * 1000);
export const exactTime = (ts: number): string => exact.format(ts * 1000);
export const dayOf = (ts: number): string => day.format(ts * 1000);

function isToday(ts: number, now: number): boolean {
  return new Date(ts * 1000).toDateString() === new Date(now).toDateString();
}

/** A stage's own name, unless it only repeats its number. */
export function stageTitle(number: number, name: string): string {
  return name === "" || name === `Stage ${number}` ? `Stage ${number}` : `Stage ${number} · ${name}`;
}

/** The first letter of a name, whole: some characters have two halves. */
export function initialOf(name: string): string {
  return [...name.slice(0, 2)][0]?.toUpperCase() ?? "";
}

/** The first line without Markdown, if there is no room for more. */
export function gist(text: string): string {
  return firstLine(text).replace(/\\([!-/:-@[-`{-~])|\*\*|__|`|^#{1,6}\s+/g, "$1");
}

/** For a single line: the beginning of a longer text. */
export function firstLine(text: string): string {
  const line = text.slice(0, 4000).trim().split("\n", 1)[0] ?? "";
  return visible(line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line);
}

const LONGEST_LINE = 400;
