import { Cron } from "croner";

/** What is wrong with a cron expression, in words that help to fix it; undefined if it is valid. */
export function cronProblem(cron: string): string | undefined {
  const wrong = syntaxProblem(cron.trim());
  if (wrong === undefined) return undefined;
  const meant = nearestCron(cron);
  const guess = meant === undefined ? "" : ` Did you mean "${meant}"?`;
  return `"${cron}" is not a cron expression: ${wrong}.${guess} ${EXPECTED}`;
}

const EXPECTED =
  "Expected five fields: minute (0-59), hour (0-23), day of the month (1-31), month (1-12 or JAN-DEC), weekday " +
  '(0-7 or SUN-SAT), e.g. "0 9 * * MON" for Mondays at nine, "*/15 * * * *" for every quarter of an hour; or @hourly, ' +
  "@daily, @weekly, @monthly, @yearly.";

/** The first time after `after` (both in seconds) that the expression names, or null if there is none. */
export function nextOccurrence(cron: string, timeZone: string, after: number): number | null {
  const known = expressionOf(cron, timeZone);
  if (known.from <= after && (known.next === null || after < known.next)) return known.next;
  const next = known.cron.nextRun(new Date(Math.floor(after * 1000)));
  known.from = after;
  known.next = next === null ? null : next.getTime() / 1000;
  return known.next;
}

interface Expression {
  cron: Cron;
  /** The last question and its answer: asked again for any time in between, it is the same. */
  from: number;
  next: number | null;
}

const MOST_KEPT = 1000;
const expressions = new Map<string, Expression>();

/** Reading an expression costs more than using it, and the alarms ask after every fact. */
function expressionOf(cron: string, timezone: string): Expression {
  const key = `${timezone} ${cron}`;
  let known = expressions.get(key);
  if (!known) {
    if (expressions.size >= MOST_KEPT) expressions.clear();
    known = { cron: new Cron(cron, { timezone, mode: "5-part" }), from: Number.POSITIVE_INFINITY, next: null };
    expressions.set(key, known);
  }
  return known;
}

function syntaxProblem(cron: string): string | undefined {
  const fields = cron.split(/\s+/);
  if (cron.startsWith("@")) {
    if (!NICKNAMES.has(cron.toLowerCase())) return "this nickname is unknown";
  } else if (fields.length !== 5) return `it has ${fields.length} field${fields.length === 1 ? "" : "s"}`;
  try {
    new Cron(cron, { mode: "5-part" });
    return undefined;
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return said.replace(/^CronPattern: /, "").replace(/\.$/, "");
  }
}

const NICKNAMES = new Set(["@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@annually"]);
const DAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/** What somebody who wrote this probably wanted. */
function nearestCron(text: string): string | undefined {
  const lower = text.trim().toLowerCase();
  const fields = lower.split(/\s+/);
  if (NICKNAMES.has(`@${lower}`)) return `@${lower}`;
  const often = /(?:every\s+)?(\d+)\s*(?:m|min|minutes?)$/.exec(lower)?.[1];
  if (often && Number(often) < 60) return `*/${often} * * * *`;
  const hours = /(?:every\s+)?(\d+)\s*(?:h|hours?)$/.exec(lower)?.[1];
  if (hours && Number(hours) < 24) return `0 */${hours} * * *`;
  const day = DAYS.findIndex((name) => lower.includes(name));
  const weekday = day < 0 ? "*" : String(day);
  const time = /\b(\d{1,2}):(\d{2})\b/.exec(lower);
  if (time && Number(time[1]) < 24 && Number(time[2]) < 60)
    return `${Number(time[2])} ${Number(time[1])} * * ${weekday}`;
  // Six fields begin with the seconds, which we do not have: a heartbeat does.
  if (fields.length === 6 && sound(fields.slice(1).join(" "))) return fields.slice(1).join(" ");
  if (fields.length === 5 && day >= 0) {
    const named = [...fields.slice(0, 4), (fields[4] ?? "").replace(/(sun|mon|tue|wed|thu|fri|sat)[a-z]*/g, "$1")].join(
      " ",
    );
    if (sound(named)) return named;
  }
  const stepped = fields.map((field) => field.replace(/^(\d+)\/(\d+)$/, "*/$2")).join(" ");
  return fields.length === 5 && sound(stepped) ? stepped : undefined;
}

function sound(cron: string): boolean {
  return syntaxProblem(cron) === undefined;
}
