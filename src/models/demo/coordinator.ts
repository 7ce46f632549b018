import { type Conversation, madeTo } from "./conversation.ts";
import { type Fate, fateOf } from "./created-work.ts";
import { readGoal } from "./goal.ts";
import { count, enumeration, grouped, plain } from "./markdown.ts";
import { act, type Move, type PlannedCall, readFile, say } from "./move.ts";
import { joinTask, type SurveyOrder, surveyTask } from "./order.ts";
import { MOST_READ, partsOf } from "./plan.ts";
import { cannotDo, HOW_TO_GET_A_MODEL } from "./refusal.ts";
import { reportOf } from "./report.ts";
import { type Scouted, scout } from "./scout.ts";
import { surveyStep } from "./survey-work.ts";
import { readText } from "./tool-text.ts";
import { orderFor, summaryOf, writeMove } from "./worker.ts";

/** What the coordinator does next: look, hand out, wait for the news, read the report, finish. */
export function coordinatorMove(conversation: Conversation, tools: ReadonlySet<string>): Move {
  const goal = readGoal(conversation.task);
  if (!goal.isSurvey) throw cannotDo(conversation.task);
  if (!tools.has("list_files") || !tools.has("read_file")) {
    return ending(
      "I need list_files and read_file to survey anything, and this agent was created without them.",
      conversation,
      tools,
    );
  }
  const scouted = scout(goal.places, conversation);
  if (scouted.kind === "looking") return scouted.move;
  if (scouted.kind === "nothing")
    return ending(`There is nothing that I could survey. ${scouted.why}`, conversation, tools);
  if (!scouted.sites.some(({ entries, cut }) => cut || entries.some(({ kind }) => kind === "file"))) {
    const remarks = scouted.remarks.map((remark) => ` ${remark}`).join("");
    return ending(
      `There are no files in ${plain(scouted.subject)}, so there is nothing to report.${remarks}`,
      conversation,
      tools,
    );
  }
  if (!tools.has("create_work_node")) return alone(scouted, conversation, tools);
  return withTeam(scouted, conversation, tools);
}

type Found = Extract<Scouted, { kind: "found" }>;

function withTeam(scouted: Found, conversation: Conversation, tools: ReadonlySet<string>): Move {
  const orders = ordersFor(scouted);
  const parts = orders.map((order) => ({ order, fate: fateOf(surveyTask(order), conversation) }));
  const open = openMove(
    parts.map(({ order, fate }) => ({ fate, call: surveyCall(order), what: order.subject })),
    conversation,
  );
  if (open) return open;
  const done = parts.flatMap(({ order, fate }) =>
    fate.kind === "made" && fate.ending?.kind === "completed" ? [{ order, id: fate.id }] : [],
  );
  const troubles = parts.flatMap(({ order, fate }) => troubleOf(order.subject, fate));
  const [only] = done;
  if (!only) return ending(`The survey did not come about. ${troubles.join(" ")}`, conversation, tools);
  if (done.length === 1) return conclude(only.id, troubles, conversation, tools);

  const join = joinCall(scouted, done, troubles);
  const fate = fateOf(String(join.args.task), conversation);
  const waiting = openMove([{ fate, call: join, what: `one report on ${scouted.subject}` }], conversation);
  if (waiting) return waiting;
  if (fate.kind === "made" && fate.ending?.kind === "completed")
    return conclude(fate.id, troubles, conversation, tools);
  const reports = `The parts' own reports are ${enumeration(done.map(({ id }) => reportPath(id)))}.`;
  return conclude(only.id, [...troubles, ...troubleOf("the joint report", fate), reports], conversation, tools);
}

function ordersFor({ subject, sites, remarks }: Found): SurveyOrder[] {
  const parts = partsOf(sites);
  const atMost = MOST_READ;
  if (parts.length === 1) return parts.map((places) => ({ subject, places, atMost, remarks }));
  return parts.map((places, at) => ({
    subject: `${subject}, part ${at + 1} of ${parts.length}`,
    places,
    atMost,
    remarks: [],
  }));
}

function surveyCall(order: SurveyOrder): PlannedCall {
  return { name: "create_work_node", args: { task: surveyTask(order), deliverables: ["report.md", "survey.json"] } };
}

