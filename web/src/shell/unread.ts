import type { Situation } from "../../../src/projections/index.ts";
import { HUMAN } from "../../../src/protocol/index.ts";
import { agents } from "../live/agents.ts";
import { give } from "../live/api.ts";
import { complain } from "./overlay.ts";

/** How many unread messages to the person each worker has sent, according to the record. */
export function unreadByWorker({ letters }: Situation): Map<string, number> {
  const unread = new Map<string, number>();
  for (const { reader, from } of Object.values(letters.queued))
    if (reader === HUMAN) unread.set(from, (unread.get(from) ?? 0) + 1);
  return unread;
}

/** Asked of the server, and not yet on record. */
const underWay = new Set<string>();

/** The person is looking at it: that is recorded as a fact, for every other page and terminal. */
export function markRead(now: Situation, worker: string): void {
  const { id } = now.agent;
  const key = `${id} ${worker}`;
  if (underWay.has(key) || !unreadByWorker(now).has(worker)) return;
  underWay.add(key);
  // What could not be told is told with the next look.
  void give({ do: "seen", id, from: worker })
    .catch(() => {})
    .finally(() => underWay.delete(key));
}

/** Marks the messages of all agents as read without showing them. */
export async function markAllRead(): Promise<void> {
  const whose = agents.list.filter(({ unread }) => unread > 0);
  try {
    await Promise.all(whose.map(({ id }) => give({ do: "seen", id })));
  } catch (error) {
    complain(error);
  }
  await agents.refresh();
}
