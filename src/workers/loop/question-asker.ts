import type { Mailbox } from "../../mail/mailbox.ts";
import { type Question, questionOf } from "../../projections/index.ts";
import { type CallPart, DEADLINE, type NewFact } from "../../protocol/index.ts";
import type { NewQuestion } from "../../tools/human.ts";
import type { ActingWorker, Recorder } from "./recorded-loop.ts";

export type QuestionPorts = Pick<Recorder, "log" | "now" | "pending" | "clock">;

/** Mail that must not wait for an answer: a message of the human or the coordinator. */
export type Interruption = Pick<Mailbox, "isUrgent" | "onNews">;

/** A question of an agent may be answered in any words; a request for permission only by one of its choices. */
type QuestionOrder = NewQuestion & { only_choices?: boolean; permission?: { tool: string; key: string } };

/** The questions that one worker puts to the human: asked, awaited, and given up at their deadline. */
export class QuestionAsker {
  readonly #self: ActingWorker;
  readonly #ports: QuestionPorts;

  constructor(self: ActingWorker, ports: QuestionPorts) {
    this.#self = self;
    this.#ports = ports;
  }

  /** Puts the question, once for each call, with facts that hold while it waits; resolves with its id. */
  async put(order: QuestionOrder, call: Pick<CallPart, "id">, meanwhile: NewFact[]): Promise<string> {
    const { log, pending } = this.#ports;
    const { questions } = pending();
    const before = questionOf(questions, this.#self.worker_id, call.id);
    const id = before?.id ?? `question-${questions.asked + 1}`;
    if (!before) await log.append({ facts: [this.#asked(id, order, call), ...meanwhile] }).durable;
    else if (!before.answer && meanwhile.length > 0) await log.append({ facts: meanwhile }).durable;
    return id;
  }

  /** Resolves with the question when it is answered or no longer open; with undefined when mail interrupts the wait. */
  async answerTo(id: string, signal: AbortSignal, mail?: Interruption): Promise<Question | undefined> {
    const { log, now } = this.#ports;
    const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
    const alarm = new AbortController();
    const unhear = log.subscribe((fact) => {
      if (fact.type === "human.response" && fact.data.question_id === id) hear();
    });
    const ignore = mail?.onNews(() => mail.isUrgent && hear());
    const stop = Promise.withResolvers<never>();
    const stopped = () => stop.reject(signal.reason);
    signal.addEventListener("abort", stopped, { once: true });
    try {
      signal.throwIfAborted();
      const open = now().questions.open[id];
      if (open?.deadline_ts !== undefined) void this.giveUpAt(open, open.deadline_ts, alarm.signal);
      if (open && !mail?.isUrgent) await Promise.race([heard, stop.promise]);
      return now().questions.answered[id];
    } finally {
      unhear();
      ignore?.();
      alarm.abort();
      signal.removeEventListener("abort", stopped);
      stop.promise.catch(() => {});
    }
  }

  /** Records that no answer came, unless one comes before the deadline (in seconds). */
  async giveUpAt({ id, default: fallback }: Question, deadline: number, signal: AbortSignal): Promise<void> {
    const { log, pending, clock } = this.#ports;
    const left = deadline * 1000 - clock.now();
    if (left > 0) await clock.sleep(left, signal).catch(() => {});
    if (signal.aborted || !pending().questions.open[id]) return;
    const { worker_id } = this.#self;
    const response = { question_id: id, worker_id, text: fallback ?? "", channel: DEADLINE };
    // If the log cannot be written, the next append fails and says so.
    await log.append({ facts: [{ type: "human.response", data: response }] }).durable.catch(() => {});
  }

  #asked(question_id: string, order: QuestionOrder, call: Pick<CallPart, "id">): NewFact {
    const { question: text, choices, only_choices, permission, channel, deadline_seconds: seconds } = order;
    const { worker_id, node_id } = this.#self;
    return {
      type: "human.question",
      data: {
        question_id,
        worker_id,
        node_id,
        call_id: call.id,
        text,
        ...(choices && { choices }),
        ...(only_choices && { only_choices }),
        ...(permission && { permission }),
        ...(channel && { channel }),
        ...(seconds !== undefined && { deadline_ts: this.#ports.clock.now() / 1000 + seconds }),
        ...(order.default !== undefined && { default: order.default }),
      },
    };
  }
}
