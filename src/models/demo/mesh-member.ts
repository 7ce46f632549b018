import { type Conversation, type Exchange, madeTo } from "./conversation.ts";
import { codeCell, count, grouped, size } from "./markdown.ts";
import { act, listFiles, type Move, readFile } from "./move.ts";
import { type ListedEntry, readListing, readText } from "./tool-text.ts";

const REPORT = "output/files.md";
const MOST_KINDS = 12;

/**
 * What it does in a mesh: whoever comes first counts the project's files and writes `files.md`; whoever gets something
 * handed on reads that and says what stands there. A question is answered with what it is.
 */
export function meshMove(conversation: Conversation): Move {
  const question = questionIn(conversation);
  if (question) return act("I answer.", { name: "tx_send", args: question });
  return isHandoff(conversation) ? readerMove(conversation) : counterMove(conversation);
}

function counterMove(conversation: Conversation): Move {
  const list = lastOf("list_files", conversation);
  if (!list) return act("I look at what is there.", listFiles("project", true));
  if (!list.result.ok) return done(`I could not list the project: ${list.result.content}`, true);
  const { words, table } = tallyOf(readListing(list.result.content));
  const written = lastOf("write_file", conversation);
  if (!written)
    return act(`I counted, and write ${REPORT}.`, { name: "write_file", args: { path: REPORT, content: table } });
  if (!written.result.ok) return done(`I could not write ${REPORT}: ${written.result.content}`, true);
  return done(`I counted the project's files: ${words}. The table is in ${REPORT}.`);
}

function readerMove(conversation: Conversation): Move {
  const read = lastOf("read_file", conversation);
  if (!read) return act(`I read ${REPORT}.`, readFile(REPORT));
  if (!read.result.ok) return done(`I could not read ${REPORT}: ${read.result.content}`, true);
  const { text } = readText(read.result.content);
  return done(`I read ${REPORT}. It says: ${text.split("\n").find((line) => /^\w/.test(line)) ?? "nothing"}`);
}

function isHandoff({ heard: [first] }: Conversation): boolean {
  return /^# Handoff from /m.test(first?.content ?? "");
}

function done(summary: string, failed = false): Move {
  return act(summary, { name: "tx_done", args: { summary: `[demo] ${summary}`, ...(failed && { failed }) } });
}

/** As we tell it: "[tx] Question NAME from WHO: … (Answer: tx send WHO --answer ID …". */
function questionIn({ news }: Conversation): Record<string, unknown> | undefined {
  for (const { content } of news) {
    const [, to, answers] =
      /^\[tx\] Question \S+ from (?:\S+):\n[\s\S]*\n\(Answer: tx send (\S+) --answer (\S+) /.exec(content) ?? [];
    if (to && answers)
      return { to, answers, text: "I am demo/surveyor: rules, no language model. I count files and cannot say more." };
  }
  return undefined;
}

function lastOf(tool: string, conversation: Conversation): Exchange | undefined {
  return madeTo(tool, conversation).at(-1);
}

function tallyOf({ entries, cut }: { entries: readonly ListedEntry[]; cut: boolean }): {
  words: string;
  table: string;
} {
  const files = entries.filter(({ kind }) => kind === "file");
  const kinds = Object.entries(Object.groupBy(files, ({ path }) => /[^/](\.[^./]+)$/.exec(path)?.[1] ?? "(none)"))
    .map(([kind, some = []]) => ({ kind, files: some.length, bytes: sum(some) }))
    .toSorted((a, b) => b.files - a.files || (a.kind < b.kind ? -1 : 1));
  const words = `${cut ? "at least " : ""}${count(files.length, "file")} of ${count(kinds.length, "kind")}, ${size(sum(files))}`;
  const rows = kinds
    .slice(0, MOST_KINDS)
    .map((row) => `| ${codeCell(row.kind)} | ${grouped(row.files)} | ${size(row.bytes)} |`);
  const rest = kinds.length > MOST_KINDS ? `\n\nand ${count(kinds.length - MOST_KINDS, "kind")} more` : "";
  const head = `# Files of the project\n\nCounted by demo/surveyor (no language model): ${words}.\n`;
  return { words, table: `${head}\n| ending | files | size |\n|---|---:|---:|\n${rows.join("\n")}${rest}\n` };
}

function sum(files: readonly ListedEntry[]): number {
  return files.reduce((bytes, file) => bytes + file.bytes, 0);
}
