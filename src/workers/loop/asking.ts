import type { Mailbox } from "../../mail/mailbox.ts";
import { answerInWords } from "../../mail/news.ts";
import { deferredBy, type Question, questionOf } from "../../projections/index.ts";
import { type CallPart, DEADLINE, type NewFact } from "../../protocol/index.ts";
import type { HumanPort, NewQuestion } from "../../tools/human.ts";
import type { Actor, Recorder } from "./recorded-loop.ts";

type Asking = Pick<Recorder, "log" | "now" | "pending" | "clock">;

/** What came for whoever asks, and must not wait for an answer: a word of the human or the coordinator. */
type Interruption = Pick<Mailbox, "isUrgent" | "onNews">;

export interface HumanLine extends HumanPort {
  /** Nobody works here any more: a deadline is kept by whoever takes the work up. */
  close(): void;
}

/**
 * Waits for the human: no turn, no process, only a promise that the log resolves.
 *
 * ASKING-1. A call asks once, whatever crashes: asked again, it finds its question, and its answer if there is one.
 * ASKING-2. The first answer counts, by whatever channel. The deadline is one of them; it is absolute.
 * ASKING-3. A message is no answer. Whoever waits and is written to hears it: the call ends, the question stays open,
 *     and its answer reaches them as a message.
 */
export function asking(actor: Actor, place: Asking, mail: Interruption): HumanLine {
  const { worker_id, node_id } = actor;
  const who = { worker_id, node_id };
  const { log, pending } = place;
  const { put, answerTo, giveUpAt } = questioning(actor, place);
  const deadlines = new AbortController();
  const keepDeadline = (question: Question) => {
    if (question.deadline_ts !== undefined) void giveUpAt(question, question.deadline_ts, deadlines.signal);
  };
  for (const question of deferredBy(pending().questions, worker_id, node_id)) keepDeadline(question);
  // Whoever goes on is not kept waiting by the disk for this: the next entry will say if it could not be kept.
  const note = (...facts: NewFact[]) => log.append({ facts }).durable.catch(() => {});
  const busy: NewFact = { type: "worker.busy", data: who };
  return {
    async ask(order, call, signal) {
      // Put off before a crash: the answer is, or will be, told as news.
      const earlier = questionOf(pending().questions, worker_id, call.id);
      if (earlier?.deferred) return putOff(earlier.id);
      const same = deferredBy(pending().questions, worker_id, node_id).find(({ text }) => text === order.question);
      if (same) return `${same.id} is still open. ${AS_MESSAGE}`;
      const waiting: NewFact = { type: "worker.waiting", data: { ...who, for: "human" } };
      const id = await put(order, call, [waiting]);
      const answered = await answerTo(id, signal, mail);
      const open = pending().questions.open[id];
      if (!answered && open) {
        note(busy, { type: "question.deferred", data: { question_id: id, worker_id } });
        keepDeadline(open);
        return putOff(id);
      }
      // It may be on its way to the disk.
      const answer = answerInWords(answered ?? (await answerTo(id, signal)));
      note(busy);
      return answer;
    },
    close: () => deadlines.abort(),
  };
}

function putOff(id: string): string {
  return `No answer yet: a message came first and follows. ${id} stays open. ${AS_MESSAGE}`;
}

const AS_MESSAGE = "Its answer will reach you as a message; to wait for it, call check_messages with wait.";

/** What an agent asks may be answered in any words; permission for something is given or not. */
type Order = NewQuestion & { only_choices?: boolean; permission?: { tool: string; key: string } };

export interface Questioning {
  /** Puts the question, once for each call, with facts that hold while it waits; resolves with its id. */
  put(order: Order, call: Pick<CallPart, "id">, meanwhile: NewFact[]): Promise<string>;
  /** Resolves with the question when it is answered, or nobody waits for it any more; with nothing when interrupted. */
  answerTo(id: string, signal: AbortSignal, mail?: Interruption): Promise<Question | undefined>;
  /** Records that no answer came, unless one comes until then. */
  giveUpAt(question: Question, deadline: number, signal: AbortSignal): Promise<void>;
}

export function questioning({ worker_id, node_id }: Actor, { log, now, pending, clock }: Asking): Questioning {
  const who = { worker_id, node_id };

  async function put(order: Order, call: Pick<CallPart, "id">, meanwhile: NewFact[]): Promise<string> {
    const before = questionOf(pending().questions, worker_id, call.id);
    const id = before?.id ?? `question-${pending().questions.asked + 1}`;
    if (!before) await log.append({ facts: [asked(id, order, call), ...meanwhile] }).durable;
    else if (!before.answer && meanwhile.length > 0) await log.append({ facts: meanwhile }).durable;
    return id;
  }

  function asked(question_id: string, order: Order, call: Pick<CallPart, "id">): NewFact {
    const { question: text, choices, only_choices, permission, channel, deadline_seconds: seconds } = order;
    return {
      type: "human.question",
      data: {
        question_id,
        ...who,
        call_id: call.id,
        text,
        ...(choices && { choices }),
        ...(only_choices && { only_choices }),
        ...(permission && { permission }),
        ...(channel && { channel }),
        ...(seconds !== undefined && { deadline_ts: clock.now() / 1000 + seconds }),
        ...(order.default !== undefined && { default: order.default }),
      },
    };
  }

  async function answerTo(id: string, signal: AbortSignal, mail?: Interruption): Promise<Question | undefined> {
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
      if (open?.deadline_ts !== undefined) void giveUpAt(open, open.deadline_ts, alarm.signal);
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

  async function giveUpAt({ id, default: fallback }: Question, deadline: number, signal: AbortSignal): Promise<void> {
    const left = deadline * 1000 - clock.now();
    if (left > 0) await clock.sleep(left, signal).catch(() => {});
    if (signal.aborted || !pending().questions.open[id]) return;
    const response = { question_id: id, worker_id, text: fallback ?? "", channel: DEADLINE };
    // A log that cannot be kept is told by whoever appends next.
    await log.append({ facts: [{ type: "human.response", data: response }] }).durable.catch(() => {});
  }

  return { put, answerTo, giveUpAt };
}
