import { ScopeRefusal } from "../store/scope/scope-refusal.ts";
import { type Mark, markBehind, marked, withoutMark } from "./marks.ts";

/**
 * The text with old words replaced by new ones. If the old ones ended their line, the new ones are marked with the day;
 * otherwise the mark at the end of the line, if there is one, gets the new day.
 */
export function superseded(old: string, content: string, mark: Mark | undefined, text: string, file: string): string {
  const at = onlyPlaceOf(old, text, file);
  const end = at + old.length;
  const lineEnd = text.indexOf("\n", end) < 0 ? text.length : text.indexOf("\n", end);
  const rest = text.slice(end, lineEnd);
  const told = (words: string) => (mark ? marked(words, mark) : words);
  if (withoutMark(rest).trim() === "") return `${text.slice(0, at)}${told(content)}${text.slice(lineEnd)}`;
  const kept = withoutMark(rest) === rest ? rest : told(withoutMark(rest));
  return `${text.slice(0, at)}${content}${kept}${text.slice(lineEnd)}`;
}

/** The position of these words, which must occur exactly once. */
function onlyPlaceOf(words: string, text: string, file: string): number {
  if (text === "")
    throw new ScopeRefusal("invalid", `There is nothing in ${file}. memory_read lists the files there are.`);
  const at = words === "" ? -1 : text.indexOf(words);
  if (at < 0)
    throw new ScopeRefusal(
      "invalid",
      `${file} does not say that. Give the words exactly as they stand there (memory_read).`,
    );
  if (text.indexOf(words, at + 1) >= 0)
    throw new ScopeRefusal(
      "invalid",
      `These words stand in ${file} more than once. Give more of them, so that one place is meant.`,
    );
  return at;
}

/** Removes text: a heading means its whole section, a whole line means the line, anything else only itself. */
export function without(what: string, text: string, file: string): string {
  const at = onlyPlaceOf(what, text, file);
  const end = at + what.length + markBehind(text, at + what.length);
  const isWholeLine = /(^|\n)[ \t]*$/.test(text.slice(0, at)) && /^[ \t]*(\n|$)/.test(text.slice(end));
  if (!isWholeLine) return withoutWords(text, at, end);
  const level = /^(#{1,6})\s[^\n]*$/.exec(what)?.[1]?.length;
  const next = level === undefined ? null : new RegExp(`^#{1,${level}}\\s`, "m").exec(text.slice(end));
  const to = level === undefined ? end : next ? end + next.index : text.length;
  return `${text.slice(0, at).trimEnd()}\n\n${text.slice(to).trimStart()}`;
}

/** Part of a line: the rest of it stays one line, and goes too where only its mark is left. */
function withoutWords(text: string, from: number, to: number): string {
  const lineStart = text.lastIndexOf("\n", from - 1) + 1;
  const lineEnd = text.indexOf("\n", to) < 0 ? text.length : text.indexOf("\n", to);
  const rest = `${text.slice(lineStart, from).trimEnd()} ${text.slice(to, lineEnd).trimStart()}`.replace(
    / (?=[.,;:!?])/g,
    "",
  );
  const isOnlyMark = /^(?:[-*+]|\d+[.)]|#{1,6}|>)?\s*[.,;:!?]?$/.test(rest.trim());
  return isOnlyMark
    ? text.slice(0, lineStart) + text.slice(Math.min(text.length, lineEnd + 1))
    : text.slice(0, lineStart) + rest.trimEnd() + text.slice(lineEnd);
}
