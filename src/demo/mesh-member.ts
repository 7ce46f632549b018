import { type Conversation, type Exchange, madeTo } from "./conversation.ts";
import { codeCell, counted, grouped, size } from "./markdown.ts";
import { act, listFiles, type Move, readFile } from "./move.ts";
import { kindOf } from "./survey.ts";
import { type FolderText, type ListedEntry, readListing, readText } from "./tool-text.ts";

const REPORT = "output/files.md";

/**
 * What the demo does in a mesh: the first agent counts the project's files and writes `files.md`; an agent that gets a
 * task from another reads that file and reports it. It answers a question by saying what it is.
 */
export function meshMove(conversation: Conversation): Move {
  const question = questionIn(conversation);
  if (question) return act("I answer.", { name: "tx_send", args: question });
  return isHandoff(conversation) ? readerMove(conversation) : counterMove(conversation);
}

function counterMove(conversation: Conversation): Move {
  const list = lastOf("list_files", conversation);
  if (!list) return act("I look at what is there.", listFiles("project"));
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

/** As models are told it: "[tx] Question NAME from WHO: … (Answer: tx_send to WHO with answers ID. …". */
function questionIn({ news }: Conversation): Record<string, unknown> | undefined {
  for (const { content } of news) {
    const [, to, answers] =
      /^\[tx\] Question \S+ from (?:\S+):\n[\s\S]*\n\(Answer: tx_send to (\S+) with answers (\S+)\. /.exec(content) ??
      [];
    if (to && answers)
      return {
        to,
        answers,
        text: "I am demo/surveyor: rules, no language model. I count files and cannot say more.",
      };
  }
  return undefined;
}

function lastOf(tool: string, conversation: Conversation): Exchange | undefined {
  return madeTo(tool, conversation).at(-1);
}

function tallyOf({ entries, cut }: FolderText): { words: string; table: string } {
  const files = entries.filter(({ kind }) => kind === "file");
  const bytes = (some: readonly ListedEntry[]) => size(some.reduce((sum, file) => sum + file.bytes, 0));
  const kinds = Object.entries(Object.groupBy(files, ({ path }) => kindOf(path).name)).sort(
    ([a, some = []], [b, others = []]) => others.length - some.length || (a < b ? -1 : 1),
  );
  const words = `${cut ? "at least " : ""}${counted(files.length, "file")} of ${counted(kinds.length, "kind")}, ${bytes(files)}`;
  const rows = kinds.map(([kind, some = []]) => `| ${codeCell(kind)} | ${grouped(some.length)} | ${bytes(some)} |`);
  const head = `# Files of the project\n\nCounted by demo/surveyor (no language model): ${words}.\n`;
  return { words, table: `${head}\n| kind | files | size |\n|---|---:|---:|\n${rows.join("\n")}\n` };
}
