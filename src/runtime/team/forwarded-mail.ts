import type { Situation } from "../../projections/index.ts";
import { COORDINATOR, type NewFact } from "../../protocol/index.ts";

/** Unread mail of readers who will not read any more: the coordinator reads it. */
export function forwardedMail({ letters }: Situation, looksNoMore: (reader: string) => boolean): NewFact[] {
  return Object.values(letters.queued)
    .filter(({ reader }) => looksNoMore(reader))
    .map(({ id }) => ({ type: "message.forwarded", data: { message_id: id, to: COORDINATOR } }));
}
