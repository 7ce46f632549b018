import { exactLine, exactLines, mixedWords } from "../../../protocol/visible.ts";
import {
  categoryOf,
  commandOf,
  type Fields,
  type FileChange,
  fieldsOf,
  isPathField,
  pathsOf,
  type ToolRequest,
  titlesOf,
} from "./tool-request.ts";

/** So much of a request stands in the question; where it is longer, the file has all of it. */
const MOST_SHOWN = 12_000;
const MOST_OF_A_PART = 4_000;
const MOST_OF_A_LINE = 500;
const MOST_OF_A_KIND = 20;
const MOST_OF_A_TITLE = 200;

/**
 * A request as a person decides about it.
 *
 * REQUEST-1. What is done comes first and in full: the command, the files, the changes, all arguments.
 * REQUEST-2. Every line that others wrote begins with a bar, so none can pass for ours.
 * REQUEST-3. What is left out is counted, and the whole is named by its file.
 * REQUEST-4. The program's own words come last, are short, and are marked as such.
 */
export function requestText(who: string, request: ToolRequest, wholeIn: string): string {
  const whole = wholeText(who, request);
  if (whole.length <= MOST_SHOWN) return whole;
  const parts = new Parts(MOST_SHOWN);
  return [...linesOf(who, request, parts), `The whole request is in ${wholeIn}`].join("\n");
}

/** Whether the question shows less than the whole. */
export function isTooLongToShow(who: string, request: ToolRequest): boolean {
  return wholeText(who, request).length > MOST_SHOWN;
}

export function wholeText(who: string, request: ToolRequest): string {
  return linesOf(who, request, new Parts(Number.POSITIVE_INFINITY)).join("\n");
}

/** On one line, for the log: what is done, not what it is called. */
export function requestGist(request: ToolRequest): string {
  const { tool, args, shown } = request;
  const what = commandOf(request)?.command ?? pathsOf(request)[0] ?? shown ?? JSON.stringify(args) ?? tool;
  const line = exactLine(what.slice(0, 500));
  return what.length > 500 ? `${line}… (${what.length - 500} more characters)` : line;
}

function linesOf(who: string, request: ToolRequest, parts: Parts): string[] {
  const body = bodyOf(request, parts);
  return [
    `${exactLine(who)} asks for permission to ${DEEDS[categoryOf(request)] ?? "use a tool"} (tool: ${parts.line(request.tool)}).`,
    ...(request.isChanged ? ["It changed the request before your answer came. Your answer was not used."] : []),
    ...body,
    ...(body.length === 0 ? ["It does not say what the tool is called with."] : []),
    // Also of what is not shown.
    ...warningLines(bodyOf(request, new Parts(Number.POSITIVE_INFINITY)).join("\n")),
    ...titlesOf(request).map((title) => `Its own description, not checked: ${titleText(title)}`),
  ];
}

function bodyOf(request: ToolRequest, parts: Parts): string[] {
  return [
    ...commandLines(request, parts),
    ...pathLines(request, parts),
    ...parts.first(request.changes ?? [], "changes", (change) => changeLines(change, parts)),
    ...argumentLines("With:", remaining(request), parts),
    ...(request.shown ? ["It shows:", ...parts.quoted(request.shown)] : []),
    ...announcedLines(request, parts),
  ];
}

const DEEDS: Readonly<Record<string, string>> = {
  execute: "run a command",
  edit: "change files",
  delete: "delete files",
  move: "move files",
  read: "read files",
  search: "search",
  fetch: "fetch an address",
};

function commandLines(request: ToolRequest, parts: Parts): string[] {
  const found = commandOf(request);
  if (found) return ["Command:", ...parts.quoted(found.command)];
  return categoryOf(request) === "execute" ? ["It does not say which command it would run."] : [];
}

function pathLines(request: ToolRequest, parts: Parts): string[] {
  const paths = pathsOf(request);
  const head = paths.length === 1 ? "File:" : "Files:";
  return paths.length === 0 ? [] : [head, ...parts.first(paths, "files", (path) => [`│ ${parts.line(path)}`])];
}

function changeLines({ path, before, after }: FileChange, parts: Parts): string[] {
  const where = parts.line(path);
  if (!before) return [`New content of ${where}:`, ...parts.quoted(after)];
  return [`In ${where}, this text:`, ...parts.quoted(before), "becomes:", ...parts.quoted(after)];
}

