import { dict } from "../protocol/dict.ts";
import { type ChannelTopic, COORDINATOR, type Fact, HEARTBEAT_OK, HUMAN } from "../protocol/index.ts";
import type { Letters } from "./letters.ts";
import type { Question, Questions } from "./questions.ts";

/**
 * Messages to the human that a channel has yet to deliver.
 *
 * OUTBOX-1. It holds only what is still to be delivered, so its size does not grow with the log.
 * OUTBOX-2. Each message leaves a channel's list once: delivered, failed, or withdrawn because nobody waits for the
 *     answer any more.
 * OUTBOX-3. A channel that is opened later delivers what waits for the human then, and nothing older.
 */
export interface Outbox {
  open: Record<string, { to: readonly ChannelTopic[] }>;
  /** Oldest first. */
  waiting: Outgoing[];
}

export interface Outgoing {
  /** The fact that put it here; with `of` it names the delivery, also after a restart. */
  fact: number;
  ts: number;
  topic: ChannelTopic;
  /** A question's, message's or run's id. */
  of: string;
  /** Who speaks. */
  from: string;
  text: string;
  choices?: readonly string[];
  deadline_ts?: number;
  default?: string;
  /** Of a question: it asks for permission, in our words. */
  permission?: true;
  /** Of an end: whether the goal was reached. */
  ended?: "completed" | "failed";
  /** The channels it has not left by yet. */
  channels: string[];
}

type NewOutgoing = Omit<Outgoing, "fact" | "channels">;

export function emptyOutbox(): Outbox {
  return { open: dict(), waiting: [] };
}

/** Applied after the folds it reads. */
export function applyToOutbox(
  outbox: Outbox,
  fact: Fact,
  now: { run: string | null; questions: Questions; letters: Letters },
): void {
  switch (fact.type) {
    case "channel.opened": {
      const { channel, to } = fact.data;
      if (!Object.hasOwn(outbox.open, channel)) open(outbox, channel, to, fact, now);
      outbox.open[channel] = { to };
      return;
    }
    case "channel.closed":
      delete outbox.open[fact.data.channel];
      remove(outbox, fact.data.channel, () => true);
      return;
    case "channel.delivered":
    case "channel.failed": {
      const { channel, of, fact: said } = fact.data;
      remove(outbox, channel, (each) => each.of === of && each.fact === said);
      return;
    }
    case "human.question": {
      const question = now.questions.open[fact.data.question_id];
      if (question) put(outbox, fact, saidOf(question), fact.data.channel);
      return;
    }
    case "message.sent": {
      const { message_id: of, from, to, text } = fact.data;
      if (to === HUMAN) put(outbox, fact, { topic: "messages", of, from, text, ts: fact.ts });
      return;
    }
    case "agent.completed":
      if (fact.data.summary === HEARTBEAT_OK) return; // there was nothing to say
      put(outbox, fact, endOf(fact, now.run, fact.data.summary, "completed"));
      return;
    case "agent.failed":
      put(outbox, fact, endOf(fact, now.run, fact.data.error, "failed"));
      return;
  }
  if (fact.type in ENDS_QUESTIONS && outbox.waiting.length > 0)
    outbox.waiting = outbox.waiting.filter(({ topic, of }) => topic !== "questions" || now.questions.open[of]);
}

/** The oldest message that this channel has yet to deliver. */
export function nextOutgoing({ waiting }: Outbox, channel: string): Outgoing | undefined {
  return waiting.find(({ channels }) => channels.includes(channel));
}

const ENDS_QUESTIONS: Partial<Record<Fact["type"], true>> = {
  "human.response": true,
  "tool.result": true,
  "node.completed": true,
  "node.failed": true,
  "node.cancelled": true,
  "run.finished": true,
};

function put(outbox: Outbox, { seq: fact }: Fact, said: NewOutgoing, wanted?: string): void {
  // Better asked by every channel than by none: a name that is none of ours restricts nothing.
  const named = wanted?.replace(/^webhook:/, "");
  const names = named !== undefined && Object.hasOwn(outbox.open, named) ? [named] : Object.keys(outbox.open);
  const channels = names.filter((name) => outbox.open[name]?.to.includes(said.topic));
  if (channels.length > 0) outbox.waiting.push({ fact, ...said, channels });
}

function open(
  outbox: Outbox,
  channel: string,
  to: readonly ChannelTopic[],
  { seq: fact }: Fact,
  { questions, letters }: { questions: Questions; letters: Letters },
): void {
  const unread = Object.values(letters.queued).filter(({ reader }) => reader === HUMAN);
  const said: NewOutgoing[] = [
    // First, where both are of the same millisecond: a worker that asks says nothing more until it is answered.
    ...unread.map(
      ({ id, from, text, sent_ts }): NewOutgoing => ({ topic: "messages", of: id, from, text, ts: sent_ts }),
    ),
    ...Object.values(questions.open).map(saidOf),
  ];
  const carried = said.filter(({ topic }) => to.includes(topic)).sort((a, b) => a.ts - b.ts);
  outbox.waiting.push(...carried.map((each) => ({ fact, ...each, channels: [channel] })));
}

function remove(outbox: Outbox, channel: string, isMeant: (each: Outgoing) => boolean): void {
  for (const each of outbox.waiting)
    if (isMeant(each)) each.channels = each.channels.filter((name) => name !== channel);
  outbox.waiting = outbox.waiting.filter(({ channels }) => channels.length > 0);
}

function saidOf({
  id,
  worker_id,
  text,
  choices,
  permission,
  deadline_ts,
  default: fallback,
  asked_ts,
}: Question): NewOutgoing {
  return {
    topic: "questions",
    of: id,
    from: worker_id,
    text,
    ts: asked_ts,
    ...(choices && { choices }),
    ...(permission && { permission: true }),
    ...(deadline_ts !== undefined && { deadline_ts }),
    ...(fallback !== undefined && { default: fallback }),
  };
}

function endOf({ ts }: Fact, run: string | null, text: string, ended: "completed" | "failed"): NewOutgoing {
  return { topic: "ends", of: run ?? "run-0", from: COORDINATOR, text, ts, ended };
}
