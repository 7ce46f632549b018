import { Mailbox } from "../mail/mailbox.ts";
import type { NodeState, WorkerState } from "../projections/index.ts";
import type { Entry, StoredEntry } from "../protocol/index.ts";
import { conversationFile } from "../store/paths.ts";
import { manifestsOf } from "../store/run/manifests.ts";
import type { Scope } from "../store/scope/scope.ts";
import { workerScope } from "../store/scope/team-scopes.ts";
import type { NodePort } from "../tools/work.ts";
import {
  colleaguesCursor,
  entriesBefore,
  entriesOn,
  lastCursor,
  lastNodeIn,
  type Past,
  pastOf,
  sinceSummary,
} from "./loop/past.ts";
import type { ActingWorker } from "./loop/recorded-loop.ts";
import { publisher } from "./publishing.ts";
import type { Workplace } from "./workplace.ts";

/** A worker's work on a node: what it may touch, what it has not been told yet, and what was said on this node before. */
export interface NodeWork {
  node: NodeState;
  worker: WorkerState;
  workplace: Workplace;
  self: ActingWorker;
  scope: Scope;
  port: NodePort;
  /** The caller closes it. */
  mailbox: Mailbox;
  begun: Past | undefined;
  /** Of a role that stays from stage to stage: what was said before it began this node. */
  earlier: Entry[];
  /** News up to this fact was told, or came before the work began. */
  cursor: number;
}

/** Opens the work on a node: for the first time, or where it was left. `stopWriters`: see `publisher`. */
export async function resumeWork(
  node: NodeState,
  worker: WorkerState,
  workplace: Workplace,
  signal: AbortSignal,
  stopWriters?: () => Promise<void>,
): Promise<NodeWork> {
  const { log } = workplace;
  const { run_id } = node.spec;
  const self: ActingWorker = {
    worker_id: worker.id,
    node_id: node.id,
    conversation: conversationFile(run_id, worker.id),
  };
  const { project } = workplace.now().agent.created;
  const published = manifestsOf(() => workplace.now().board);
  const scope = workerScope({
    agentDir: log.dir,
    runId: run_id,
    nodeId: node.id,
    workerId: worker.id,
    project,
    published,
    hasClone: workplace.repository !== undefined && node.spec.inference !== "single",
  });
  const port = publisher({ node, worker, scope, workplace, signal, stopWriters });

  let stored = await log.conversation(self.conversation);
  // A program keeps its own conversation, and has one for each node.
  const isRole = node.spec.role !== undefined && worker.spawned.kind === "harnessed";
  const earlier = isRole ? entriesBefore(stored, node.id) : [];
  let begun = pastOn(node, stored, earlier);
  const again = begun ? reopeningEntries(node, worker, stored, begun) : [];
  if (begun && again.length > 0) {
    await log.append({ entries: { file: self.conversation, entries: again } }).durable;
    stored = await log.conversation(self.conversation);
    begun = pastOn(node, stored, earlier);
  }
  // What was said between the assignment and its first words is the first news of it.
  const assigned = "assigned_seq" in node ? node.assigned_seq : workplace.now().seq;
  // A worker that takes over a node is told everything that has ended below it.
  const cursor = begun?.cursor ?? (node.reopened ? 0 : assigned);
  const told = Math.max(lastCursor(stored), assigned);
  const on = { node: node.id, told, colleagues: colleaguesCursor(entriesOn(stored, node.id)) };
  const mailbox = await Mailbox.open(log, worker.id, cursor, workplace.now, on);
  return { node, worker, workplace, self, scope, port, mailbox, begun, earlier: sinceSummary(earlier), cursor };
}

/** What was said on this node, if anything was; of a role, with what was said before it. */
export function pastOn(
  { id }: Pick<NodeState, "id">,
  stored: readonly StoredEntry[],
  earlier: readonly StoredEntry[] = [],
): Past | undefined {
  const words = [...earlier, ...entriesOn(stored, id)];
  return pastOf(words, "beginning", (entry) => entry.role === "user" && entry.node_id === id);
}

/** What is said to a worker that has a node again: after other work, or after the node had ended. */
function reopeningEntries(node: NodeState, worker: WorkerState, stored: readonly StoredEntry[], begun: Past): Entry[] {
  const { id, spec } = node;
  const system: Entry[] = lastNodeIn(stored) === id ? [] : [{ role: "system", content: begun.system, node_id: id }];
  const assigned = "assigned_seq" in node ? node.assigned_seq : undefined;
  const isSaid = stored.some((entry) => entry.role === "user" && entry.assigned === assigned);
  const hadEnded = begun.history.findLast((entry) => entry.role === "tool")?.ending !== undefined;
  if (assigned === undefined || isSaid || !node.reopened || !(node.handed || hadEnded)) return system;
  // A program has it from the news, which comes in the same turn.
  const left = node.handed?.from === worker.id && worker.spawned.kind === "harnessed" ? `\n${node.handed.did}` : "";
  const words = { content: `${id} is yours again: go on from what is there.${left}`, node_id: id, run_id: spec.run_id };
  return [...system, { role: "user", from: "agiraph", ...words, upto: begun.cursor, assigned }];
}
