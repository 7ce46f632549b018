import { kindOf } from "./file-kind.ts";
import { type FileNote, type ReadNote, TERMS_KEPT } from "./file-note.ts";
import { type Findings, findingsOf } from "./findings.ts";
import { code, codeCell, count, enumeration, grouped, plain, shown, size, some } from "./markdown.ts";
import { isForeign, SURVEYOR, type Survey } from "./survey.ts";

/** The survey as a person reads it. Everything in it was counted in the files or quoted from them. */
export function reportOf(survey: Survey, { detail }: { detail: "full" | "brief" }): string {
  const findings = findingsOf(survey);
  return `${[
    `# Survey of ${plain(survey.subject)}`,
    `*made by ${SURVEYOR}, no language model: all of this was counted in the files or quoted from them.*`,
    ...survey.remarks.map((remark) => `**Note:** ${remark}`),
    `## In short\n\n${bullets(inShort(findings))}`,
    ...themes(findings),
    ...worthALook(survey, findings),
    ...fileTable(survey.notes),
    ...fileSections(findings.read, detail),
    ...leftOut(survey, findings),
  ].join("\n\n")}\n`;
}

/** The first findings, also for summaries: what it is, what it is about, what is odd. */
export function inShort(findings: Findings): string[] {
  const { files, folders, bytes, read, lines, words, biggest, partly } = findings;
  if (files === 0) return ["There are no files in it."];
  const [top, ...kinds] = findings.kinds.map(({ name, files }) => `${name} (${grouped(files)})`);
  const themes = findings.themes.slice(0, 6).map(({ term }) => `**${plain(term)}**`);
  const inPart = partly.length > 0 ? ` (${grouped(partly.length)} of them in part)` : "";
  const odd = oddities(findings);
  const longest = read
    .toSorted((a, b) => b.words - a.words || (a.path < b.path ? -1 : 1))
    .slice(0, 3)
    .map(({ path, title, words }) => `${code(shown(path))} (“${plain(title)}”, ${count(words, "word")})`);
  return [
    `${count(files, "file")} in ${count(folders, "folder")}, ${size(bytes)}; ${read.length === files ? "all" : grouped(read.length)} read${inPart}, with ${count(lines, "line")} and ${count(words, "word")}.`,
    `${kinds.length > 0 ? "Kinds" : "Kind"}: ${some([top ?? "", ...kinds], 6)}.`,
    ...(themes.length > 0 ? [`What it talks about most: ${enumeration(themes)}.`] : []),
    ...(longest.length > 0 ? [`The longest texts: ${enumeration(longest)}.`] : []),
    ...(biggest && biggest.state !== "read"
      ? [`The biggest file is ${code(shown(biggest.path))} (${size(biggest.bytes)}).`]
      : []),
    odd.length > 0 ? `Worth a look: ${enumeration(odd)}.` : "Nothing odd was found.",
  ];
}

function oddities({ broken, empty, copies, refused, todos }: Findings): string[] {
  const todo = todos.reduce((sum, { count }) => sum + count, 0);
  return [
    ...(broken.length > 0 ? [count(broken.length, "broken link")] : []),
    ...(empty.length > 0 ? [count(empty.length, "empty file")] : []),
    ...(copies.length > 0 ? [count(copies.length, "set of identical files", "sets of identical files")] : []),
    ...(refused.length > 0 ? [`${count(refused.length, "file")} that could not be read`] : []),
    ...(todo > 0 ? [count(todo, "TODO mark")] : []),
  ];
}

function themes({ themes, read }: Findings): string[] {
  if (themes.length === 0) return [];
  const rows = themes.map(
    ({ term, count, texts }) => `| ${plain(term)} | ${grouped(count)} | ${texts} of ${read.length} |`,
  );
  const how = `Words that many files use much, counted among the ${TERMS_KEPT} most frequent words of each.`;
  return [`## Themes\n\n${how}\n\n| word | times | in files |\n|---|---:|---:|\n${rows.join("\n")}`];
}

const MOST_IN_A_LIST = 20;

function worthALook({ others }: Survey, findings: Findings): string[] {
  const { broken, empty, copies, refused, todos, binary } = findings;
  const names = (notes: readonly { path: string }[]) =>
    some(
      notes.map(({ path }) => code(shown(path))),
      MOST_IN_A_LIST,
    );
  const lines = [
    ...capped(
      broken.map(({ from, target }) => `Broken link in ${code(shown(from))}: ${code(target)} is not there.`),
      "broken link",
    ),
    ...(empty.length > 0 ? [`Empty: ${names(empty)}.`] : []),
    ...capped(
      copies.map((paths) => `The same content: ${enumeration(paths.map((path) => code(shown(path))))}.`),
      "set of identical files",
    ),
    ...capped(
      refused.map(({ path, why }) => `Could not be read: ${code(shown(path))}. ${plain(why)}`),
      "file that could not be read",
    ),
    ...capped(
      todos.map(({ path, count: marks }) => `${count(marks, "TODO mark")} in ${code(shown(path))}.`),
      "file with TODO marks",
    ),
    ...(binary.length > 0 ? [`Not text, so not read: ${names(binary)}.`] : []),
    ...(others.length > 0
      ? [`Links and special files, not followed: ${names(others.map((path) => ({ path })))}.`]
      : []),
  ];
  return lines.length > 0 ? [`## Worth a look\n\n${bullets(lines)}`] : [];
}