function joinCall(
  { subject, sites, remarks }: Found,
  done: readonly { id: string }[],
  troubles: readonly string[],
): PlannedCall {
  const refs = Object.fromEntries(done.map(({ id }, at) => [`part-${at + 1}`, `${id}/published/survey.json`]));
  const details = `The details of each file are in the parts' own reports: ${enumeration(done.map(({ id }) => reportPath(id)))}.`;
  const places = troubles.length > 0 ? [] : sites.map(({ place }) => place);
  const task = joinTask({ subject, places, refs: Object.keys(refs), remarks: [...remarks, ...troubles, details] });
  return { name: "create_work_node", args: { task, deliverables: ["report.md"], refs } };
}

/** Puts on the board what is not there, and waits for what is; undefined when all of it has ended. */
function openMove(
  work: readonly { fate: Fate; call: PlannedCall; what: string }[],
  { news }: Conversation,
): Move | undefined {
  const checks = work.flatMap(({ fate }) => (fate.kind === "unclear" ? fate.calls : []));
  if (checks.length > 0)
    return act("I was cut off while handing out work, and look at what is on the board.", ...unique(checks));
  const unmade = work.filter(({ fate }) => fate.kind === "unmade");
  if (unmade.length > 0) {
    const whom = count(unmade.length, "worker");
    return act(
      `I hand this to ${whom}: ${enumeration(unmade.map(({ what }) => plain(what)))}.`,
      ...unmade.map(({ call }) => call),
    );
  }
  const running = work.flatMap(({ fate }) => (fate.kind === "made" && !fate.ending ? [fate.id] : []));
  if (running.length === 0) return undefined;
  const done = work.length - running.length;
  const progress = news.length > 0 && done > 0 ? `${grouped(done)} of ${work.length} done. ` : "";
  return say(`${progress}I wait for ${enumeration(running)}.`);
}

function unique(calls: readonly PlannedCall[]): PlannedCall[] {
  return [...new Map(calls.map((call) => [JSON.stringify(call), call])).values()];
}

function troubleOf(subject: string, fate: Fate): string[] {
  if (fate.kind === "refused") return [`${plain(subject)} was not begun: ${plain(fate.why)}`];
  if (fate.kind === "made" && fate.ending?.kind === "failed")
    return [`${fate.id} (${plain(subject)}) failed: ${plain(fate.ending.why)}`];
  return [];
}

/** What the report says first is what the person should hear. */
function conclude(
  id: string,
  troubles: readonly string[],
  conversation: Conversation,
  tools: ReadonlySet<string>,
): Move {
  const path = reportPath(id);
  const report = madeTo("read_file", conversation).findLast(({ args }) => args.path === path)?.result;
  if (!report) return act(`${id} is completed. I read its report.`, readFile(path, { limit: 80 }));
  const { text } = readText(report.content);
  const head = /^# (Survey of .+)$/m.exec(text)?.[1] ?? "Survey";
  const findings = /^## In short\n\n((?:- .*\n?)+)/m.exec(text)?.[1]?.trim().replaceAll("**", "");
  const remarks = [...text.matchAll(/^\*\*Note:\*\* (.+)$/gm)].flatMap(([, remark]) => remark ?? []);
  if (!report.ok || !findings)
    return ending(`I could not read the report of ${id}: ${plain(report.content.slice(0, 300))}`, conversation, tools);
  const notes = [...new Set([...remarks, ...troubles])];
  // Without the empty line what follows a list would be part of its last point, as markdown has it.
  return ending([`${head}:`, findings, "", ...notes, `The report: ${path}`].join("\n"), conversation, tools);
}

/** Without a team the coordinator surveys by itself. */
function alone(scouted: Found, conversation: Conversation, tools: ReadonlySet<string>): Move {
  const step = surveyStep(orderFor(scouted), conversation);
  if (step.kind === "working") return step.move;
  const path = "report.md";
  const files = new Map(tools.has("write_file") ? [[path, reportOf(step.survey, { detail: "full" })]] : []);
  const where = files.size > 0 ? `\n\nThe report: ${path}` : "";
  return writeMove(files, conversation) ?? ending(`${summaryOf(step.survey)}${where}`, conversation, tools);
}

function ending(words: string, conversation: Conversation, tools: ReadonlySet<string>): Move {
  const summary = `${words}\n\nThis was demo/surveyor, the built-in demo without a language model. ${HOW_TO_GET_A_MODEL}`;
  if (!tools.has("finish")) return say(summary);
  const last = conversation.exchanges.at(-1);
  const isRefused = last?.call.name === "finish" && !last.result.ok && conversation.news.length === 0;
  if (isRefused) return say(`I am done, but may not finish yet: ${last.result.content}`);
  return act("Done.", { name: "finish", args: { summary } });
}

function reportPath(id: string): string {
  return `nodes/${id}/published/report.md`;
}
