/** Figures as people read them, in the terminal and on the page. */

export function money(usd: number): string {
  if (usd === 0) return "$0";
  return usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

export function amount(value: number): string {
  if (value < 1000) return String(value);
  if (value < 999_500) return `${(value / 1000).toFixed(value < 9950 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(value < 9_950_000 ? 1 : 0)}M`;
}

export function milliseconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)} s` : elapsedTime(ms / 1000);
}

/** 0:42, 12:05, 1:02:03. */
export function elapsedTime(seconds: number): string {
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
  return whole < 86_400 ? `${Math.floor(whole / 3600)}h` : `${Math.floor(whole / 86_400)}d`;
}

export function count(number: number, noun: string, many = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : many}`;
}

const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

/** `90 seconds`, `2 hours`: the largest unit that leaves nothing over. */
export function duration(seconds: number): string {
  const [unit, size] = UNITS.find(([, length]) => seconds >= length && seconds % length === 0) ?? ["second", 1];
  return count(seconds / size, unit);
}
