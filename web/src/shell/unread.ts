import type { Situation } from "../../../src/projections/index.ts";
import { HUMAN } from "../../../src/protocol/index.ts";
import { agents } from "../live/agents.ts";
import { markSeen } from "../live/api.ts";
import { keep, recall } from "./memo.ts";

/** Up to which fact the person has seen what an entity says. */
function readUpTo(agent: string, worker: string): number {
  return Number(recall(`read.${agent}.${worker}`) ?? 0);
}

export function unreadFrom({ agent, thread }: Situation, worker: string): number {
  const upTo = readUpTo(agent.id, worker);
  return thread.filter(({ seq, from, to }) => to === HUMAN && from === worker && seq > upTo).length;
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
