import { join } from "node:path";
import { hasEnded, type NodeState, type Situation, type WorkerState } from "../../projections/index.ts";
import {
  COORDINATOR,
  callsOf,
  HUMAN,
  type NewFact,
  type NodeId,
  type Outcome,
  type StageContract,
  type StoredEntry,
  textOf,
} from "../../protocol/index.ts";
import { writeFileAtomic } from "../../store/disk/atomic-file.ts";
import { StoreError } from "../../store/errors.ts";
import { conversationFile, nodeDir, workerDir } from "../../store/paths.ts";
import {
  createWorkerFolder,
  preparePublish,
  recoverPublish,
  reopenPublish,
  repairSpec,
  undoPublish,
  writeIdentity,
  writeStatus,
} from "../../store/run/node-folder.ts";
import { writeHistory, writeRefs } from "../../store/run/run-files.ts";
import type { Batch } from "../../store/store.ts";
import { workOnNode } from "../../workers/harnessed.ts";
import { workByHuman } from "../../workers/human-worker.ts";
import { entriesOn, pastOf } from "../../workers/loop/past.ts";
import { BudgetExhausted } from "../../workers/loop/purse.ts";
import { workOutside } from "../../workers/outside/work-outside.ts";
import { publishPrepared } from "../../workers/publishing.ts";
import type { Colleagues, Workplace } from "../../workers/workplace.ts";
import { forwardedMail } from "./forwarded-mail.ts";
import { pinnedRefs, problemWithRefs } from "./pinned-refs.ts";
import { cannotWork, ringAfter } from "./working-time.ts";

type Who = { node_id: NodeId; worker_id: string };
type TakenNode = Extract<NodeState, { status: "assigned" | "running" | "publishing" }>;

export function isTaken(node: NodeState): node is TakenNode {
  return node.status === "assigned" || node.status === "running" || node.status === "publishing";
}

/**
 * One worker on one node, to its end.
 *
 * NODE-RUN-1. A try that failed is repeated once, and who tries again is told what went wrong; a node that fails leaves
 *     notes.
 * NODE-RUN-2. Whoever runs out of turns, time or money publishes what there is, and hands the rest over.
 * NODE-RUN-3. The end is one append: node and worker change together, and mail that nobody read goes to the
 *     coordinator.
 */
export async function runNode(
  node: TakenNode,
  worker: WorkerState,
  team: Colleagues,
  place: Workplace,
  signal: AbortSignal,
): Promise<void> {
  const { log, now, pending } = place;
  const over = () => hasEnded(pending().board.nodes[node.id]);
  const who: Who = { node_id: node.id, worker_id: worker.id };
  const dir = nodeDir(log.dir, node.spec.run_id, node.id);
  const home = workerDir(log.dir, node.spec.run_id, worker.id);
  const { name, identity = "A capable generalist.", memory = "" } = worker.spawned;
  const unready = await prepare().then(() => null, asOutcome(signal));
  if (node.status === "assigned" && !over()) {
    const pins = pinnedRefs(node.spec.refs, now().board);
    const refs = Object.keys(pins).length > 0 ? { refs: pins } : {};
    await log.append({ facts: [{ type: "node.started", data: { ...who, ...refs } }] }).durable;
    writeRefs(dir, node.spec.refs, pins, node.spec.inputs);
  }
  await writeStatus(dir, "running", `By ${worker.spawned.name}.`).catch(() => {});

  async function prepare(): Promise<void> {
    const added = await createWorkerFolder(home, { name, identity, memory });
    // A brief that was given since then replaces the one before.
    if (node.status === "assigned" && !added.has("identity.md")) await writeIdentity(home, identity);
    if (node.status === "assigned" && node.asked_before)
      await repairSpec(dir, { id: node.id, ...node.spec }, node.asked_before);
    if (node.status === "assigned" && node.reopened) await reopenPublish(dir);
    // A publish that was prepared but never recorded has left a copy.
    if (node.status === "running") await undoPublish(dir);
    const problem = await problemWithRefs(node.spec.refs, now().board, log.dir);
    if (problem !== undefined) throw new Error(problem);
  }

  const contract = contractOf(node, now());
  // Handed over and cut off by a crash: that was its end, nobody works on it any more.
  const handedOver = node.status === "publishing" ? node.partial : null;
  let outcome =
    unready ?? handedOver ?? (await oneTry(node, worker, contract, team, place, signal).catch(asOutcome(signal)));
  if (outcome.kind === "failed" && !unready && !handedOver && node.failures === 0) {
    const again = await secondTry(node, who, outcome.error, place);
    if (!signal.aborted && !over()) {
      await log.append(again).durable;
      outcome = await oneTry(node, worker, contract, team, place, signal).catch(asOutcome(signal));
    }
  }
  if (outcome.kind !== "published" && outcome.kind !== "stopped") {
    await handOver(node, who, outcome, dir, place).catch((error: unknown) => void asOutcome(signal)(error));
  }
  const heard = await heardUpto(node, who, place);
  // The run may have ended meanwhile, and the node with it.
  if (over()) outcome = { kind: "stopped" };
  const facts = [
    ...endingOf(who, outcome, unheardChildren(node.id, heard, pending())),
    ...givenUp(node.id, outcome, pending()),
    // Who is stopped goes on later, and reads it then.
    // What was said to a person waits for them, whatever they work on.
    ...(outcome.kind === "stopped" || who.worker_id === HUMAN
      ? []
      : forwardedMail(pending(), (reader) => reader === who.worker_id)),
  ];
  await log.append({ facts }).durable;
  if (outcome.kind !== "stopped") await place.outside.ended?.(worker.spawned, node.id).catch(() => {});
  const { status } = now().board.nodes[node.id] ?? node;
  // Both are made from the facts: failing to write them changes nothing.
  await writeStatus(dir, status, outcome.kind === "published" ? outcome.summary : explain(outcome)).catch(() => {});
  await writeHistory(home, now().board, node.spec.run_id, worker.id).catch(() => {});
}

