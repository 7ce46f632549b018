import { type Conversation, madeTo } from "./conversation.ts";
import { type Fate, fateOf } from "./created-work.ts";
import { findPlaces } from "./find-places.ts";
import { cannotDo, PARTLY, partlyDone, readGoal } from "./goal.ts";
import { counted, enumeration, escaped, grouped } from "./markdown.ts";
import { act, HOW_TO_GET_A_MODEL, type Move, type PlannedCall, readFile } from "./move.ts";
import { reportOf } from "./report.ts";
import { joinTask, type SurveyOrder, surveyTask } from "./survey-order.ts";
import { readText } from "./tool-text.ts";
import { summaryOf, surveyTurn, writeMove } from "./worker.ts";

/** With more files than this, the work is divided among workers. */
const SMALL = 12;
const MOST_PARTS = 3;

/** The coordinator's next step: look, hand out work, wait for news, read the report, finish. */
export function coordinatorMove(conversation: Conversation, tools: ReadonlySet<string>): Move {
  const goal = readGoal(conversation.task);
  if (!goal.isSurvey) throw cannotDo(conversation.task);
  const end: End = (words, result) => ending(words, conversation, tools, result);
  if (!tools.has("list_files") || !tools.has("read_file"))
    return end("I need list_files and read_file to survey anything, and this agent was created without them.");
  const looked = findPlaces(goal.places, conversation);
  if (looked.kind === "looking") return looked.move;
  if (looked.kind === "nothing") return end(`There is nothing that I could survey. ${looked.why}`);
  const order = { ...looked.order, remarks: [...partlyDone(goal), ...looked.order.remarks] };
  if (order.files.length === 0) {
    const remarks = order.remarks.map((remark) => ` ${remark}`).join("");
    return end(`There are no files in ${escaped(order.subject)}, so there is nothing to report.${remarks}`);
  }
  return tools.has("create_work_node") ? withTeam(order, conversation, end) : alone(order, conversation, tools, end);
}

type End = (words: string, result?: string) => Move;

function withTeam(order: SurveyOrder, conversation: Conversation, end: End): Move {
  const parts = partsOf(order).map((part) => ({ part, fate: fateOf(surveyTask(part), conversation) }));
  const work = parts.map(({ part, fate }) => ({ fate, call: surveyCall(part), what: part.subject }));
  const open = openMove(work, conversation);
  if (open) return open;
  const done = parts.flatMap(({ fate }) =>
    fate.kind === "made" && fate.ending?.kind === "completed" ? [fate.id] : [],
  );
  const failures = parts.flatMap(({ part, fate }) => failureOf(part.subject, fate));
  const [only] = done;
  if (!only) return end(`The survey did not come about. ${failures.join(" ")}`);
  if (parts.length === 1) return conclude(only, failures, conversation, end);
  const heard = [...order.remarks, ...failures];
  if (done.length === 1) return conclude(only, heard, conversation, end);

  const join = joinCall(order, done, failures);
  const fate = fateOf(String(join.args.task), conversation);
  const waiting = openMove([{ fate, call: join, what: `one report on ${order.subject}` }], conversation);
  if (waiting) return waiting;
  if (fate.kind === "made" && fate.ending?.kind === "completed") return conclude(fate.id, failures, conversation, end);
  return conclude(only, [...heard, ...failureOf("the joint report", fate), detailsIn(done)], conversation, end);
}

/** One part for a few files, up to three of about the same size for more. What concerns all of it is told once. */
function partsOf(order: SurveyOrder): SurveyOrder[] {
  const { subject, files } = order;
  if (files.length <= SMALL) return [order];
  return Array.from({ length: MOST_PARTS }, (_, at) => ({
    ...order,
    subject: `${subject}, part ${at + 1} of ${MOST_PARTS}`,
    files: files.slice((files.length * at) / MOST_PARTS, (files.length * (at + 1)) / MOST_PARTS),
    remarks: [],
  }));
}

function surveyCall(order: SurveyOrder): PlannedCall {
  return { name: "create_work_node", args: { task: surveyTask(order), deliverables: ["report.md", "survey.json"] } };
}

function joinCall(
  { subject, remarks }: SurveyOrder,
  done: readonly string[],
  failures: readonly string[],
): PlannedCall {
  const refs = Object.fromEntries(done.map((id, at) => [`part-${at + 1}`, `${id}/published/survey.json`]));
  const task = joinTask({ subject, refs: Object.keys(refs), remarks: [...remarks, ...failures, detailsIn(done)] });
  return { name: "create_work_node", args: { task, deliverables: ["report.md"], refs } };
}

