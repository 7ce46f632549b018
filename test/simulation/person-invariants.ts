import { COORDINATOR, DEADLINE, type Fact, type FactOf } from "../../src/protocol/index.ts";
import { factsOf } from "./invariants.ts";
import type { Word } from "./person.ts";
import type { History } from "./simulate.ts";

/** I12: what the human says, and what they are asked. */
export function personProblems(history: History): string[] {
  return [
    ...history.said.flatMap((word) => wordProblems(word, history.facts)),
    ...factsOf(history.facts, "human.nudge").flatMap((nudge) => nudgeProblems(nudge, history)),
    ...factsOf(history.facts, "human.question").flatMap((asked) => questionProblems(asked, history)),
    ...strayAnswers(history.facts),
  ];
}

/** Whatever was accepted is there once, as what it was taken for; whatever was not, at most once. */
function wordProblems({ how, text, answer }: Word, facts: readonly Fact[]): string[] {
  const letters = factsOf(facts, "message.sent").filter(({ data }) => data.from === "human" && data.text === text);
  const answers = factsOf(facts, "human.response").filter(({ data }) => data.text === text);
  const nudges = factsOf(facts, "human.nudge").filter(({ data }) => data.text === text);
  const goals = factsOf(facts, "run.started").filter(({ data }) => data.goal.split("\n\n").includes(text));
  const problems: string[] = [];
  if (goals.length > 1) problems.push(`I12: "${text}" was the goal of ${goals.length} runs`);
  const [letter] = letters;
  // Said when the run was just ending and nobody heard it: a letter that becomes a goal.
  const asGoal = letter === undefined ? goals.length : 0;
  const times = letters.length + answers.length + nudges.length + asGoal;
  if (times > 1 || (answer === "accepted" && times === 0))
    problems.push(`I12: "${text}" (${how}) was ${answer} and is there ${times} times`);
  return problems;
}

function nudgeProblems({ seq, data: { text } }: FactOf<"human.nudge">, { facts, conversations }: History): string[] {
  const times = conversations.flatMap(({ worker, entries }) =>
    entries.flatMap((entry) =>
      entry.role === "user" ? new Array(entry.content.split(`human]: ${text}`).length - 1).fill(worker) : [],
    ),
  );
  if (times.length > 1 || times.some((worker) => worker !== COORDINATOR))
    return [`I12: the hint "${text}" was told to [${times}]`];
  const end = facts.findIndex((fact) => fact.seq > seq && fact.type === "run.finished");
  const turns = facts
    .slice(seq, end < 0 ? facts.length : end)
    .filter((fact) => fact.type === "model.called" && fact.data.worker_id === COORDINATOR);
  return times.length === 0 && turns.length > 1
    ? [`I12: the coordinator thought twice after the hint "${text}" and was not told`]
    : [];
}

/**
 * A call asks once; its first answer counts, and is the result of that call. Only the end of its node takes a question
 * back, or that somebody else gets it: reopened, the call asks again.
 */
function questionProblems({ seq, data }: FactOf<"human.question">, { facts, conversations }: History): string[] {
  const { question_id, worker_id, call_id, node_id } = data;
  const where = `I12: ${question_id} of ${worker_id}`;
  const again = factsOf(facts, "human.question").find(
    (each) => each.seq > seq && each.data.worker_id === worker_id && each.data.call_id === call_id,
  );
  if (again) {
    const reopened = factsOf(facts.slice(seq, again.seq), "node.reopened").some(
      (each) => each.data.node_id === node_id,
    );
    return reopened ? [] : [`${where} was asked again as ${again.data.question_id}`];
  }
  const answers = factsOf(facts, "human.response").filter((each) => each.data.question_id === question_id);
  if (answers.length > 1) return [`${where} was answered ${answers.length} times`];
  const result = conversations
    .filter(({ worker }) => worker === worker_id)
    .flatMap(({ entries }) => entries.filter((entry) => entry.role === "tool" && entry.call_id === call_id))
    .map((entry) => (entry.role === "tool" ? entry.content : ""))[0];
  if (result === undefined) return [];
  // It was taken from whoever asked, and the question with it.
  const isHanded = factsOf(facts.slice(seq), "node.reopened").some(
    (each) => each.data.node_id === node_id && each.data.why === "reassigned" && each.data.from === worker_id,
  );
  if (isHanded && result.startsWith("Outcome unknown: the work was given to somebody else")) return [];
  const isCancelled = factsOf(facts.slice(seq), "node.cancelled").some((each) => each.data.node_id === node_id);
  if (isCancelled && result.startsWith("Outcome unknown: the node was cancelled")) return [];
  const [answer] = answers;
  if (answer === undefined) return [`${where} was never answered and went on with "${result}"`];
  const { text, channel } = answer.data;
  const words =
    channel !== DEADLINE
      ? `Your human answers: ${text}`
      : text === ""
        ? "No answer came in time. Decide yourself."
        : `No answer came in time. Go on with: ${text}`;
  return result === words ? [] : [`${where} was answered "${text}" and heard "${result}"`];
}

function strayAnswers(facts: readonly Fact[]): string[] {
  const asked = new Set<string>();
  const problems: string[] = [];
  for (const fact of facts) {
    if (fact.type === "human.question") asked.add(fact.data.question_id);
    if (fact.type === "human.response" && !asked.has(fact.data.question_id))
      problems.push(`I12: ${fact.data.question_id} was answered and nobody had asked it`);
  }
  return problems;
}
