import type { Situation } from "../../projections/index.ts";
import { COORDINATOR, type NewFact } from "../../protocol/index.ts";

/** Of readers who would not look any more, what they have not read: the coordinator reads it. */
export function forwardedMail({ letters }: Situation, looksNoMore: (reader: string) => boolean): NewFact[] {
  return Object.values(letters.queued)
    .filter(({ reader }) => looksNoMore(reader))
    .map(({ id }) => ({ type: "message.forwarded", data: { message_id: id, to: COORDINATOR } }));
}
