import { type Conversation, madeTo } from "./conversation.ts";
import { findingsOf } from "./findings.ts";
import { readGoal } from "./goal.ts";
import { joinStep } from "./join-work.ts";
import { act, type Move, type PlannedCall, say } from "./move.ts";
import { readJoinTask, readSurveyTask, type SurveyOrder } from "./order.ts";
import { MOST_READ } from "./plan.ts";
import { cannotDo } from "./refusal.ts";
import { inShort, reportOf } from "./report.ts";
import { scout } from "./scout.ts";
import { SURVEYOR, type Survey, surveyText } from "./survey.ts";
import { type Surveyed, surveyStep } from "./survey-work.ts";

const REPORT = "scratch/report.md";
const DATA = "scratch/survey.json";
const TRIES = 3;

/** What a worker does next: survey, or join what others surveyed; then write it down and publish. */
export function workerMove(conversation: Conversation): Move {
  const join = readJoinTask(conversation.task);
  const step = join ? joinStep(join, conversation) : surveyOfTask(conversation);
  if (step.kind === "working") return step.move;
  const { survey } = step;
  const report = reportOf(survey, { detail: join ? "brief" : "full" });
  const files = new Map([[REPORT, report], ...(join ? [] : [[DATA, surveyText(survey)] as const])]);
  // Somebody else's spec may want other files; the refusal names them.
  for (const path of wantedFiles(conversation)) files.set(path, path.endsWith(".json") ? surveyText(survey) : report);
  return writeMove(files, conversation) ?? publishMove(survey, conversation);
}

function surveyOfTask(conversation: Conversation): Surveyed {
  const order = readSurveyTask(conversation.task);
  if (order) return surveyStep(order, conversation);
  const goal = readGoal(conversation.task);
  if (!goal.isSurvey) throw cannotDo(conversation.task);
  const scouted = scout(goal.places, conversation);
  if (scouted.kind === "looking") return { kind: "working", move: scouted.move };
  return surveyStep(orderFor(scouted), conversation);
}

/** From a task that was not written by our coordinator, or a goal that is surveyed without a team. */
export function orderFor(
  scouted: Exclude<ReturnType<typeof scout>, { kind: "looking" }>,
  atMost = MOST_READ,
): SurveyOrder {
  if (scouted.kind === "nothing")
    return { subject: "the project", places: [], atMost, remarks: [`There is nothing to read. ${scouted.why}`] };
  return {
    subject: scouted.subject,
    places: scouted.sites.map(({ place }) => place),
    atMost,
    remarks: scouted.remarks,
  };
}

/** Writes what is not written yet; undefined when all of it is. */
export function writeMove(files: ReadonlyMap<string, string>, conversation: Conversation): Move | undefined {
  const calls: PlannedCall[] = [];
  for (const [path, content] of files) {
    const tries = madeTo("write_file", conversation).filter(({ args }) => args.path === path);
    const last = tries.at(-1);
    if (last?.result.ok) continue;
    if (last && tries.length >= TRIES) return say(`I could not write ${path}: ${last.result.content}`);
    calls.push({ name: "write_file", args: { path, content } });
  }
  if (calls.length === 0) return undefined;
  return act(`Everything is read. I write ${calls.map(({ args }) => args.path).join(" and ")}.`, ...calls);
}

export function summaryOf(survey: Survey): string {
  return `Survey of ${survey.subject} by ${SURVEYOR} (no language model). ${inShort(findingsOf(survey)).join(" ").replaceAll("**", "")}`;
}

function publishMove(survey: Survey, conversation: Conversation): Move {
  const tries = madeTo("publish", conversation);
  const last = tries.at(-1);
  if (last && tries.length >= TRIES) return say(`I could not publish the survey: ${last.result.content}`);
  return act("The survey is done; I publish it.", { name: "publish", args: { summary: summaryOf(survey) } });
}

function wantedFiles(conversation: Conversation): string[] {
  return madeTo("publish", conversation).flatMap(({ result }) => {
    const list = /asks for (.+?), which (?:is|are) not there/.exec(result.content)?.[1] ?? "";
    return list.split(", ").filter((path) => path.startsWith("scratch/"));
  });
}
