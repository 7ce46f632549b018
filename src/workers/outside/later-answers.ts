import { answerInWords } from "../../mail/news.ts";
import type { Question } from "../../projections/index.ts";
import type { NewFact, UserEntry } from "../../protocol/index.ts";
import type { HumanPort } from "../../tools/human.ts";
import { QuestionAsker } from "../loop/question-asker.ts";
import { type ActingWorker, gistOfText } from "../loop/recorded-loop.ts";
import type { Workplace } from "../workplace.ts";

/** Marks calls whose result was not the answer: the answer is said later. */
const LATER = "later-";

/**
 * Questions to the human whose answers are said to the program when they come: it is not kept inside a call for hours.
 * The answer counts as taken when the words that tell it are on disk, so it is told once, whatever crashes.
 */
export class LaterAnswers {
  readonly #self: ActingWorker;
  readonly #workplace: Workplace;
  readonly #signal: AbortSignal;
  readonly #tell: (words: UserEntry, facts: NewFact[]) => Promise<void>;
  readonly #onError: (error: unknown) => void;
  readonly #questions: QuestionAsker;
  readonly #awaited = new Set<string>();

  constructor(
    self: ActingWorker,
    workplace: Workplace,
    signal: AbortSignal,
    tell: (words: UserEntry, facts: NewFact[]) => Promise<void>,
    onError: (error: unknown) => void,
  ) {
    this.#self = self;
    this.#questions = new QuestionAsker(self, workplace);
    this.#workplace = workplace;
    this.#signal = signal;
    this.#tell = tell;
    this.#onError = onError;
  }

  get areOpen(): boolean {
    return this.#awaited.size > 0;
  }

  /** Waits again for the answers to questions that were asked before a restart. */
  resume(): void {
    const { open, answered } = this.#workplace.pending().questions;
    for (const question of [...Object.values(open), ...Object.values(answered)])
      if (this.#isMine(question)) this.#await(question.id);
  }

  readonly port: HumanPort = {
    ask: async (order, call) => {
      const same = Object.values(this.#workplace.pending().questions.open).find(
        (each) => this.#isMine(each) && each.text === order.question,
      );
      this.#await(same?.id ?? (await this.#questions.put(order, { id: `${LATER}${call.id}` }, [])));
      return "Asked. End your turn now, or go on with what does not depend on it: the answer will be said to you as soon as it comes.";
    },
  };

  #isMine({ worker_id, node_id, call_id }: Question): boolean {
    return worker_id === this.#self.worker_id && node_id === this.#self.node_id && call_id.startsWith(LATER);
  }

  #await(id: string): void {
    if (this.#awaited.has(id)) return;
    this.#awaited.add(id);
    this.#questions
      .answerTo(id, this.#signal)
      .then(async (question) => {
        this.#awaited.delete(id);
        if (question) await this.#tell(...this.#told(question));
      })
      .catch((error: unknown) => {
        if (!this.#signal.aborted) this.#onError(error);
      });
  }

  #told(question: Question): [UserEntry, NewFact[]] {
    const content = `You asked: ${gistOfText(question.text)}\n${answerInWords(question)}`;
    const { worker_id, node_id } = this.#self;
    const settled = {
      call_id: question.call_id,
      tool: "ask_human",
      ok: true,
      ms: 0,
      gist: gistOfText(answerInWords(question)),
    };
    return [
      { role: "user", from: "agiraph", content },
      [{ type: "tool.result", data: { worker_id, node_id, ...settled } }],
    ];
  }
}
