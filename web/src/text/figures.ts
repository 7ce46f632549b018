import { visible } from "./visible.ts";

/** Figures and times as people read them. */

export function money(usd: number): string {
  if (usd === 0) return "$0";
  return usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

export function costOf(tally: { cost_usd: number; unpriced_calls: number } | undefined): string {
  if (!tally) return "$0";
  if (tally.unpriced_calls === 0) return money(tally.cost_usd);
  return tally.cost_usd === 0 ? "price unknown" : `${money(tally.cost_usd)} + ${tally.unpriced_calls} unpriced`;
}

export function amount(value: number): string {
  if (value < 1000) return String(value);
  if (value < 999_500) return `${(value / 1000).toFixed(value < 9950 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(value < 9_950_000 ? 1 : 0)}M`;
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

export function milliseconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} m ${Math.round((ms / 1000) % 60)} s`;
}

export function count(number: number, noun: string, many = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : many}`;
}

// From 0 to 23 wherever a time stands: the same moment must not look like two.
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DAY_AND_CLOCK = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
const dayAndClock = new Intl.DateTimeFormat(undefined, DAY_AND_CLOCK);
const dayAndSecond = new Intl.DateTimeFormat(undefined, { ...DAY_AND_CLOCK, second: "2-digit" });
const second = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });

/** Of another day with that day: 09:12 alone is read as this morning's. */
export const clockTime = (ts: number, now = Date.now()): string =>
  (isToday(ts, now) ? clock : dayAndClock).format(ts * 1000);
export const secondTime = (ts: number, now = Date.now()): string =>
  (isToday(ts, now) ? second : dayAndSecond).format(ts * 1000);
export const exactTime = (ts: number): string => exact.format(ts * 1000);
export const dayOf = (ts: number): string => day.format(ts * 1000);

function isToday(ts: number, now: number): boolean {
  return new Date(ts * 1000).toDateString() === new Date(now).toDateString();
}

/** 5s, 12m, 3h, 2d. */
export function age(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m`;
  return whole < 86_400 ? `${Math.floor(whole / 3600)}h` : `${Math.floor(whole / 86_400)}d`;
}

/** A stage's own name, unless it is only its number again. */
export function stageTitle(number: number, name: string): string {
  return name === "" || name === `Stage ${number}` ? `Stage ${number}` : `Stage ${number} · ${name}`;
}

/** The first line without its marks of markdown, where there is no room for more. */
export function gist(text: string): string {
  return firstLine(text).replace(/\\([!-/:-@[-`{-~])|\*\*|__|`|^#{1,6}\s+/g, "$1");
}

/** For where there is one line of room: of a longer one its beginning. */
export function firstLine(text: string): string {
  const line = text.slice(0, 4000).trim().split("\n", 1)[0] ?? "";
  return visible(line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line);
}

const LONGEST_LINE = 400;
