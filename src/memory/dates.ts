/**
 * Dates as words that are the same however a date was written: `2023-05-08`, "8 May, 2023", "May 8th". A log is named
 * by its day in digits, but people ask for it by the name of the month.
 */
export function dateWords(text: string): string[] {
  const words = new Set<string>();
  const add = (year: string | undefined, month: number, day?: number) => {
    if (!(month >= 1 && month <= 12) || (day !== undefined && !(day >= 1 && day <= 31))) return;
    const dd = day === undefined ? "" : two(day);
    if (year !== undefined) words.add(`${year}${two(month)}${dd}`);
    words.add(`m${two(month)}${dd && `d${dd}`}`);
    // A day belongs to its month, so that a question about the month finds it.
    if (day !== undefined) add(year, month);
  };
  for (const [, year, month, day] of text.matchAll(ISO)) add(year, Number(month), day ? Number(day) : undefined);
  if (!A_MONTH.test(text)) return [...words];
  let rest = text.replace(DAY_FIRST, (_, day: string, month: string, year?: string) => {
    add(year, monthOf(month), Number(day));
    return " ";
  });
  rest = rest.replace(MONTH_FIRST, (_, month: string, day: string, year?: string) => {
    add(year, monthOf(month), Number(day));
    return " ";
  });
  for (const [, month = "", year] of rest.matchAll(MONTH_ALONE)) add(year, monthOf(month));
  return [...words];
}

/** The last complete date (year, month and day) in a text, in milliseconds; undefined if there is none. */
export function dayNamedIn(text: string): number | undefined {
  const days = dateWords(text).filter((word) => /^\d{8}$/.test(word));
  const last = days.at(-1);
  if (last === undefined) return undefined;
  const day = Date.parse(`${last.slice(0, 4)}-${last.slice(4, 6)}-${last.slice(6)}T00:00:00Z`);
  return Number.isNaN(day) ? undefined : day;
}

/** `2026-03-02T09:00:00`: the local time in this time zone. */
export function wallTime(at: number, timeZone: string): string {
  let format = walls.get(timeZone);
  if (!format) {
    // Swedish writes dates as ISO 8601 does.
    format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
    walls.set(timeZone, format);
  }
  return format.format(at).replace(" ", "T");
}

const walls = new Map<string, Intl.DateTimeFormat>();

/** The dates in a question: a day does not match its whole month. */
export function datesToFind(query: string): string[] {
  const words = dateWords(query);
  const days = words.filter((word) => /^(\d{8}|m\d\dd\d\d)$/.test(word));
  return days.length > 0 ? days : words;
}

const NAMES = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const MONTH =
  "(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?";
const A_MONTH = new RegExp(`\\b${MONTH}\\b`, "i");
const ISO = /(?<!\d)(\d{4})-(\d{2})(?:-(\d{2}))?(?![\d-])/g;
const DAY_FIRST = new RegExp(`\\b(\\d{1,2})(?:st|nd|rd|th)?(?: of)? ${MONTH}(?:,? (\\d{4}))?\\b`, "gi");
const MONTH_FIRST = new RegExp(`\\b${MONTH} (\\d{1,2})(?:st|nd|rd|th)?(?:,? (\\d{4}))?\\b`, "gi");
/** Without a day only a whole name in capitals is one: "may" and "march" are words too. */
const MONTH_ALONE =
  /\b(January|February|March|April|May|June|July|August|September|October|November|December)(?:,?(?: of)? (\d{4}))?\b/g;

function monthOf(name: string): number {
  return NAMES.indexOf(name.slice(0, 3).toLowerCase()) + 1;
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}
