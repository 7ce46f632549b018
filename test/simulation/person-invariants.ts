import { COORDINATOR, DEADLINE, type Fact, type FactOf } from "../../src/protocol/index.ts";
import { factsOf, runsBegunByWords } from "./invariants.ts";
import type { Word } from "./person.ts";
import type { History } from "./simulate.ts";

/** TEAM-12: what the human says, and what they are asked. */
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
  const goals = runsBegunByWords(facts).filter(({ data }) => data.goal.split("\n\n").includes(text));
  const problems: string[] = [];
  if (goals.length > 1) problems.push(`TEAM-12: "${text}" was the goal of ${goals.length} runs`);
  const [letter] = letters;
  // Said when the run was just ending and nobody heard it: a letter that becomes a goal.
  const asGoal = letter === undefined ? goals.length : 0;
  const times = letters.length + answers.length + nudges.length + asGoal;
  if (times > 1 || (answer === "accepted" && times === 0))
    problems.push(`TEAM-12: "${text}" (${how}) was ${answer} and is there ${times} times`);
  return problems;
}

function nudgeProblems({ seq, data: { text } }: FactOf<"human.nudge">, { facts, conversations }: History): string[] {
  const times = conversations.flatMap(({ worker, entries }) =>
    entries.flatMap((entry) =>
      entry.role === "user" ? new Array(entry.content.split(`human]: ${text}`).length - 1).fill(worker) : [],
    ),
  );
  if (times.length > 1 || times.some((worker) => worker !== COORDINATOR))
    return [`TEAM-12: the hint "${text}" was told to [${times}]`];
  const end = facts.findIndex((fact) => fact.seq > seq && fact.type === "run.finished");
  const turns = facts
    .slice(seq, end < 0 ? facts.length : end)
    .filter((fact) => fact.type === "model.called" && fact.data.worker_id === COORDINATOR);
  return times.length === 0 && turns.length > 1
    ? [`TEAM-12: the coordinator thought twice after the hint "${text}" and was not told`]
    : [];
}

/**
 * A call asks once; its first answer counts, and is the result of that call, or news where a message came first. Only
 * the end of its node takes a question back, or that somebody else gets it: reopened, the call asks again.
 */
function questionProblems(asked: FactOf<"human.question">, history: History): string[] {
  const { seq, data } = asked;
  const { facts, conversations } = history;
  const { question_id, worker_id, call_id, node_id } = data;
  const where = `TEAM-12: ${question_id} of ${worker_id}`;
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
  if (factsOf(facts, "question.deferred").some((each) => each.data.question_id === question_id)) {
    const isPutOff = /^(No answer yet: a message came first and follows\. )?question-\d+ (stays|is still) open\./.test(
      result,
    );
    const problems = isPutOff ? [] : [`${where} was put off and heard "${result}"`];
    return [...problems, ...laterProblems(asked, answer, history)];
  }
  if (answer === undefined) return [`${where} was never answered and went on with "${result}"`];
  return result === wordsOf(answer) ? [] : [`${where} was answered "${answer.data.text}" and heard "${result}"`];
}

function wordsOf({ data: { text, channel } }: FactOf<"human.response">): string {
  if (channel !== DEADLINE) return `Your human answers: ${text}`;
  return text === "" ? "No answer came in time. Decide yourself." : `No answer came in time. Go on with: ${text}`;
}

/** The answer to what was put off is told once to whoever asked, before the second turn they begin after it. */
function laterProblems(
  { data: { question_id, worker_id, node_id } }: FactOf<"human.question">,
  answer: FactOf<"human.response"> | undefined,
  { facts, conversations }: History,
): string[] {
  const where = `TEAM-12: ${question_id} of ${worker_id}`;
  const news = `[You asked (${question_id}): `;
  const told = conversations.flatMap(({ worker, entries }) =>
    entries.flatMap((entry) =>
      entry.role === "user" ? entry.content.split(news).flatMap((text, at) => (at > 0 ? { worker, text } : [])) : [],
    ),
  );
  if (told.length > 1 || told.some(({ worker }) => worker !== worker_id))
    return [`${where}: the answer was told to [${told.map(({ worker }) => worker)}]`];
  const [heard] = told;
  if (heard && !(answer && heard.text.includes(`]\n${wordsOf(answer)}`)))
    return [`${where} was answered "${answer?.data.text}" and told "${heard.text}"`];
  if (heard || !answer) return [];
  const later = facts.slice(answer.seq);
  const end = later.findIndex(
    (fact) =>
      fact.type === "run.finished" ||
      ("node_id" in fact.data && fact.data.node_id === node_id && /^node\.(c|f|reo)/.test(fact.type)),
  );
  const turns = later
    .slice(0, end < 0 ? later.length : end)
    .filter(
      (fact) => fact.type === "model.called" && fact.data.worker_id === worker_id && fact.data.node_id === node_id,
    );
  return turns.length > 1 ? [`${where} was answered "${answer.data.text}" and not told of it`] : [];
}

function strayAnswers(facts: readonly Fact[]): string[] {
  const asked = new Set<string>();
  const problems: string[] = [];
  for (const fact of facts) {
    if (fact.type === "human.question") asked.add(fact.data.question_id);
    if (fact.type === "human.response" && !asked.has(fact.data.question_id))
      problems.push(`TEAM-12: ${fact.data.question_id} was answered and nobody had asked it`);
  }
  return problems;
}
