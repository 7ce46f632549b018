import { dict } from "../protocol/dict.ts";
import type { Fact, FactOf } from "../protocol/index.ts";

type Asked = FactOf<"human.question">["data"];

/** A worker's question to the human. */
export interface Question extends Omit<Asked, "question_id"> {
  id: string;
  asked_ts: number;
  /** The worker that asked went on meanwhile: the answer is news to it. */
  deferred?: true;
  answer: { text: string; channel: string; ts: number } | null;
}

/** The human's inbox of one agent. */
export interface Questions {
  /** Counts every one that was ever asked. */
  asked: number;
  /** Nobody has answered yet. */
  open: Record<string, Question>;
  /** Answered, and not yet read by the worker that asked. */
  answered: Record<string, Question>;
  /** The newest of those that are over: read, or no longer waited for. */
  settled: Question[];
}

const KEPT = 200;
/** In place of a call: it had its result before there was an answer. */
const OVER = "";

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
      const answered = { ...question, answer: { text, channel, ts: fact.ts } };
      if (question.call_id === OVER) keep(questions, answered);
      else questions.answered[id] = answered;
      return;
    }
    case "question.deferred": {
      const question = questions.open[fact.data.question_id];
      if (question) question.deferred = true;
      return;
    }
    // The worker that asked has its result, or will never want it.
    case "tool.result": {
      const { worker_id, call_id } = fact.data;
      for (const question of Object.values(questions.open))
        if (question.deferred && question.worker_id === worker_id && question.call_id === call_id)
          question.call_id = OVER;
      settle(questions, (each) => each.worker_id === worker_id && each.call_id === call_id);
      return;
    }
    case "node.completed":
    case "node.failed":
    case "node.cancelled":
    // The worker that asked does not have it any more.
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
      keep(questions, question);
    }
  }
}

function keep({ settled }: Questions, question: Question): void {
  settled.push(question);
  if (settled.length > KEPT) settled.shift();
}

/** Questions of this worker, on this node or as coordinator, that it continues without an answer to. */
export function deferredBy({ open }: Questions, worker_id: string, node_id: string | null): Question[] {
  return Object.values(open).filter(
    (each) => each.deferred && each.worker_id === worker_id && each.node_id === node_id,
  );
}

/** The question that this call already asked before a restart: it is not asked twice. */
export function questionOf({ open, answered }: Questions, worker_id: string, call_id: string): Question | undefined {
  return [...Object.values(open), ...Object.values(answered)].find(
    (each) => each.worker_id === worker_id && each.call_id === call_id,
  );
}
