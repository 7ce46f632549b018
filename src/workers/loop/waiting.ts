import type { Mailbox } from "../../mail/mailbox.ts";
import { deferredBy, hasEnded, type NodeState, openBelow } from "../../projections/index.ts";
import type { Outcome, UserEntry } from "../../protocol/index.ts";
import type { ActingWorker, Recorder } from "./recorded-loop.ts";
import type { ReplyWithoutCall } from "./work-loop.ts";

export interface MailReader {
  self: ActingWorker;
  mailbox: Mailbox;
  workplace: Pick<Recorder, "log">;
}

/** Waiting is a promise that the log resolves; it costs nothing and everyone can see it. */
export async function waitForMail(
  { self, mailbox, workplace: { log } }: MailReader,
  reason: "news" | "children" | "human",
  signal: AbortSignal,
  isEnough: () => boolean = () => mailbox.waiting > 0,
): Promise<void> {
  // After a stop, a coordinator that waits lets the nodes go on: to say so before it has read why it was woken is too early.
  if (isEnough()) return;
  const { worker_id, node_id } = self;
  const who = { worker_id, node_id };
  await log.append({ facts: [{ type: "worker.waiting", data: { ...who, for: reason } }] }).durable;
  await mailbox.arrived(signal, isEnough);
  // The reader goes on without waiting for the disk: if this is lost, the next entry fails and says so.
  log.append({ facts: [{ type: "worker.busy", data: who }] }).durable.catch(() => {});
}

/** Who reads the mail on a node. */
export interface NodeReader extends MailReader {
  node: NodeState;
  workplace: Pick<Recorder, "log" | "pending">;
}

/** What can come for a worker who does nothing: the end of a sub-node, an answer, or just any message. */
export function waitsFor({ node, self, workplace }: NodeReader): "children" | "human" | "news" {
  const { board, questions } = workplace.pending();
  if (openBelow(node, board).length > 0) return "children";
  return deferredBy(questions, self.worker_id, self.node_id).length > 0 ? "human" : "news";
}

const PATIENCE = 3;

/** A worker whose sub-nodes are still worked on waits; otherwise it is reminded, a few times in a row. */
export function waitOrAsk(reader: NodeReader) {
  const { mailbox } = reader;
  return async (
    { inARow, missedCall: unheard }: ReplyWithoutCall,
    signal: AbortSignal,
  ): Promise<Outcome | UserEntry[]> => {
    const reason = waitsFor(reader);
    if (reason !== "news" && mailbox.waiting === 0) await waitForMail(reader, reason, signal);
    if (mailbox.waiting > 0) return untoldMail(reader);
    if (inARow > PATIENCE) return { kind: "failed", error: "The worker stopped calling tools and never published." };
    const content =
      unheard ?? "You called no tool. If the work is done, write it to scratch/ and call publish; otherwise go on.";
    return [{ role: "user", from: "agiraph", content }];
  };
}

/** The mail that has not been told yet. A node that was ended from outside gets none: its mail goes elsewhere. */
export function untoldMail({ node, mailbox, workplace }: NodeReader): UserEntry[] {
  return hasEnded(workplace.pending().board.nodes[node.id]) ? [] : mailbox.take();
}
