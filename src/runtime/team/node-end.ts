import { join } from "node:path";
import { type Board, hasEnded, type NodeState, type Situation } from "../../projections/index.ts";
import {
  COORDINATOR,
  callsOf,
  HUMAN,
  type NewFact,
  type NodeId,
  type Outcome,
  type StoredEntry,
  textOf,
  type WorkerId,
} from "../../protocol/index.ts";
import { writeFileAtomic } from "../../store/disk/atomic-file.ts";
import { conversationFile, nodeDir } from "../../store/paths.ts";
import { preparePublish, recoverPublish, undoPublish } from "../../store/run/node-folder.ts";
import { entriesOn, pastOf } from "../../workers/loop/past.ts";
import { publishPrepared } from "../../workers/publishing.ts";
import type { Workplace } from "../../workers/workplace.ts";
import { explain } from "../state/outcomes.ts";
import { freedFrom } from "../state/taken-node.ts";
import { forwardedMail } from "./forwarded-mail.ts";

type Who = { node_id: NodeId; worker_id: WorkerId };

/** Publishes the partial result of a node that was not completed, with notes for the next worker. */
export async function leavePartialResult(
  node: NodeState,
  who: Who,
  outcome: Outcome,
  { log, now, pending }: Workplace,
): Promise<void> {
  const dir = nodeDir(log.dir, node.spec.run_id, node.id);
  const entries = await log.conversation(conversationFile(node.spec.run_id, who.worker_id));
  await writeFileAtomic(join(dir, "failure_notes.md"), failureNotes(explain(outcome), node.id, entries));
  const current = now().board.nodes[node.id];
  if (current?.status === "publishing") return recoverPublish(dir, current.files);
  const prepared = await preparePublish(dir, []);
  if (!prepared.ok) return;
  if (hasEnded(pending().board.nodes[node.id])) return undoPublish(dir);
  const intent = { ...who, summary: `Partial: ${explain(outcome)}`, files: prepared.files, partial: outcome };
  await publishPrepared(log, dir, intent);
}

/**
 * The facts with which a node ends, and how it really ended: its run may have ended meanwhile, and the node with it.
 */
export async function endFacts(
  node: NodeState,
  who: Who,
  ended: Outcome,
  workplace: Workplace,
): Promise<{ facts: NewFact[]; outcome: Outcome }> {
  const { pending } = workplace;
  const heard = await heardUpto(node, who, workplace);
  const outcome: Outcome = hasEnded(pending().board.nodes[node.id]) ? { kind: "stopped" } : ended;
  const facts = [
    ...endingOf(who, outcome, unheardChildren(node.id, heard, pending()), pending().board),
    ...givenUp(node.id, outcome, pending()),
    // A stopped worker continues later and reads it then. What was said to a person waits, whatever they work on.
    ...(outcome.kind === "stopped" || who.worker_id === HUMAN
      ? []
      : forwardedMail(pending(), (reader) => reader === who.worker_id)),
  ];
  return { facts, outcome };
}

/** The newest fact that its worker has been told of. */
async function heardUpto({ id, spec }: NodeState, { worker_id }: Who, { log, pending }: Workplace): Promise<number> {
  if ((pending().board.nodes[id]?.children.length ?? 0) === 0) return 0;
  const entries = await log.conversation(conversationFile(spec.run_id, worker_id));
  const own = entriesOn(entries, id);
  return pastOf(own, "assignment", (entry) => entry.role === "user" && entry.node_id === id)?.cursor ?? 0;
}

/** Children that ended after that: their news went to somebody who will not read it any more. */
function unheardChildren(id: NodeId, heard: number, { board }: Situation): NodeId[] {
  return (board.nodes[id]?.children ?? []).filter((child) => {
    const node = board.nodes[child];
    return node && "ended_seq" in node && node.ended_seq > heard;
  });
}

function endingOf(who: Who, outcome: Outcome, children: NodeId[], board: Board): NewFact[] {
  const unheard = children.length > 0 ? { unheard: children } : {};
  const idle = freedFrom(who.node_id, who.worker_id, board);
  switch (outcome.kind) {
    case "published":
      return [{ type: "node.completed", data: { ...who, summary: outcome.summary, ...unheard } }, idle];
    case "stopped":
      return [{ type: "worker.stopped", data: { worker_id: who.worker_id } }];
    default:
      return [{ type: "node.failed", data: { ...who, outcome, ...unheard } }, idle];
  }
}

/** Work that builds on something that failed would wait for ever: it ends with it, and the coordinator decides. */
function givenUp(failed: NodeId, outcome: Outcome, { board }: Situation): NewFact[] {
  if (outcome.kind === "published" || outcome.kind === "stopped") return [];
  const gone = new Map<NodeId, NodeId>([[failed, failed]]);
  for (const node of Object.values(board.nodes)) {
    const cause = node.spec.dependencies.find((id) => gone.has(id));
    if (node.status === "pending" && cause !== undefined) gone.set(node.id, cause);
  }
  gone.delete(failed);
  return [...gone].map(([node_id, cause]) => ({
    type: "node.failed",
    data: {
      node_id,
      worker_id: COORDINATOR,
      outcome: { kind: "abandoned", error: `It builds on ${cause}, which failed.` },
    },
  }));
}

/** For the next worker: what was asked, said and done, to the end. */
function failureNotes(error: string, id: NodeId, entries: readonly StoredEntry[]): string {
  const start = entries.findLastIndex((entry) => entry.role === "user" && entry.node_id === id);
  const said = entries.slice(Math.max(0, start)).map((entry) => {
    if (entry.role === "assistant") {
      const calls = callsOf(entry).map((call) => `- ${call.name} ${JSON.stringify(call.args)}`);
      return `### assistant\n\n${[textOf(entry), ...calls].filter(Boolean).join("\n")}`;
    }
    return `### ${entry.role === "tool" ? `result of ${entry.tool}` : entry.role}\n\n${entry.content}`;
  });
  return `# Failure notes for ${id}\n\n${error}\n\n## Conversation\n\n${said.join("\n\n")}\n`;
}
