import type { Situation } from "../../../src/projections/index.ts";
import { HUMAN } from "../../../src/protocol/index.ts";
import { agents } from "../live/agents.ts";
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
export function markRead({ agent, thread }: Situation, worker: string): void {
  const newest = thread.findLast(({ from, to }) => to === HUMAN && from === worker)?.seq ?? 0;
  if (newest <= readUpTo(agent.id, worker)) return;
  keep(`read.${agent.id}.${worker}`, String(newest));
  agents.changed();
}
