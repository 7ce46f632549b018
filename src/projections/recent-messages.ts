import { COORDINATOR, DEADLINE, type Fact, HEARTBEAT_OK, HUMAN } from "../protocol/index.ts";

/** One message between people and agents. The full text is in the file that the fact points at. */
export interface RecentMessage {
  seq: number;
  ts: number;
  from: string;
  to: string;
  text: string;
}

/** The newest messages; older ones are in the log. */
export type RecentMessages = RecentMessage[];

const KEPT = 500;

export function applyToRecentMessages(messages: RecentMessages, fact: Fact): void {
  const said = messageIn(fact);
  if (!said) return;
  messages.push({ seq: fact.seq, ts: fact.ts, ...said });
  if (messages.length > KEPT) messages.shift();
}

/** The message in a fact, if there is one. */
export function messageIn(fact: Fact): Omit<RecentMessage, "seq" | "ts"> | undefined {
  switch (fact.type) {
    case "run.started":
      return { from: fact.data.trigger ? "agiraph" : HUMAN, to: COORDINATOR, text: fact.data.goal };
    case "message.sent":
      return { from: fact.data.from, to: fact.data.to, text: fact.data.text };
    case "human.question":
      return { from: fact.data.worker_id, to: HUMAN, text: fact.data.text };
    case "human.response":
      return fact.data.channel === DEADLINE
        ? undefined
        : { from: HUMAN, to: fact.data.worker_id, text: fact.data.text };
    case "human.nudge":
      return { from: HUMAN, to: COORDINATOR, text: fact.data.text };
    case "agent.completed":
      if (fact.data.summary === HEARTBEAT_OK) return undefined; // there was nothing to say
      return { from: COORDINATOR, to: HUMAN, text: fact.data.summary };
    case "agent.failed":
      return { from: COORDINATOR, to: HUMAN, text: fact.data.error };
    default:
      return undefined;
  }
}
