/**
 * Local time in a time zone, by the zone database that Node includes. All in milliseconds; a local time is written as
 * if it were UTC.
 */

export function isTimeZone(name: string): boolean {
  try {
    return formatOf(name) !== undefined;
  } catch {
    return false;
  }
}

/**
 * The instant of a local time. A time that occurs twice (the clocks go back) is its first occurrence; one that does not
 * occur (they go forward) is the first instant after the gap.
 */
export function instantOf(wall: number, zone: string): number {
  const offsets = new Set([wall - DAY, wall + DAY].map((near) => offsetAt(near, zone)));
  const comings = [...offsets].map((offset) => wall - offset).filter((at) => at + offsetAt(at, zone) === wall);
  return comings.length > 0 ? Math.min(...comings) : changeBetween(wall - DAY, wall + DAY, zone);
}

/** `2026-03-02T09:00:00+01:00`: the local time, unambiguous. */
export function asWritten(instant: number, zone: string): string {
  const offset = Math.round(offsetAt(instant, zone) / MINUTE);
  const size = Math.abs(offset);
  const hours = String(Math.floor(size / 60)).padStart(2, "0");
  const wall = new Date(instant + offset * MINUTE).toISOString().slice(0, 19);
  return `${wall}${offset < 0 ? "-" : "+"}${hours}:${String(size % 60).padStart(2, "0")}`;
}

/** `Monday, 2026-03-02, 09:00 (Europe/Berlin)`: for readers without a clock. */
export function momentIn(instant: number, zone: string): string {
  const { weekday, date, time } = dayIn(instant, zone);
  return `${weekday}, ${date}, ${time} (${zone})`;
}

/** The day, and the time to the minute. */
export function dayIn(instant: number, zone: string): { weekday: string; date: string; time: string } {
  const wall = new Date(instant + offsetAt(instant, zone));
  const written = wall.toISOString();
  return { weekday: WEEKDAYS[wall.getUTCDay()] ?? "", date: written.slice(0, 10), time: written.slice(11, 16) };
}

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MINUTE = 60_000;
const DAY = 86_400_000;

/** How far the wall is ahead of UTC. */
function offsetAt(instant: number, zone: string): number {
  const second = Math.floor(instant / 1000) * 1000;
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(second)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second: seconds = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, seconds) - second;
}

/** The instant at which the offset changes, when it does once in between. */
function changeBetween(from: number, to: number, zone: string): number {
  const before = offsetAt(from, zone);
  let [low, high] = [from, to];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle, zone) === before) low = middle;
    else high = middle;
  }
  return high;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Making one costs a thousand times what using it does. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (!format) {
    const numeric = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric" } as const;
    const rest = { minute: "numeric", second: "numeric", hourCycle: "h23", calendar: "gregory" } as const;
    format = new Intl.DateTimeFormat("en-US", { timeZone, ...numeric, ...rest });
    formats.set(timeZone, format);
  }
  return format;
}
