import { answerInWords } from "../../mail/news.ts";
import { deferredBy, type Question, questionOf } from "../../projections/index.ts";
import type { NewFact } from "../../protocol/index.ts";
import type { HumanPort } from "../../tools/human.ts";
import { type Interruption, QuestionAsker, type QuestionPorts } from "./question-asker.ts";
import type { ActingWorker } from "./recorded-loop.ts";

export interface HumanLine extends HumanPort {
  /** Stops watching deadlines: the next one to resume this work keeps them. */
  close(): void;
}

/**
 * Waits for the human: no turn, no process, only a promise that the log resolves.
 *
 * ASKING-1. A call asks once, whatever crashes: repeated, it finds its question, and the answer if there is one.
 * ASKING-2. The first answer counts, by whatever channel. The deadline is one of them; it is absolute.
 * ASKING-3. A message is not an answer. It interrupts the wait: the call ends, the question stays open, and its answer
 *     arrives as a message.
 */
export function openHumanLine(self: ActingWorker, workplace: QuestionPorts, mail: Interruption): HumanLine {
  const { worker_id, node_id } = self;
  const who = { worker_id, node_id };
  const { log, pending } = workplace;
  const questions = new QuestionAsker(self, workplace);
  const deadlines = new AbortController();
  const keepDeadline = (question: Question) => {
    if (question.deadline_ts !== undefined) void questions.giveUpAt(question, question.deadline_ts, deadlines.signal);
  };
  for (const question of deferredBy(pending().questions, worker_id, node_id)) keepDeadline(question);
  // Does not wait for the disk: if this is lost, the next entry fails and says so.
  const note = (...facts: NewFact[]) => log.append({ facts }).durable.catch(() => {});
  const busy: NewFact = { type: "worker.busy", data: who };
  return {
    async ask(order, call, signal) {
      // Deferred before a crash: the answer is, or will be, told as news.
      const earlier = questionOf(pending().questions, worker_id, call.id);
      if (earlier?.deferred) return deferredText(earlier.id);
      const same = deferredBy(pending().questions, worker_id, node_id).find(({ text }) => text === order.question);
      if (same) return `${same.id} is still open. ${AS_MESSAGE}`;
      const waiting: NewFact = { type: "worker.waiting", data: { ...who, for: "human" } };
      const id = await questions.put(order, call, [waiting]);
      const answered = await questions.answerTo(id, signal, mail);
      const open = pending().questions.open[id];
      if (!answered && open) {
        note(busy, { type: "question.deferred", data: { question_id: id, worker_id } });
        keepDeadline(open);
        return deferredText(id);
      }
      // The answer may be on its way to the disk.
      const answer = answerInWords(answered ?? (await questions.answerTo(id, signal)));
      note(busy);
      return answer;
    },
    close: () => deadlines.abort(),
  };
}

function deferredText(id: string): string {
  return `No answer yet: a message came first and follows. ${id} stays open. ${AS_MESSAGE}`;
}

const AS_MESSAGE = "Its answer will reach you as a message; to wait for it, call check_messages with wait.";
