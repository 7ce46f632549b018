/**
 * When a cron expression is due, found the slow way: every minute of the years is looked at on the wall of its zone.
 * Independent of what it checks: no cron library, and the wall clock is read from Intl, a day at a time, and a
 * quarter of an hour at a time through the days on which it changes (no zone changes within one, or twice a day).
 *
 * The rule, as docs/decisions/triggers.md states it. With one minute and one hour it is a time of day: it comes once a
 * day, a time that the clocks skip right after the gap, a time that they repeat only the first time. Anything else is
 * an interval: it follows the wall, through both passes of a repeated hour, and what is skipped is skipped.
 */
export function occurrencesOf(cron: string, zone: string, from: number, to: number): number[] {
  const { minutes, hours, days, months, weekdays, eitherDay } = parse(cron);
  const isTimeOfDay = minutes.size === 1 && hours.size === 1;
  const isDay = (day: number) => {
    const date = new Date(day * 86_400_000);
    if (!months.has(date.getUTCMonth() + 1)) return false;
    const [byDate, byWeekday] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
    return eitherDay ? byDate || byWeekday : byDate && byWeekday;
  };
  const times = Uint8Array.from({ length: 1440 }, (_, time) =>
    Number(minutes.has(time % 60) && hours.has(Math.floor(time / 60))),
  );
  const daysKnown = new Map<number, boolean>();
  const fits = (wall: number): boolean => {
    if (times[wall % 1440] !== 1) return false;
    const day = Math.floor(wall / 1440);
    let known = daysKnown.get(day);
    if (known === undefined) {
      known = isDay(day);
      daysKnown.set(day, known);
    }
    return known;
  };
  const found: number[] = [];
  const seen = new Set<number>();
  const offsets = offsetsOf(zone, from, to);
  let before: number | undefined;
  for (let minute = from / 60; minute < to / 60; minute++) {
    const wall = minute + (offsets[Math.floor((minute - from / 60) / 15)] ?? 0);
    let due = fits(wall) && !(isTimeOfDay && seen.has(wall));
    if (isTimeOfDay) {
      for (let skipped = (before ?? wall) + 1; skipped < wall; skipped++) due ||= fits(skipped);
      if (due) seen.add(wall);
    }
    if (due) found.push(minute * 60);
    before = wall;
  }
  return found;
}

/** The instant at which the wall first shows this, or the first after the gap that swallows it. In seconds. */
export function momentOf(wall: string, zone: string): number {
  const wanted = Date.parse(`${wall}Z`) / 60_000;
  const from = Math.floor((wanted - 2880) / 15) * 900;
  const offsets = offsetsOf(zone, from, from + 4 * 86_400);
  for (let minute = from / 60; ; minute++) {
    if (minute + (offsets[Math.floor((minute - from / 60) / 15)] ?? 0) >= wanted) return minute * 60;
  }
}

const known = new Map<string, Int16Array>();

/** How many minutes the wall is ahead of UTC, for each quarter of an hour. */
function offsetsOf(zone: string, from: number, to: number): Int16Array {
  const key = `${zone} ${from} ${to}`;
  let offsets = known.get(key);
  if (!offsets) {
    const wall = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" });
    const offsetAt = (at: number) => {
      const instant = (from + at * 900) * 1000;
      return (Date.parse(`${wall.format(instant).replace(" ", "T")}Z`) - instant) / 60_000;
    };
    offsets = new Int16Array(Math.ceil((to - from) / 900));
    for (let at = 0; at < offsets.length; at += 96) {
      const [first, next] = [offsetAt(at), offsetAt(at + 96)];
      for (let each = at; each < at + 96; each++) offsets[each] = first === next ? first : offsetAt(each);
    }
    known.set(key, offsets);
  }
  return offsets;
}

function parse(cron: string) {
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = cron.split(" ");
  return {
    minutes: fieldOf(minute, 0, 59),
    hours: fieldOf(hour, 0, 23),
    days: fieldOf(day, 1, 31),
    months: fieldOf(month, 1, 12),
    weekdays: fieldOf(weekday, 0, 6),
    /** The old custom: where both are restricted, either will do. */
    eitherDay: day !== "*" && weekday !== "*",
  };
}

const NAMES = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

function fieldOf(field: string, least: number, most: number): Set<number> {
  const values = new Set<number>();
  for (const part of field.split(",")) {
    const [range = "", step = "1"] = part.split("/");
    const [first = "", last] = range === "*" ? [String(least), String(most)] : range.split("-");
    const number = (word: string) => (NAMES.includes(word) ? NAMES.indexOf(word) : Number(word));
    for (let value = number(first); value <= number(last ?? first); value += Number(step)) values.add(value);
  }
  return values;
}
