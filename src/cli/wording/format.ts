import type { Tally } from "../../projections/index.ts";
import { count, money } from "../../wording/figures.ts";

export { age, amount, count, elapsedTime, milliseconds, money } from "../../wording/figures.ts";

/** Figures and times as a terminal shows them. */

/** What was spent, whether that is an estimate, and how much has no known price. */
export function costOf(tally: { cost_usd: number; unpriced_calls: number; estimated_calls?: number }): string {
  const known = `${tally.estimated_calls ? "about " : ""}${money(tally.cost_usd)}`;
  if (tally.unpriced_calls === 0) return known;
  return tally.cost_usd === 0 ? "price unknown" : `${known} + ${count(tally.unpriced_calls, "unpriced call")}`;
}

export interface Spent {
  calls: number;
  tokens: number;
  cost_usd: number;
  unpriced_calls: number;
  estimated_calls?: number;
}

export function spentIn({ calls, usage, cost_usd, unpriced_calls, estimated_calls }: Tally): Spent {
  const tokens = usage.input + usage.output;
  return { calls, tokens, cost_usd, unpriced_calls, ...(estimated_calls && { estimated_calls }) };
}

/** What was spent since then, and the total if that is more. */
export function spentSince(before: Spent | undefined, total: Spent): Spent & { inAll: string } {
  if (!before || before.calls === 0) return { ...total, inAll: "" };
  return {
    calls: total.calls - before.calls,
    tokens: total.tokens - before.tokens,
    cost_usd: Math.max(0, total.cost_usd - before.cost_usd),
    unpriced_calls: total.unpriced_calls - before.unpriced_calls,
    ...(total.estimated_calls && { estimated_calls: total.estimated_calls }),
    inAll: ` (${count(total.calls, "call")}, ${costOf(total)} in all)`,
  };
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

/** In the machine's own time zone, so that it matches the person's clock. */
export function timestamp(seconds: number): string {
  const at = new Date(seconds * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
