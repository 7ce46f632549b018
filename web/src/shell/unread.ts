import type { Situation } from "../../../src/projections/index.ts";
import { HUMAN } from "../../../src/protocol/index.ts";
import { agents } from "../live/agents.ts";
import { markSeen } from "../live/api.ts";
import { keep, recall } from "./memo.ts";

/** Up to which fact the person has seen what an entity says. */
function readUpTo(agent: string, worker: string): number {
  return Number(recall(`read.${agent}.${worker}`) ?? 0);
}

export function unreadFrom(now: Situation, worker: string): number {
  return unreadByWorker(now).get(worker) ?? 0;
}

/** How many things each of the team has said that the person has not seen. */
export function unreadByWorker({ agent, thread }: Situation): Map<string, number> {
  const unread = new Map<string, number>();
  for (const { seq, from, to } of thread)
    if (to === HUMAN && seq > readUpTo(agent.id, from)) unread.set(from, (unread.get(from) ?? 0) + 1);
  return unread;
}

/** The person is looking at it. */
export function markRead(now: Situation, worker: string): void {
  const { agent, thread } = now;
  const newest = thread.findLast(({ from, to }) => to === HUMAN && from === worker)?.seq ?? 0;
  if (newest <= readUpTo(agent.id, worker)) return;
  keep(`read.${agent.id}.${worker}`, String(newest));
  agents.changed();
  if (isAllRead(now)) void markSeen(agent.id).catch(() => {}); // the badge is gone here; elsewhere it stays
}

/** Whether nothing that waits for the person is unread: then the record may say so, for every other page and terminal. */
function isAllRead(now: Situation): boolean {
  const waiting = Object.values(now.letters.queued).filter(({ reader }) => reader === HUMAN);
  return waiting.length > 0 && waiting.every(({ from }) => unreadFrom(now, from) === 0);
}