/** Whoever tries again knows what went wrong; who never got as far as the first words begins with them. */
async function secondTry(node: NodeState, who: Who, error: string, { log }: Workplace): Promise<Batch> {
  const facts: NewFact[] = [
    { type: "node.retried", data: { ...who, error } },
    { type: "node.started", data: who },
  ];
  const file = conversationFile(node.spec.run_id, who.worker_id);
  const begun = (await log.conversation(file)).some((entry) => entry.role === "user" && entry.node_id === node.id);
  const content = `This try failed: ${error}\nWhat you said and wrote so far is still there. Try once more, and do it differently if that is what went wrong; a second failure ends the node.`;
  return begun
    ? { facts, entries: { file, entries: [{ role: "user", from: "agiraph", content, again: true }] } }
    : { facts };
}

/**
 * The stage's contract bounds turns and time. Time begins anew when work is taken up: a pause overnight is not work, nor
 * is a rate limit or waiting for sub-nodes.
 */
async function oneTry(
  node: TakenNode,
  worker: WorkerState,
  contract: StageContract | undefined,
  team: Colleagues,
  place: Workplace,
  signal: AbortSignal,
): Promise<Outcome> {
  const bounded = contract ? { ...place, maxTurns: Math.min(place.maxTurns, contract.max_iterations_per_node) } : place;
  const { kind } = worker.spawned;
  const work = kind === "harnessed" ? workOnNode : kind === "human" ? workByHuman : workOutside;
  if (!contract) return work(node, worker, team, bounded, signal);
  const over = new AbortController();
  const resting = () => cannotWork(worker.id, node.spec.run_id, place.now());
  const stop = ringAfter(contract.timeout_seconds * 1000, resting, place, () => over.abort(new Error("out of time")));
  try {
    const outcome = await work(node, worker, team, bounded, AbortSignal.any([signal, over.signal]));
    const late = outcome.kind === "stopped" && over.signal.aborted && !signal.aborted;
    return late ? { kind: "abandoned", error: `Not done within ${contract.timeout_seconds} s.` } : outcome;
  } finally {
    stop();
  }
}

function contractOf(node: NodeState, now: Situation): StageContract | undefined {
  return now.stages.find((stage) => stage.run_id === node.spec.run_id && stage.number === node.spec.stage)?.contract;
}

async function handOver(
  node: NodeState,
  who: Who,
  outcome: Outcome,
  dir: string,
  { log, now, pending }: Workplace,
): Promise<void> {
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

function endingOf(who: Who, outcome: Outcome, children: NodeId[]): NewFact[] {
  const unheard = children.length > 0 ? { unheard: children } : {};
  const idle: NewFact = { type: "worker.idle", data: { worker_id: who.worker_id } };
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

/** For whoever takes it up: what was asked, said and done, to the end. */
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

/** Whatever else goes wrong with one worker is that worker's failure. Only a log that cannot be kept is everybody's. */
export function asOutcome(signal: AbortSignal): (error: unknown) => Outcome {
  return (error) => {
    if (error instanceof StoreError) throw error;
    if (signal.aborted && signal.reason instanceof BudgetExhausted) return signal.reason.outcome;
    if (signal.aborted) return { kind: "stopped" };
    return { kind: "failed", error: error instanceof Error ? error.message : String(error) };
  };
}

export function explain(outcome: Outcome): string {
  switch (outcome.kind) {
    case "exhausted":
      return `All ${outcome.turns} turns were used without finishing.`;
    case "budget_exhausted":
      return outcome.spent_tokens === undefined
        ? `The budget is spent ($${outcome.spent_usd.toFixed(4)}).`
        : `The budget of tokens is spent (${outcome.spent_tokens.toLocaleString("en-US")} tokens).`;
    case "failed":
    case "abandoned":
      return outcome.error;
    default:
      return outcome.kind;
  }
}
