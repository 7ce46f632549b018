import { dict } from "../protocol/dict.ts";
import type { Fact, FactOf } from "../protocol/index.ts";

type Asked = FactOf<"human.question">["data"];

/** What somebody wants to know from the human. */
export interface Question extends Omit<Asked, "question_id"> {
  id: string;
  asked_ts: number;
  answer: { text: string; channel: string; ts: number } | null;
}

/** The human's inbox of one agent. */
export interface Questions {
  /** Counts every one that was ever asked. */
  asked: number;
  /** Nobody has answered yet. */
  open: Record<string, Question>;
  /** Answered, and not yet taken up by whoever asked. */
  answered: Record<string, Question>;
  /** The newest of those that are over: taken up, or no longer waited for. */
  settled: Question[];
}

const KEPT = 200;

export function emptyQuestions(): Questions {
  return { asked: 0, open: dict(), answered: dict(), settled: [] };
}

export function applyToQuestions(questions: Questions, fact: Fact): void {
  switch (fact.type) {
    case "human.question": {
      const { question_id: id, ...asked } = fact.data;
      questions.asked += 1;
      questions.open[id] = { id, ...asked, asked_ts: fact.ts, answer: null };
      return;
    }
    case "human.response": {
      const { question_id: id, text, channel } = fact.data;
      const question = questions.open[id];
      if (!question) return;
      delete questions.open[id];
      questions.answered[id] = { ...question, answer: { text, channel, ts: fact.ts } };
      return;
    }
    // Whoever asked has its result, or will never want it.
    case "tool.result": {
      const { worker_id, call_id } = fact.data;
      settle(questions, (each) => each.worker_id === worker_id && each.call_id === call_id);
      return;
    }
    case "node.completed":
    case "node.failed":
    case "node.cancelled":
    // Whoever asked does not have it any more.
    case "node.reopened":
      settle(questions, (each) => each.node_id === fact.data.node_id);
      return;
    case "run.finished":
      settle(questions, () => true);
      return;
  }
}

function settle(questions: Questions, isOver: (question: Question) => boolean): void {
  for (const list of [questions.open, questions.answered]) {
    for (const id in list) {
      const question = list[id];
      if (!question || !isOver(question)) continue;
      delete list[id];
      questions.settled.push(question);
      if (questions.settled.length > KEPT) questions.settled.shift();
    }
  }
}

/** The one this call has asked before, in an earlier life of the process: it is not asked twice. */
export function questionOf({ open, answered }: Questions, worker_id: string, call_id: string): Question | undefined {
  return [...Object.values(open), ...Object.values(answered)].find(
    (each) => each.worker_id === worker_id && each.call_id === call_id,
  );
}