function detailsIn(done: readonly string[]): string {
  return `The parts' own reports: ${enumeration(done.map(reportPath))}.`;
}

/** Puts on the board what is not there, and waits for what is; undefined when all of it has ended. */
function openMove(
  work: readonly { fate: Fate; call: PlannedCall; what: string }[],
  { news }: Conversation,
): Move | undefined {
  const checks = work.flatMap(({ fate }) => (fate.kind === "unclear" ? fate.calls : []));
  if (checks.length > 0) {
    const unique = new Map(checks.map((call) => [JSON.stringify(call), call]));
    return act("I was cut off while handing out work, and look at what is on the board.", ...unique.values());
  }
  const unmade = work.filter(({ fate }) => fate.kind === "unmade");
  if (unmade.length > 0) {
    const words = `I hand this to ${counted(unmade.length, "worker")}: ${enumeration(unmade.map(({ what }) => escaped(what)))}.`;
    return act(words, ...unmade.map(({ call }) => call));
  }
  const running = work.flatMap(({ fate }) => (fate.kind === "made" && !fate.ending ? [fate.id] : []));
  if (running.length === 0) return undefined;
  const done = work.length - running.length;
  const progress = news.length > 0 && done > 0 ? `${grouped(done)} of ${work.length} done. ` : "";
  return act(`${progress}I am waiting for ${enumeration(running)}.`);
}

function failureOf(subject: string, fate: Fate): string[] {
  if (fate.kind === "refused") return [`${escaped(subject)} was not begun: ${escaped(fate.why)}`];
  if (fate.kind === "made" && fate.ending?.kind === "failed")
    return [`${fate.id} (${escaped(subject)}) failed: ${escaped(fate.ending.why)}`];
  return [];
}

/** What the report says first is what the person should hear. */
function conclude(id: string, failures: readonly string[], conversation: Conversation, end: End): Move {
  const path = reportPath(id);
  const report = madeTo("read_file", conversation).findLast(({ args }) => args.path === path)?.result;
  if (!report) return act(`${id} is completed. I read its report.`, readFile(path, { limit: 80 }));
  const { text } = readText(report.content);
  const head = /^# (Survey of .+)$/m.exec(text)?.[1] ?? "Survey";
  const findings = /^## In short\n\n((?:- .*\n?)+)/m.exec(text)?.[1]?.trim();
  const remarks = [...text.matchAll(/^\*\*Note:\*\* (.+)$/gm)].flatMap(([, remark]) => remark ?? []);
  if (!report.ok || !findings)
    return end(`I could not read the report of ${id}: ${escaped(report.content.slice(0, 300))}`);
  // Without the empty line what follows a list would be part of its last point, as markdown has it.
  const said = [...new Set([...remarks, ...failures])];
  const partly = said.filter(isPartly);
  const others = said.filter((remark) => !isPartly(remark));
  const lines = [...partly, `${head}:`, findings, "", ...others, `The report: ${path}`];
  return end(lines.join("\n"), path);
}

/** Without a team the coordinator surveys by itself. */
function alone(order: SurveyOrder, conversation: Conversation, tools: ReadonlySet<string>, end: End): Move {
  const step = surveyTurn(order, conversation);
  if (step.kind === "working") return step.move;
  const path = "report.md";
  const files = new Map(tools.has("write_file") ? [[path, reportOf(step.survey)]] : []);
  const where = files.size > 0 ? `\n\nThe report: ${path}` : "";
  return writeMove(files, conversation) ?? end(`${summaryOf(step.survey)}${where}`, files.size > 0 ? path : undefined);
}

function ending(words: string, conversation: Conversation, tools: ReadonlySet<string>, result?: string): Move {
  const summary = `${words}\n\n${WHAT_IT_DID} ${HOW_TO_GET_A_MODEL}`;
  if (!tools.has("finish")) return act(summary);
  const last = conversation.exchanges.at(-1);
  const isRefused = last?.call.name === "finish" && !last.result.ok && conversation.news.length === 0;
  if (isRefused) return act(`I am done, but may not finish yet: ${last.result.content}`);
  return act("I end here.", { name: "finish", args: { summary, ...(result && { files: [result] }) } });
}

const WHAT_IT_DID =
  "This was demo/surveyor, the built-in demo without a language model: it can only count, list and quote files.";

function isPartly(remark: string): boolean {
  return remark.startsWith(PARTLY);
}

function reportPath(id: string): string {
  return `nodes/${id}/published/report.md`;
}
