import type { Mailbox } from "../mail/mailbox.ts";
import { hasEnded, type NodeState, openBelow } from "../projections/index.ts";
import type { Outcome, UserEntry } from "../protocol/index.ts";
import type { Actor, Recorder } from "./carry-out.ts";
import type { Silence } from "./work-loop.ts";
import type { Workplace } from "./workplace.ts";

/** Waiting is a promise that the log resolves; it costs nothing and everyone can see it. */
export async function waitForMail(
  { worker_id, node_id }: Actor,
  reason: "news" | "children",
  mailbox: Mailbox,
  { log }: Recorder,
  signal: AbortSignal,
  isEnough?: () => boolean,
): Promise<void> {
  const who = { worker_id, node_id };
  await log.append({ facts: [{ type: "worker.waiting", data: { ...who, for: reason } }] }).durable;
  await mailbox.arrived(signal, isEnough);
  // Whoever was spoken to is not kept waiting by the disk for this: the next entry will say if it could not be kept.
  log.append({ facts: [{ type: "worker.busy", data: who }] }).durable.catch(() => {});
}

const PATIENCE = 3;

/** Silence while others work on its sub-nodes is patience; otherwise a worker is reminded, a few times in a row. */
export function waitOrAsk(node: NodeState, actor: Actor, mailbox: Mailbox, place: Workplace) {
  return async ({ inARow }: Silence, signal: AbortSignal): Promise<Outcome | UserEntry[]> => {
    if (openBelow(node, place.now().board).length > 0 && mailbox.waiting === 0) {
      await waitForMail(actor, "children", mailbox, place, signal);
    }
    if (mailbox.waiting > 0) return newsOn(node, mailbox, place);
    if (inARow > PATIENCE) return { kind: "failed", error: "The worker stopped calling tools and never published." };
    const content = "You called no tool. If the work is done, write it to scratch/ and call publish; otherwise go on.";
    return [{ role: "user", from: "agiraph", content }];
  };
}

/** Mail has expired for whoever's node was ended from outside. */
export function newsOn({ id }: NodeState, mailbox: Mailbox, { soon }: Workplace): UserEntry[] {
  return hasEnded(soon().board.nodes[id]) ? [] : mailbox.take();
}
