import { type Conversation, type Exchange, madeTo } from "./conversation.ts";
import { noteOf } from "./file-note.ts";
import { findPlaces, listingIn } from "./find-places.ts";
import { cannotDo, PARTLY, partlyDone, readGoal } from "./goal.ts";
import { code, counted, enumeration, escaped, grouped, shown } from "./markdown.ts";
import { act, listFiles, type Move, type PlannedCall, readFile } from "./move.ts";
import { inShort, reportOf } from "./report.ts";
import { type FileNote, joinSurveys, kindOf, parseSurvey, SURVEYOR, type Survey, surveyText } from "./survey.ts";
import { type JoinOrder, readJoinTask, readSurveyTask, type SurveyOrder } from "./survey-order.ts";
import { type ListedEntry, readText } from "./tool-text.ts";

const REPORT = "scratch/report.md";
const DATA = "scratch/survey.json";
const TRIES = 3;
/** How many lines of a file are read: enough to know it, not all of a log. */
const LINES_READ = 800;
/** A few at a time, so that a person who watches sees the work go on. */
const READS_A_TURN = 4;

export type Surveyed = { kind: "working"; move: Move } | { kind: "done"; survey: Survey };

/** The worker's next step: survey files, or merge what others surveyed; then write it down and publish. */
export function workerMove(conversation: Conversation): Move {
  const join = readJoinTask(conversation.task);
  const step = join ? joinStep(join, conversation) : surveyOfTask(conversation);
  if (step.kind === "working") return step.move;
  const { survey } = step;
  const report = reportOf(survey);
  const files = new Map([[REPORT, report], ...(join ? [] : [[DATA, surveyText(survey)] as const])]);
  // Somebody else's task may want other files; the refusal names them.
  for (const path of wantedFiles(conversation)) files.set(path, path.endsWith(".json") ? surveyText(survey) : report);
  return writeMove(files, conversation) ?? publishMove(survey, conversation);
}

