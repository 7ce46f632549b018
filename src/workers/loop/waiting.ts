import type { Mailbox } from "../../mail/mailbox.ts";
import { deferredBy, hasEnded, type NodeState, openBelow } from "../../projections/index.ts";
import type { Outcome, UserEntry } from "../../protocol/index.ts";
import type { Workplace } from "../workplace.ts";
import type { Actor, Recorder } from "./recorded-loop.ts";
import type { Silence } from "./work-loop.ts";

/** Waiting is a promise that the log resolves; it costs nothing and everyone can see it. */
export async function waitForMail(
  { worker_id, node_id }: Actor,
  reason: "news" | "children" | "human",
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

/** What can come for a worker who does nothing: the end of a sub-node, an answer, or just any message. */
export function waitsFor(
  node: NodeState,
  { worker_id, node_id }: Actor,
  { pending }: Workplace,
): "children" | "human" | "news" {
  if (openBelow(node, pending().board).length > 0) return "children";
  return deferredBy(pending().questions, worker_id, node_id).length > 0 ? "human" : "news";
}

const PATIENCE = 3;

/** Silence while others work on its sub-nodes is patience; otherwise a worker is reminded, a few times in a row. */
export function waitOrAsk(node: NodeState, actor: Actor, mailbox: Mailbox, place: Workplace) {
  return async ({ inARow, missedCall: unheard }: Silence, signal: AbortSignal): Promise<Outcome | UserEntry[]> => {
    const reason = waitsFor(node, actor, place);
    if (reason !== "news" && mailbox.waiting === 0) await waitForMail(actor, reason, mailbox, place, signal);
    if (mailbox.waiting > 0) return newsOn(node, mailbox, place);
    if (inARow > PATIENCE) return { kind: "failed", error: "The worker stopped calling tools and never published." };
    const content =
      unheard ?? "You called no tool. If the work is done, write it to scratch/ and call publish; otherwise go on.";
    return [{ role: "user", from: "agiraph", content }];
  };
}

/** Mail has expired for whoever's node was ended from outside. */
export function newsOn({ id }: NodeState, mailbox: Mailbox, { pending }: Workplace): UserEntry[] {
  return hasEnded(pending().board.nodes[id]) ? [] : mailbox.take();
}
