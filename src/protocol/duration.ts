import { own } from "./dict.ts";

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const A_YEAR = 366 * 86_400;

export const DURATION_HELP = "It must be between a second and a year, e.g. 30s, 10m, 2h or 1d.";

/**
 * The seconds of a duration as people write it: 30s, 10m, 2h, 1d. Undefined if it is invalid, or longer than a year.
 */
export function secondsIn(text: string): number | undefined {
  const [, amount = "", unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const seconds = Number(amount) * (own(UNITS, unit) ?? 0);
  return seconds < 1 || seconds > A_YEAR ? undefined : seconds;
}