function surveyOfTask(conversation: Conversation): Surveyed {
  const order = readSurveyTask(conversation.task);
  if (order) return surveyTurn(order, conversation);
  // Behind the task stands what has to be delivered, and what it builds on.
  const goal = readGoal(conversation.task.replace(/\n## [\s\S]*/, ""));
  if (!goal.isSurvey) throw cannotDo(conversation.task);
  const looked = findPlaces(goal.places, conversation);
  if (looked.kind === "looking") return { kind: "working", move: looked.move };
  const partly = partlyDone(goal);
  if (looked.kind === "found") {
    const remarks = [...partly, ...looked.order.remarks];
    return surveyTurn({ ...looked.order, remarks }, conversation);
  }
  const remarks = [...partly, `There is nothing to read. ${looked.why}`];
  return surveyTurn({ subject: "the project", folders: [], files: [], remarks }, conversation);
}

/** Lists, then reads, a few files per turn; the conversation holds what was listed and read so far. */
export function surveyTurn({ subject, folders, files, remarks }: SurveyOrder, conversation: Conversation): Surveyed {
  const unlisted = folders.filter((path) => !listingIn(path, conversation));
  if (unlisted.length > 0) {
    const words = `I survey ${escaped(subject)}: first the list of files.`;
    return { kind: "working", move: act(words, ...unlisted.map((path) => listFiles(path))) };
  }
  const toRead = files.filter(({ path, bytes }) => bytes > 0 && kindOf(path).family !== "binary");
  const read = new Map(madeTo("read_file", conversation).map(({ args, result }) => [String(args.path), result]));
  const unread = toRead.filter(({ path }) => !read.has(path));
  if (unread.length > 0) return { kind: "working", move: readMove(unread, toRead.length) };
  const isThere = presence(folders, conversation);
  const notes = files.map((file): FileNote => {
    const { path, bytes } = file;
    const result = read.get(path);
    if (!result) return { state: bytes === 0 ? "empty" : "binary", path, bytes };
    if (result.ok) return noteOf(file, readText(result.content), isThere);
    if (/ it is not shown as text\.$/.test(result.content)) return { state: "binary", path, bytes };
    return { state: "refused", path, bytes, why: result.content };
  });
  return { kind: "done", survey: { made_by: SURVEYOR, subject, remarks: [...remarks], notes } };
}

function readMove(unread: readonly ListedEntry[], all: number): Move {
  const now = unread.slice(0, READS_A_TURN);
  const names = now.map(({ path }) => code(shown(path))).join(", ");
  const words = `Reading ${grouped(all - unread.length + now.length)} of ${counted(all, "file")}: ${names}.`;
  return act(words, ...now.map(({ path }) => readFile(path, { limit: LINES_READ })));
}

/** Whether a path is there, for those inside folders that were listed to their end. Links often leave out the ending. */
function presence(folders: readonly string[], conversation: Conversation): (path: string) => boolean | undefined {
  const whole = folders.flatMap((path) => {
    const folder = listingIn(path, conversation)?.folder;
    return folder && !folder.cut ? [{ path, entries: folder.entries }] : [];
  });
  const there = new Set(whole.flatMap(({ path, entries }) => [path, ...entries.map((entry) => entry.path)]));
  return (path) => {
    const isJudged = whole.some((folder) => path.startsWith(`${folder.path}/`)) && !/\/(?:\.|node_modules)/.test(path);
    if (!isJudged) return undefined;
    return ["", ".md", ".html", "/README.md", "/index.md"].some((ending) => there.has(`${path}${ending}`));
  };
}

/** Reads the surveys of the parts, page by page, and makes one of them. */
function joinStep({ subject, refs, remarks }: JoinOrder, conversation: Conversation): Surveyed {
  const readings = refs.map((ref) => ({ ref, ...reading(ref, conversation) }));
  const next = readings.flatMap(({ call }) => call ?? []);
  if (next.length > 0)
    return { kind: "working", move: act(`I read the surveys of the parts of ${escaped(subject)}.`, ...next) };
  const parts = readings.map(({ ref, text = "" }) => ({ ref, survey: parseSurvey(text) }));
  const lost = parts
    .filter(({ survey }) => !survey)
    .map(({ ref }) => `The survey ${ref} could not be read and is missing here.`);
  return {
    kind: "done",
    survey: joinSurveys(
      subject,
      parts.flatMap(({ survey }) => survey ?? []),
      [...remarks, ...lost],
    ),
  };
}

/** The text of a ref, or the call that reads its next page. */
function reading(ref: string, conversation: Conversation): { call?: PlannedCall; text?: string } {
  let page: Exchange | undefined = madeTo("read_ref", conversation).findLast(({ args }) => args.ref_name === ref);
  if (!page) return { call: { name: "read_ref", args: { ref_name: ref } } };
  for (const pages: string[] = []; ; ) {
    if (!page.result.ok) return {};
    const { text, next } = readText(page.result.content);
    pages.push(text);
    if (!next) return { text: pages.join("\n") };
    const { path, offset } = next;
    page = madeTo("read_file", conversation).findLast(({ args }) => args.path === path && args.offset === offset);
    if (!page) return { call: readFile(path, { offset }) };
  }
}

/** Writes what is not written yet; undefined if everything is. */
export function writeMove(files: ReadonlyMap<string, string>, conversation: Conversation): Move | undefined {
  const calls: PlannedCall[] = [];
  for (const [path, content] of files) {
    const tries = madeTo("write_file", conversation).filter(({ args }) => args.path === path);
    const last = tries.at(-1);
    if (last?.result.ok) continue;
    if (last && tries.length >= TRIES) return act(`I could not write ${path}: ${last.result.content}`);
    calls.push({ name: "write_file", args: { path, content } });
  }
  if (calls.length === 0) return undefined;
  return act(`Everything is read. I write ${enumeration(calls.map(({ args }) => String(args.path)))}.`, ...calls);
}

export function summaryOf(survey: Survey): string {
  const partly = survey.remarks.filter((remark) => remark.startsWith(PARTLY)).map((remark) => `${remark} `);
  return `${partly.join("")}Survey of ${survey.subject} by ${SURVEYOR} (no language model). ${inShort(survey).join(" ")}`;
}

function publishMove(survey: Survey, conversation: Conversation): Move {
  const tries = madeTo("publish", conversation);
  const last = tries.at(-1);
  if (last && tries.length >= TRIES) return act(`I could not publish the survey: ${last.result.content}`);
  return act("The survey is done; I publish it.", { name: "publish", args: { summary: summaryOf(survey) } });
}

function wantedFiles(conversation: Conversation): string[] {
  return madeTo("publish", conversation).flatMap(({ result }) => {
    const list = /asks for (.+?), which (?:is|are) not there/.exec(result.content)?.[1] ?? "";
    return list.split(", ").filter((path) => path.startsWith("scratch/"));
  });
}
