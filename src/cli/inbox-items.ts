import type { Situation } from "../projections/index.ts";
import { type AgentId, HUMAN } from "../protocol/index.ts";

/** Something that waits for the human: a question until it is answered, a message until it is read. */
export interface InboxItem {
  kind: "question" | "message";
  id: string;
  agent: { id: AgentId; name: string };
  from: { id: string; name: string };
  text: string;
  /** Seconds since 1970. */
  since_ts: number;
  choices: readonly string[];
  deadline_ts: number | null;
  /** What counts as the answer when the deadline passes. */
  default: string | null;
}

/** The human's inbox over all agents, oldest first. */
export function inboxOf(situations: Iterable<Situation>): InboxItem[] {
  return [...situations].flatMap(itemsOf).sort((a, b) => a.since_ts - b.since_ts);
}

function itemsOf({ agent, roster, questions, letters, thread }: Situation): InboxItem[] {
  const whose = { id: agent.id, name: agent.created.name };
  const named = (id: string) => ({ id, name: roster[id]?.spawned.name ?? id });
  const asked = Object.values(questions.open).map(
    ({ id, worker_id, text, asked_ts, choices = [], deadline_ts = null, default: fallback = null }): InboxItem => ({
      kind: "question",
      id,
      agent: whose,
      from: named(worker_id),
      text,
      since_ts: asked_ts,
      choices,
      deadline_ts,
      default: fallback,
    }),
  );
  const unread = Object.values(letters.queued)
    .filter(({ reader }) => reader === HUMAN)
    .map(({ id, from, text }): InboxItem => {
      const said = thread.findLast((each) => each.from === from && each.to === HUMAN && each.text === text);
      const since_ts = said?.ts ?? agent.updated_ts;
      const open = { choices: [], deadline_ts: null, default: null };
      return { kind: "message", id, agent: whose, from: named(from), text, since_ts, ...open };
    });
  return [...asked, ...unread];
}
