import type { Tally } from "../../projections/index.ts";
import type { FactOf } from "../../protocol/index.ts";

/** Figures as people read them. */

export function money(usd: number): string {
  if (usd === 0) return "$0";
  return usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

/** What was spent, and how much of it nobody knows the price of. */
export function costOf(tally: { cost_usd: number; unpriced_calls: number }): string {
  if (tally.unpriced_calls === 0) return money(tally.cost_usd);
  return tally.cost_usd === 0
    ? "price unknown"
    : `${money(tally.cost_usd)} + ${count(tally.unpriced_calls, "unpriced call")}`;
}

export interface Spent {
  calls: number;
  tokens: number;
  cost_usd: number;
  unpriced_calls: number;
}

export function spentIn({ calls, usage, cost_usd, unpriced_calls }: Tally): Spent {
  return { calls, tokens: usage.input + usage.output, cost_usd, unpriced_calls };
}

/** What was spent since, and in words what it was in all where that is more. */
export function spentSince(before: Spent | undefined, total: Spent): Spent & { inAll: string } {
  if (!before || before.calls === 0) return { ...total, inAll: "" };
  return {
    calls: total.calls - before.calls,
    tokens: total.tokens - before.tokens,
    cost_usd: Math.max(0, total.cost_usd - before.cost_usd),
    unpriced_calls: total.unpriced_calls - before.unpriced_calls,
    inAll: ` (${count(total.calls, "call")}, ${costOf(total)} in all)`,
  };
}

/** What was spent of a budget: of money, or of tokens where it was a budget of tokens. */
export function spentOf({
  spent_usd,
  budget_usd,
  spent_tokens,
  budget_tokens,
}: FactOf<"budget.exceeded" | "budget.warned">["data"]): string {
  return spent_tokens !== undefined && budget_tokens !== undefined
    ? `${amount(spent_tokens)} of ${amount(budget_tokens)} tokens`
    : `${money(spent_usd)} of ${money(budget_usd ?? 0)}`;
}

export function amount(value: number): string {
  if (value < 1000) return String(value);
  if (value < 999_500) return `${(value / 1000).toFixed(value < 9950 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(value < 9_950_000 ? 1 : 0)}M`;
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let unit = -1;
  let rest = value;
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${rest < 9.95 ? rest.toFixed(1) : Math.round(rest)} ${units[unit]}`;
}

export function milliseconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)} s` : clockTime(ms / 1000);
}

/** 0:42, 12:05, 1:02:03. */
export function clockTime(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (value: number) => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** 5s, 12m, 3h, 2d. */
export function age(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)}h`;
  return `${Math.floor(whole / 86_400)}d`;
}

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** In the machine's own time zone, so that it agrees with the clock on the wall. */
export function timestamp(seconds: number): string {
  const at = new Date(seconds * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
