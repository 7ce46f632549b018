import { shellWord } from "../../boundary/shell-word.ts";
import { isAtWork, type Question, type Situation } from "../../projections/index.ts";
import { type Actor, COORDINATOR, type NewFact } from "../../protocol/index.ts";
import { workerIdOf } from "../team/worker-names.ts";
import { HumanRefusal } from "./human-refusal.ts";

export { HumanRefusal } from "./human-refusal.ts";

/** The checked answer to a question: the named one, or the only open one. */
export function responseTo(now: Situation, text: string, id: string | undefined, via: Actor["via"]): NewFact {
  const question = id === undefined ? onlyQuestion(now) : namedQuestion(now, id);
  return {
    type: "human.response",
    data: { question_id: question.id, worker_id: question.worker_id, text: chosen(question, text), channel: via },
  };
}

/** A message never answers a question: the hint for a person who writes to a worker that has asked one. */
export function openHint({ questions }: Situation, to: string): string {
  const ids = Object.values(questions.open).flatMap(({ id, worker_id }) => (worker_id === workerIdOf(to) ? [id] : []));
  if (ids.length === 0) return "";
  return ` This does not answer ${ids.join(", ")}, which ${ids.length === 1 ? "stays" : "stay"} open.`;
}

/** Revokes a permanent permission; `word` is its key, or enough of it. */
export function revocationOf({ agent, outside }: Situation, word: string): NewFact {
  const found = Object.entries(outside.permitted).flatMap(([worker_id, permissions]) =>
    permissions.filter(({ key }) => word !== "" && key.startsWith(word)).map(({ key }) => ({ worker_id, key })),
  );
  const [data, other] = found;
  if (data && !other) return { type: "permission.revoked", data };
  const { name } = agent.created;
  if (other)
    throw new HumanRefusal(
      "conflict",
      `${name} has ${found.length} permissions that begin with "${word}". Give more characters of the id.`,
    );
  throw new HumanRefusal(
    "not_found",
    `${name} has no permission "${word}". List them with: agiraph permissions ${agent.id}`,
  );
}

export function nudgeOf({ agent }: Situation, text: string, via: Actor["via"]): NewFact {
  if (isAtWork(agent.status)) return { type: "human.nudge", data: { text, channel: via } };
  throw new HumanRefusal(
    "conflict",
    `${agent.created.name} is ${agent.status} and cannot take a nudge. Send it a message: agiraph send ${shellWord(agent.created.name)} "your message"`,
  );
}

/** An archived agent does nothing until it is restored. */
export function checkNotArchived({ agent }: Situation): void {
  if (agent.archived_ts === null) return;
  throw new HumanRefusal(
    "conflict",
    `${agent.created.name} is archived. Restore it first: agiraph rm ${shellWord(agent.created.name)} --undo`,
  );
}

/** The record of meshes has no model that could be talked to. */
export function checkThinks({ agent }: Situation): void {
  if (!agent.created.meshes) return;
  throw new HumanRefusal(
    "conflict",
    `${agent.created.name} only keeps the record of a project's meshes and reads no messages. Write to a mesh, in its project: tx send MESH "text"`,
  );
}

/** Why a finished agent cannot be given this message, or nothing. */
export function checkNewGoal({ agent }: Situation, to: string): void {
  if (to === "*" || workerIdOf(to) === COORDINATOR) return;
  throw new HumanRefusal(
    "conflict",
    `${agent.created.name} has finished, and so has its team: ${to} is no longer there. Write to the coordinator.`,
  );
}

function onlyQuestion(now: Situation): Question {
  const open = Object.values(now.questions.open);
  const { name } = now.agent.created;
  const [only] = open;
  // The person may have read another question: it can be over, and this one have come since.
  if (open.length === 1 && only?.permission)
    throw new HumanRefusal(
      "conflict",
      `${only.id} of ${name} asks for permission. Answer it by its id: --question ${only.id}`,
    );
  if (open.length === 1 && only) return only;
  if (open.length === 0)
    throw new HumanRefusal(
      "conflict",
      `${name} has no open question. To write to it: agiraph send ${shellWord(name)} "your message"`,
    );
  const list = open.map((each) => `${each.id} (${each.worker_id}): ${firstLine(each.text)}`).join("\n");
  throw new HumanRefusal("conflict", `${name} has ${open.length} open questions. Say which with --question:\n${list}`);
}

function namedQuestion({ questions }: Situation, id: string): Question {
  const open = questions.open[id];
  if (open) return open;
  const over = questions.answered[id] ?? questions.settled.find((each) => each.id === id);
  if (!over) {
    const there = Object.keys(questions.open).join(", ");
    throw new HumanRefusal("not_found", `There is no question "${id}".${there === "" ? "" : ` Open: ${there}.`}`);
  }
  const how = over.answer ? `has already been answered: ${firstLine(over.answer.text)}` : "is no longer open";
  throw new HumanRefusal("conflict", `${id} ${how}`);
}

/** The number of a choice stands for it. One that none has is a slip, unless numbers are what was asked for. */
function chosen(question: Question, text: string): string {
  const { id, choices, only_choices } = question;
  if (choices && only_choices) return oneOf(choices, id, text);
  if (!choices || !/^\d$/.test(text.trim())) return text;
  const choice = choices[Number(text) - 1];
  if (choice !== undefined || choices.some((each) => /\d/.test(each))) return choice ?? text;
  throw new HumanRefusal(
    "conflict",
    `${id} has no choice ${text.trim()}: give 1 to ${choices.length}, or your own words.`,
  );
}

/** What people say for a choice that begins like this. */
const MEANT: Readonly<Record<string, string>> = {
  allow: "allow",
  yes: "allow",
  y: "allow",
  always: "always",
  deny: "deny",
  no: "deny",
  n: "deny",
};
const REASONED_NO = /^(?:deny|no)\s*[,:;]\s*\S/iu;

/** By number, by its words or by what clearly means it. A denial may say why; whatever else is said decides nothing. */
function oneOf(choices: readonly string[], id: string, text: string): string {
  const said = text
    .trim()
    .replace(/[.!]+$/u, "")
    .toLowerCase();
  const numbered = /^\d$/u.test(said) ? choices[Number(said) - 1] : undefined;
  const named = numbered ?? choices.find((each) => each.toLowerCase() === said);
  if (named !== undefined) return named;
  const meant = Object.hasOwn(MEANT, said) ? MEANT[said] : undefined;
  const [alike, other] = choices.filter((each) => each.split(" ", 1)[0] === meant);
  if (alike !== undefined && other === undefined) return alike;
  if (choices.includes("deny") && REASONED_NO.test(text.trim())) return text.trim();
  const list = choices.map((each, at) => `${at + 1} ${each}`).join(", ");
  throw new HumanRefusal("conflict", `${id} can only be answered with one of its choices: ${list}. It is still open.`);
}

function firstLine(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}
