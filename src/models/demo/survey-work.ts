import { type Conversation, madeTo } from "./conversation.ts";
import { kindOf } from "./file-kind.ts";
import { type FileNote, noteOf } from "./file-note.ts";
import { code, count, grouped, plain, shown } from "./markdown.ts";
import { act, listFiles, type Move, type PlannedCall, readFile } from "./move.ts";
import type { SurveyOrder } from "./order.ts";
import { folderAt } from "./scout.ts";
import { type Place, SURVEYOR, type Survey, worthReading } from "./survey.ts";
import { type ListedEntry, readText } from "./tool-text.ts";

/** How many lines of a file are read: enough to know it, not all of a log. */
const LINES_READ = 800;
const LISTINGS_A_TURN = 5;
/** A few at a time, so that whoever looks on sees the work go on. */
const READS_A_TURN = 4;

export type Surveyed = { kind: "working"; move: Move } | { kind: "done"; survey: Survey };

/** Lists, then reads, a few files each turn; what was listed and read so far stands in the conversation. */
export function surveyStep(order: SurveyOrder, conversation: Conversation): Surveyed {
  const unlisted = order.places.filter((place) => !folderAt(conversation, place));
  if (unlisted.length > 0) return { kind: "working", move: listMove(unlisted, order) };
  const files = filesIn(order.places, conversation);
  const toRead = worthReading(files, order.atMost);
  const read = new Map(madeTo("read_file", conversation).map(({ args, result }) => [String(args.path), result]));
  const unread = toRead.filter(({ path }) => !read.has(path));
  if (unread.length > 0) return { kind: "working", move: readMove(unread, toRead.length, files.length) };
  const notes = files.map((file): FileNote => {
    const result = read.get(file.path);
    if (!result) return unreadNote(file);
    if (result.ok) return noteOf(file.path, file.bytes, readText(result.content));
    const isBinary = / it is not shown as text\.$/.test(result.content);
    const seen = { path: file.path, bytes: file.bytes };
    return isBinary ? { state: "binary", ...seen } : { state: "refused", ...seen, why: result.content };
  });
  return { kind: "done", survey: surveyOf(order, notes, conversation) };
}

function listMove(unlisted: readonly Place[], { subject }: SurveyOrder): Move {
  const calls = unlisted.slice(0, LISTINGS_A_TURN).map(({ path, reach }): PlannedCall => {
    return reach === "file"
      ? listFiles(path.slice(0, path.lastIndexOf("/")), false)
      : listFiles(path, reach === "deep");
  });
  const unique = new Map(calls.map((call) => [JSON.stringify(call.args), call]));
  return act(`I survey ${plain(subject)}: first the list of files.`, ...unique.values());
}

function readMove(unread: readonly ListedEntry[], toRead: number, files: number): Move {
  const now = unread.slice(0, READS_A_TURN);
  const done = toRead - unread.length;
  const of = `${grouped(done + now.length)} of ${count(toRead, "file")}${files > toRead ? ` (${grouped(files)} are there)` : ""}`;
  const names = now.map(({ path }) => code(shown(path))).join(", ");
  return act(`Reading ${of}: ${names}.`, ...now.map(({ path }) => readFile(path, { limit: LINES_READ })));
}

/** What lies in these places, each file once, in the order of their paths. */
function filesIn(places: readonly Place[], conversation: Conversation): ListedEntry[] {
  const entries = places.flatMap((place) => entriesIn(place, conversation)).filter(({ kind }) => kind === "file");
  return [...new Map(entries.map((entry) => [entry.path, entry])).values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function entriesIn(place: Place, conversation: Conversation): ListedEntry[] {
  const entries = folderAt(conversation, place)?.folder?.entries ?? [];
  return place.reach === "file" ? entries.filter(({ path }) => path === place.path) : entries;
}

function unreadNote({ path, bytes }: ListedEntry): FileNote {
  const state = bytes === 0 ? "empty" : kindOf(path).family === "binary" ? "binary" : "skipped";
  return { state, path, bytes };
}

function surveyOf({ subject, places, remarks }: SurveyOrder, notes: FileNote[], conversation: Conversation): Survey {
  const entries = places.flatMap((place) => entriesIn(place, conversation));
  const paths = (kind: ListedEntry["kind"]) => entries.flatMap((entry) => (entry.kind === kind ? [entry.path] : []));
  const folders = places.flatMap(({ path, reach }) => (reach === "file" ? [] : [path]));
  const refused = places.flatMap((place) => {
    const result = folderAt(conversation, place);
    return result && !result.folder ? [`${code(shown(place.path))} could not be listed: ${plain(result.content)}`] : [];
  });
  return {
    made_by: SURVEYOR,
    subject,
    places: [...places],
    folders: [...new Set([...folders, ...paths("folder")])].sort(),
    cut: places.filter((place) => folderAt(conversation, place)?.folder?.cut).map(({ path }) => path),
    others: [...new Set(paths("other"))].sort(),
    remarks: [...remarks, ...refused],
    notes,
  };
}
