import type { Question, Situation } from "../../projections/index.ts";
import { HUMAN } from "../../protocol/index.ts";
import { visible, visibleLines } from "../../protocol/visible.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { timestamp } from "./format.ts";
import { displayName } from "./names.ts";
import { plain, plainLines } from "./width.ts";

type ShownQuestion = Pick<Question, "text" | "choices" | "deadline_ts" | "default">;

/** The verb for asking: a request for permission is told apart from a question that only looks like one. */
export function asksFor({ permission }: Pick<Question, "permission">): string {
  return permission ? "asks for permission" : "asks";
}

/** Who asks. Whether a mesh is trusted, and whether the person's own node is done, is asked by us. */
export function askerName(name: (id: string) => string, question: Pick<Question, "worker_id" | "mesh_trust">): string {
  return question.mesh_trust || question.worker_id === HUMAN ? "Agiraph" : name(question.worker_id);
}

/** A question for people to read: the text, the choices, the deadline. */
export function questionText({ text, choices = [], ...asked }: ShownQuestion): string[] {
  return [
    // Written out, not taken out: what is hidden may be what the question is about.
    ...plainLines(visibleLines(text)).filter((line) => line.trim() !== ""),
    ...choices.map((choice, at) => `  ${at + 1}  ${plain(visible(choice))}`),
    ...deadlineText(asked),
  ];
}

function deadlineText({ deadline_ts, default: fallback }: Pick<ShownQuestion, "deadline_ts" | "default">): string[] {
  if (deadline_ts === undefined) return [];
  const then = fallback === undefined ? "then they decide themselves" : `then: ${plain(fallback)}`;
  return [`  until ${timestamp(deadline_ts)}, ${then}`];
}

/** In the order in which they were asked. */
export function openQuestions({ questions }: Pick<Situation, "questions">): Question[] {
  return Object.values(questions.open);
}

/** The command that answers it from any terminal. */
function answerCommand(
  call: Invocation,
  { agent, questions }: Situation,
  { id, permission }: Pick<Question, "id" | "permission">,
): string {
  const isOnly = Object.keys(questions.open).length === 1 && !permission;
  return commandLine(call, "answer", agent.id, "your answer", ...(isOnly ? [] : ["--question", id]));
}

/** Every open question with its asker and the command that answers it. */
export function waitingLines(call: Invocation, now: Situation): string[] {
  return openQuestions(now).flatMap((question) => [
    `${askerName((id) => displayName(now.roster, id), question)} ${asksFor(question)} (${question.id}):`,
    ...questionText(question).map((line) => `  ${line}`),
    `  Answer: ${answerCommand(call, now, question)}`,
  ]);
}