function capped(lines: string[], what: string): string[] {
  const rest = lines.length - MOST_IN_A_LIST;
  return rest > 0 ? [...lines.slice(0, MOST_IN_A_LIST), `… and more (${what}: ${grouped(rest)} not shown).`] : lines;
}

const MOST_ROWS = 200;

function fileTable(notes: readonly FileNote[]): string[] {
  if (notes.length === 0) return [];
  const rows = notes.slice(0, MOST_ROWS).map((note) => {
    const read = note.state === "read";
    const figures = read
      ? `${grouped(note.lines)} | ${grouped(note.words)}${note.whole ? "" : "+"}`
      : `| ${STATE[note.state]}`;
    return `| ${codeCell(shown(note.path))} | ${kindOf(note.path).name} | ${size(note.bytes)} | ${figures} |`;
  });
  const rest = notes.length - MOST_ROWS;
  const note = rest > 0 ? `\n\n${count(rest, "more file is", "more files are")} not in this table.` : "";
  return [
    `## The files\n\n| file | kind | size | lines | words |\n|---|---|---:|---:|---:|\n${rows.join("\n")}${note}`,
  ];
}

const STATE = { empty: "empty", binary: "not text", skipped: "not read", refused: "refused" } as const;

function fileSections(read: readonly ReadNote[], detail: "full" | "brief"): string[] {
  if (read.length === 0) return [];
  if (detail === "full") return ["## File by file", ...read.map(section)];
  const lines = read.map(({ path, title, sentences }) => {
    const quote = sentences[0] ? `: “${plain(sentences[0])}”` : "";
    return `${code(shown(path))} — ${plain(title)}${quote}`;
  });
  return [`## File by file\n\n${bullets(lines)}`];
}

const MOST_KEY_WORDS = 8;

function section(note: ReadNote): string {
  const { path, title, bytes, lines, words, whole, languages, links, hosts, terms, sentences, outline, more } = note;
  const about = [
    size(bytes),
    count(lines, "line"),
    `${whole ? "" : "first part read: "}${count(words, "word")}`,
    ...(languages.length > 0 ? [`code in ${languages.join(", ")}`] : []),
    ...(links.length > 0 ? [count(links.length, "link to a file", "links to files")] : []),
    ...(hosts.length > 0 ? [`links to ${some(hosts.map(plain), 5)}`] : []),
  ];
  const names = outline.map(({ text }) => code(text)).join(", ");
  const rest = more > 0 ? ` … and ${grouped(more)} more` : "";
  const keyWords = Object.entries(terms)
    .filter(([, times]) => times > 1)
    .slice(0, MOST_KEY_WORDS)
    .map(([term, times]) => `${plain(term)} (${grouped(times)})`);
  const isProse = kindOf(path).family === "prose";
  const depth = Math.min(...outline.map(({ level }) => level));
  const tree = outline.map(({ level, text }) => `${"  ".repeat(level - depth)}- ${plain(text)}`).join("\n");
  return [
    `### ${code(shown(path))} — ${plain(title)}`,
    `${about.join(" · ")}`,
    ...sentences.map((sentence) => `> ${plain(sentence)}`),
    ...(keyWords.length > 0 ? [`Key words: ${keyWords.join(", ")}.`] : []),
    ...(isProse && outline.length > 1
      ? [`Outline:\n\n${tree}${more > 0 ? `\n- … and ${grouped(more)} more` : ""}`]
      : []),
    ...(!isProse && outline.length > 0
      ? [`${kindOf(path).family === "code" ? "Defines" : "Made of"}: ${names}${rest}.`]
      : []),
  ].join("\n\n");
}

function leftOut({ cut, folders }: Survey, { skipped, partly }: Findings): string[] {
  const foreign = folders.filter(isForeign).map((path) => code(shown(path)));
  const lines = [
    ...(foreign.length > 0 ? [`Dependencies were not opened: ${some(foreign, MOST_IN_A_LIST)}.`] : []),
    ...cut.map(
      (path) => `The list of ${code(shown(path))} was cut off: there are more files than the ones counted here.`,
    ),
    ...(skipped.length > 0
      ? [`${count(skipped.length, "file was", "files were")} listed and not read, for want of room.`]
      : []),
    ...(partly.length > 0
      ? [
          `Only the first part was read of ${some(
            partly.map(({ path }) => code(shown(path))),
            MOST_IN_A_LIST,
          )}.`,
        ]
      : []),
  ];
  return lines.length > 0 ? [`## What was left out\n\n${bullets(lines)}`] : [];
}

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}
