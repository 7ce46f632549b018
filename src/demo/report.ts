import { code, codeCell, counted, enumeration, escaped, grouped, shown, size, some } from "./markdown.ts";
import { type FileNote, kindOf, type ReadNote, SURVEYOR, type Survey } from "./survey.ts";

const MOST_IN_A_LIST = 20;
const MOST_ROWS = 200;

/** The survey for people to read. Everything in it was counted in the files or quoted from them. */
export function reportOf(survey: Survey): string {
  const odd = worthALook(survey);
  return `${[
    `# Survey of ${escaped(survey.subject)}`,
    `*made by ${SURVEYOR}, no language model: all of this was counted in the files or quoted from them.*`,
    ...survey.remarks.map((remark) => `**Note:** ${remark}`),
    `## In short\n\n${bullets(inShort(survey))}`,
    ...(odd.length > 0 ? [`## Worth a look\n\n${bullets(odd)}`] : []),
    ...fileTable(survey.notes),
    ...fileList(readIn(survey)),
  ].join("\n\n")}\n`;
}

/** The main findings, also for summaries: how much there is, of which kinds, what is longest and what is unusual. */
export function inShort(survey: Survey): string[] {
  const { notes } = survey;
  if (notes.length === 0) return ["There are no files in it."];
  const read = readIn(survey);
  const total = (figure: (note: ReadNote) => number) => read.reduce((sum, note) => sum + figure(note), 0);
  const folders = new Set(notes.map(({ path }) => path.slice(0, path.lastIndexOf("/")))).size;
  const bytes = notes.reduce((sum, note) => sum + note.bytes, 0);
  const kinds = Object.entries(Object.groupBy(notes, ({ path }) => kindOf(path).name))
    .map(([name, files = []]) => ({ name, files: files.length }))
    .sort((a, b) => b.files - a.files || (a.name < b.name ? -1 : 1))
    .map(({ name, files }) => `${name} (${grouped(files)})`);
  const longest = read
    .toSorted((a, b) => b.words - a.words || (a.path < b.path ? -1 : 1))
    .slice(0, 3)
    .map(({ path, title, words }) => `${code(shown(path))} (“${escaped(title)}”, ${counted(words, "word")})`);
  const { broken, empty, copies, refused, todos } = oddities(survey);
  const odd = [
    [broken.length, "broken link"],
    [empty.length, "empty file"],
    [copies.length, "set of identical files", "sets of identical files"],
    [refused.length, "file that could not be read", "files that could not be read"],
    [todos.reduce((sum, note) => sum + note.todos, 0), "TODO mark"],
  ] as const;
  const found = odd.flatMap(([number, one, many]) => (number > 0 ? [counted(number, one, many)] : []));
  return [
    `${counted(notes.length, "file")} in ${counted(folders, "folder")}, ${size(bytes)}; ${read.length === notes.length ? "all" : grouped(read.length)} read, with ${counted(
      total((note) => note.lines),
      "line",
    )} and ${counted(
      total((note) => note.words),
      "word",
    )}.`,
    `${kinds.length > 1 ? "Kinds" : "Kind"}: ${some(kinds, 6)}.`,
    ...(longest.length > 0 ? [`The longest texts: ${enumeration(longest)}.`] : []),
    found.length > 0 ? `Worth a look: ${enumeration(found)}.` : "Nothing odd was found.",
  ];
}

function oddities(survey: Survey) {
  const read = readIn(survey);
  const same = Map.groupBy(
    read.filter(({ whole }) => whole),
    ({ fingerprint, bytes }) => `${fingerprint} ${bytes}`,
  );
  return {
    broken: read.flatMap(({ path, broken }) => broken.map((target) => ({ path, target }))),
    empty: survey.notes.filter(({ state }) => state === "empty"),
    binary: survey.notes.filter(({ state }) => state === "binary"),
    refused: survey.notes.filter((note) => note.state === "refused"),
    copies: [...same.values()].filter((notes) => notes.length > 1),
    todos: read.filter(({ todos }) => todos > 0),
    partly: read.filter(({ whole }) => !whole),
  };
}

function worthALook(survey: Survey): string[] {
  const { broken, empty, binary, refused, copies, todos, partly } = oddities(survey);
  const name = ({ path }: { path: string }) => code(shown(path));
  const named = (words: string, notes: readonly { path: string }[]) =>
    notes.length > 0 ? [`${words}: ${some(notes.map(name), MOST_IN_A_LIST)}.`] : [];
  return [
    ...capped(broken.map((link) => `Broken link in ${name(link)}: ${code(link.target)} is not there.`)),
    ...named("Empty", empty),
    ...capped(copies.map((notes) => `The same content: ${enumeration(notes.map(name))}.`)),
    ...capped(refused.map((note) => `Could not be read: ${name(note)}. ${escaped(note.why)}`)),
    ...capped(todos.map((note) => `${counted(note.todos, "TODO mark")} in ${name(note)}.`)),
    ...named("Not text, so not read", binary),
    ...named("Only the first part was read", partly),
  ];
}

function capped(lines: string[]): string[] {
  const rest = lines.length - MOST_IN_A_LIST;
  return rest > 0 ? [...lines.slice(0, MOST_IN_A_LIST), `… and ${grouped(rest)} more of these.`] : lines;
}

function fileTable(notes: readonly FileNote[]): string[] {
  if (notes.length === 0) return [];
  const rows = notes.slice(0, MOST_ROWS).map((note) => {
    const figures =
      note.state === "read"
        ? `${grouped(note.lines)} | ${grouped(note.words)}${note.whole ? "" : "+"}`
        : `| ${{ empty: "empty", binary: "not text", refused: "refused" }[note.state]}`;
    return `| ${codeCell(shown(note.path))} | ${kindOf(note.path).name} | ${size(note.bytes)} | ${figures} |`;
  });
  return [`## The files\n\n| file | kind | size | lines | words |\n|---|---|---:|---:|---:|\n${rows.join("\n")}`];
}

function fileList(read: readonly ReadNote[]): string[] {
  if (read.length === 0) return [];
  const lines = read.map(({ path, title, quote }) => {
    return `${code(shown(path))} — ${escaped(title)}${quote ? `: “${escaped(quote)}”` : ""}`;
  });
  return [`## File by file\n\n${bullets(lines)}`];
}

function readIn({ notes }: Survey): ReadNote[] {
  return notes.filter((note) => note.state === "read");
}

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}