function argumentLines(head: string, fields: Fields, parts: Parts): string[] {
  const lines = parts.first(Object.entries(fields), "arguments", ([name, value]) => {
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
    const label = `│ ${parts.line(name)}:`;
    const [first = "", ...rest] = parts.quoted(text);
    return rest.length === 0 ? [`${label} ${first.slice(2)}`] : [label, first, ...rest];
  });
  return lines.length > 0 ? [head, ...lines] : [];
}

/** What has not been said already. */
function remaining(request: ToolRequest): Fields {
  const { args } = request;
  const command = commandOf(request)?.field;
  const said = (name: string) => name === command || isPathField(name) || (command && name === "description");
  if (typeof args === "object" && args !== null && !Array.isArray(args))
    return Object.fromEntries(Object.entries(fieldsOf(args)).filter(([name, value]) => !said(name) || !isText(value)));
  return args === undefined || args === null ? {} : { arguments: args };
}

/** A path or a description that is not a text has not been shown. */
function isText(value: unknown): boolean {
  return typeof value === "string" || (Array.isArray(value) && value.every((part) => typeof part === "string"));
}

function announcedLines({ announced }: ToolRequest, parts: Parts): string[] {
  if (announced === undefined) return [];
  const found = commandOf({ args: announced });
  const head = "Before it asked, it had announced this call with:";
  return found ? [head, ...parts.quoted(found.command)] : argumentLines(head, { arguments: announced }, parts);
}

function warningLines(text: string): string[] {
  const hidden = text.match(/⟨U\+[0-9A-F]+⟩/g)?.length ?? 0;
  const mixed = mixedWords(text).slice(0, 5);
  return [
    ...(hidden > 0 ? [`Caution: ${hidden} characters that cannot be seen are written out as ⟨U+…⟩.`] : []),
    ...(mixed.length > 0
      ? [`Caution: letters of two alphabets that look alike: ${mixed.map(spelled).join(", ")}.`]
      : []),
  ];
}

function spelled(word: string): string {
  const codes = [...word].filter((letter) => !/\p{Script=Latin}/u.test(letter)).slice(0, 4);
  const names = codes.map((letter) => `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`);
  return `${exactLine(word.slice(0, 60))} (${names.join(", ")})`;
}

function titleText(title: string): string {
  const line = exactLine(title.slice(0, MOST_OF_A_TITLE));
  const more = title.length - MOST_OF_A_TITLE;
  return `“${line}”${more > 0 ? ` (cut: ${more} more characters)` : ""}`;
}

/** Texts of others within bounds. What is left out is counted, on a line of ours: it has no bar. */
class Parts {
  readonly #isWhole: boolean;
  #left: number;

  constructor(most: number) {
    this.#isWhole = most === Number.POSITIVE_INFINITY;
    this.#left = most;
  }

  /** The beginning and the end, where there is more. */
  quoted(text: string): string[] {
    const exact = exactLines(text);
    const room = Math.min(this.#left, Math.max(MOST_OF_A_PART, this.#left / 2));
    if (exact.length <= room) {
      this.#left -= exact.length;
      return barred(exact);
    }
    const [head, tail] = [Math.floor(room * 0.6), Math.floor(room * 0.4)];
    this.#left -= head + tail;
    const missing = `⋯ ${exact.length - head - tail} of ${exact.length} characters are not shown here`;
    const end = tail > 0 ? barred(exact.slice(-tail)) : [];
    return [...(head > 0 ? barred(exact.slice(0, head)) : []), missing, ...end];
  }

  line(text: string): string {
    const most = this.#isWhole ? text.length : MOST_OF_A_LINE;
    const line = exactLine(text.slice(0, most).toWellFormed());
    return text.length > most ? `${line}… (${text.length - most} more characters)` : line;
  }

  /** Of many things the first. */
  first<T>(all: readonly T[], what: string, lines: (each: T) => string[]): string[] {
    const most = this.#isWhole ? all.length : MOST_OF_A_KIND;
    const more = all.length > most ? [`⋯ and ${all.length - most} more ${what} that are not shown here`] : [];
    return [...all.slice(0, most).flatMap(lines), ...more];
  }
}

function barred(text: string): string[] {
  return text
    .toWellFormed()
    .split("\n")
    .map((line) => `│ ${line}`);
}
