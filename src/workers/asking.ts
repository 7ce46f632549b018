import { type Question, questionOf } from "../projections/index.ts";
import { type CallPart, DEADLINE, type NewFact } from "../protocol/index.ts";
import type { HumanPort, NewQuestion } from "../tools/human.ts";
import type { Actor, Recorder } from "./carry-out.ts";

type Asking = Pick<Recorder, "log" | "now" | "soon" | "clock">;

/**
 * Waits for the human: no turn, no process, only a promise that the log resolves.
 *
 * H1. A call asks once, whatever crashes: asked again, it finds its question, and its answer if there is one.
 * H2. The first answer counts, by whatever channel. The deadline is one of them; it is absolute.
 */
export function asking(actor: Actor, place: Asking): HumanPort {
  const { worker_id, node_id } = actor;
  const who = { worker_id, node_id };
  const { put, answerTo } = questioning(actor, place);
  return {
    async ask(order, call, signal) {
      const waiting: NewFact = { type: "worker.waiting", data: { ...who, for: "human" } };
      const id = await put(order, call, [waiting]);
      const answer = inWords(await answerTo(id, signal));
      // Whoever was answered is not kept waiting by the disk for this: the next entry will say if it could not be kept.
      place.log.append({ facts: [{ type: "worker.busy", data: who }] }).durable.catch(() => {});
      return answer;
    },
  };
}

/** What an agent asks may be answered in any words; permission for something is given or not. */
type Order = NewQuestion & { only_choices?: boolean; permission?: { tool: string; key: string } };

export interface Questioning {
  /** Puts the question, once for each call, with facts that hold while it waits; resolves with its id. */
  put(order: Order, call: Pick<CallPart, "id">, meanwhile: NewFact[]): Promise<string>;
  /** Resolves with the question when it is answered, or nobody waits for it any more. */
  answerTo(id: string, signal: AbortSignal): Promise<Question | undefined>;
}

export function questioning({ worker_id, node_id }: Actor, { log, now, soon, clock }: Asking): Questioning {
  const who = { worker_id, node_id };

  async function put(order: Order, call: Pick<CallPart, "id">, meanwhile: NewFact[]): Promise<string> {
    const before = questionOf(soon().questions, worker_id, call.id);
    const id = before?.id ?? `question-${soon().questions.asked + 1}`;
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

  async function answerTo(id: string, signal: AbortSignal): Promise<Question | undefined> {
    const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
    const alarm = new AbortController();
    const unhear = log.subscribe((fact) => {
      if (fact.type === "human.response" && fact.data.question_id === id) hear();
    });
    const stop = Promise.withResolvers<never>();
    const stopped = () => stop.reject(signal.reason);
    signal.addEventListener("abort", stopped, { once: true });
    try {
      signal.throwIfAborted();
      const open = now().questions.open[id];
      if (open?.deadline_ts !== undefined) void giveUpAt(open, open.deadline_ts, alarm.signal);
      if (open) await Promise.race([heard, stop.promise]);
      return now().questions.answered[id];
    } finally {
      unhear();
      alarm.abort();
      signal.removeEventListener("abort", stopped);
      stop.promise.catch(() => {});
    }
  }

  async function giveUpAt({ id, default: fallback }: Question, deadline: number, signal: AbortSignal): Promise<void> {
    const left = deadline * 1000 - clock.now();
    if (left > 0) await clock.sleep(left, signal).catch(() => {});
    if (signal.aborted || !soon().questions.open[id]) return;
    const response = { question_id: id, worker_id, text: fallback ?? "", channel: DEADLINE };
    // A log that cannot be kept is told by whoever appends next.
    await log.append({ facts: [{ type: "human.response", data: response }] }).durable.catch(() => {});
  }

  return { put, answerTo };
}

export function inWords(question: Question | undefined): string {
  if (!question?.answer) return "The question was withdrawn.";
  const { text, channel } = question.answer;
  if (channel !== DEADLINE) return `Your human answers: ${text}`;
  return text === "" ? "No answer came in time. Decide yourself." : `No answer came in time. Go on with: ${text}`;
}
