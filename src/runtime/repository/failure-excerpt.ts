/**
 * What a failed command printed, short enough to be read: first what says that something failed, each with the lines that
 * belong to it, then the end, where most test runners have their numbers. Where nothing says so, both ends.
 */
export function failureExcerpt(output: string): string {
  if (output.length <= SHORT) return output;
  const lines = output.trimEnd().split("\n");
  const failures = failuresIn(lines.map((line) => line.slice(0, LONGEST_LINE)));
  const shown = failures.length > 0 ? failuresAndEnd(lines, failures) : bothEnds(lines);
  return shown.length < output.length * WORTH_IT ? shown : output;
}

/** In characters; what is shorter is shown whole. */
const SHORT = 1200;
const OF_FAILURES = 3000;
const OF_END = 800;
const OF_BEGINNING = 600;
const END_LINES = 10;
/** An excerpt that leaves out less only costs the certainty of having seen all. */
const WORTH_IT = 0.8;
const LONGEST_LINE = 300;

const SAYS_SO =
  /^\s*(?:not ok\b|[✖✗✘×●] (?!failing tests:)|FAIL(?:ED|URE)?\b|ERROR\b|--- FAIL|E {2,}|error(?:\[\w+\])?: |(?:Uncaught )?\w*(?:Error|Exception): |\d+:\d+ +error\b|(?<= {2})\d+\) |-{4} .+ stdout -{4}$|_{3,} .+ _{3,}$)|: (?:fatal )?error(?: \w+)?: |\b(?:\w*AssertionError|panicked at|Traceback \(most recent)/;
const PASSES = /^\s*(?:ok \d|[✔✓√] |PASS(?:ED)?\b|--- PASS|=== (?:RUN|PAUSE|CONT)|# Subtest)| (?:PASSED|\.\.\. ok)$/;
/** So much may follow at the same indent, and so much in all. */
const BESIDE = 6;
const BELOW = 30;

/** Lines from `from` up to, but without, `to`. */
interface Span {
  from: number;
  to: number;
}

function failuresIn(lines: readonly string[]): Span[] {
  const spans: Span[] = [];
  for (let at = 0; at < lines.length; at++) {
    if (!SAYS_SO.test(lines[at] ?? "")) continue;
    const last = spans.at(-1);
    const to = endOf(at, lines);
    // An error in the lines of a failure is part of it.
    if (last && at < last.to) last.to = Math.max(last.to, Math.min(to, last.from + BELOW));
    else spans.push({ from: Math.max(beginningOf(at, lines), last?.to ?? 0), to });
  }
  return spans;
}

/** With the file that it stands below, as linters print it; Go says what was wrong before it says where. */
function beginningOf(head: number, lines: readonly string[]): number {
  const line = lines[head] ?? "";
  const belongs = (at: number) => {
    const before = lines[at] ?? "";
    if (before.trim() === "" || PASSES.test(before)) return false;
    return AFTER_ITS_WORDS.test(line) ? indentOf(before) > indentOf(line) : indentOf(before) < indentOf(line);
  };
  const most = AFTER_ITS_WORDS.test(line) ? BELOW : 1;
  let from = head;
  while (from > Math.max(0, head - most) && belongs(from - 1)) from -= 1;
  return from;
}

const AFTER_ITS_WORDS = /^\s*--- FAIL/;

/** Where what belongs to this line ends: with what passed, or with what is indented no more than it. */
function endOf(head: number, lines: readonly string[]): number {
  const indent = indentOf(lines[head] ?? "");
  let to = head + 1;
  for (let at = to; at < Math.min(lines.length, head + BELOW); at++) {
    const line = lines[at] ?? "";
    if (PASSES.test(line)) break;
    if (line.trim() === "") continue;
    if (indentOf(line) <= indent && at > head + BESIDE) break;
    to = at + 1;
  }
  return to;
}

function indentOf(line: string): number {
  return line.search(/\S|$/);
}

function failuresAndEnd(lines: readonly string[], failures: readonly Span[]): string {
  const parts: string[] = [];
  const said = new Set<string>();
  let room = OF_FAILURES;
  let reached = 0;
  let left = 0;
  for (const { from, to } of failures) {
    const text = textOf(lines.slice(from, to), room);
    // Some runners say all of it once more at the end.
    const isKnown = said.has(text.trim());
    if (isKnown || text === "") {
      left += isKnown ? 0 : 1;
      continue;
    }
    said.add(text.trim());
    if (from > reached) parts.push("…");
    parts.push(text);
    room -= text.length;
    reached = from + text.split("\n").length;
  }
  if (left > 0) parts.push(`… (${left} more ${left === 1 ? "place says" : "places say"} that something failed)`);
  return [...parts, endAfter(reached, lines, failures, left > 0)].join("\n").trimEnd();
}

/** The last lines that tell of no failure. */
function endAfter(reached: number, lines: readonly string[], failures: readonly Span[], isMarked: boolean): string {
  const isFailure = (at: number) => failures.some(({ from, to }) => from <= at && at < to);
  const rest = lines.flatMap((_, at) => (at < reached || isFailure(at) ? [] : [at])).slice(-END_LINES);
  const end = lastOf(
    rest.map((at) => lines[at] ?? ""),
    OF_END,
  );
  return (rest[0] ?? reached) > reached && !isMarked ? `…\n${end}` : end;
}

function bothEnds(lines: readonly string[]): string {
  const beginning = textOf(lines, OF_BEGINNING);
  const rest = lines.slice(beginning === "" ? 0 : beginning.split("\n").length);
  return [beginning, "…", lastOf(rest, OF_FAILURES - beginning.length)].filter(Boolean).join("\n");
}

function lastOf(lines: readonly string[], room: number): string {
  return textOf(lines.toReversed(), room).split("\n").toReversed().join("\n");
}

/** As many of these lines as there is room for, each no longer than is read. */
function textOf(lines: readonly string[], room: number): string {
  const shown: string[] = [];
  let size = 0;
  for (const line of lines) {
    const short = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
    size += short.length + 1;
    if (size > room) break;
    shown.push(short);
  }
  return shown.join("\n");
}
