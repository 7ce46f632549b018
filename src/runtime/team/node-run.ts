import { hasEnded, type NodeState, type Situation, type WorkerState } from "../../projections/index.ts";
import type { NewFact, NodeId, Outcome, StageContract, WorkerId } from "../../protocol/index.ts";
import { conversationFile, nodeDir, workerDir } from "../../store/paths.ts";
import {
  createWorkerFolder,
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
import type { Colleagues, Workplace } from "../../workers/workplace.ts";
import { asOutcome, explain } from "../state/outcomes.ts";
import type { TakenNode } from "../state/taken-node.ts";
import { endFacts, leavePartialResult } from "./node-end.ts";
import { pinnedRefs, problemWithRefs } from "./pinned-refs.ts";
import { cannotWork, ringAfter } from "./working-time.ts";

/** The worker, its node, its team and its workplace. */
interface NodeRun {
  node: TakenNode;
  worker: WorkerState;
  who: { node_id: NodeId; worker_id: WorkerId };
  team: Colleagues;
  workplace: Workplace;
  signal: AbortSignal;
}

/**
 * One worker on one node, to its end.
 *
 * NODE-RUN-1. A failed try is repeated once, and the worker is told what went wrong; a node that fails leaves notes.
 * NODE-RUN-2. A worker that runs out of turns, time or money publishes what it has, with notes on the rest.
 * NODE-RUN-3. The end is one append: node and worker change together, and unread mail goes to the coordinator.
 */
export async function runNode(
  node: TakenNode,
  worker: WorkerState,
  team: Colleagues,
  workplace: Workplace,
  signal: AbortSignal,
): Promise<void> {
  const who = { node_id: node.id, worker_id: worker.id };
  const work: NodeRun = { node, worker, who, team, workplace, signal };
  const unready = await prepare(work).then(() => null, asOutcome(signal));
  await begin(work);
  // Its partial result was being published when a crash came: that was its end, nobody works on it any more.
  const partial = node.status === "publishing" ? node.partial : null;
  const outcome = unready ?? partial ?? (await tryTwice(work));
  if (outcome.kind !== "published" && outcome.kind !== "stopped")
    await leavePartialResult(node, who, outcome, workplace).catch((error: unknown) => void asOutcome(signal)(error));
  await end(work, outcome);
}

async function prepare({ node, worker, workplace, signal }: NodeRun): Promise<void> {
  const { log, now } = workplace;
  const dir = nodeDir(log.dir, node.spec.run_id, node.id);
  const workerFolder = workerDir(log.dir, node.spec.run_id, worker.id);
  const { name, identity = "A capable generalist.", memory = "" } = worker.spawned;
  const added = await createWorkerFolder(workerFolder, { name, identity, memory });
  // A brief that was given since then replaces the one before.
  if (node.status === "assigned" && !added.has("identity.md")) await writeIdentity(workerFolder, identity);
  if (node.status === "assigned" && node.asked_before)
    await repairSpec(dir, { id: node.id, ...node.spec }, node.asked_before);
  if (node.status === "assigned" && node.reopened) await reopenPublish(dir);
  // A publish that was prepared but never recorded has left a copy.
  if (node.status === "running") await undoPublish(dir);
  const problem = await problemWithRefs(node.spec.refs, now().board, log.dir);
  if (problem !== undefined) throw new Error(problem);
  await workplace.repository?.open(node, worker, signal);
}

async function begin(work: NodeRun): Promise<void> {
  const { node, worker, who, workplace } = work;
  const { log, now } = workplace;
  const dir = nodeDir(log.dir, node.spec.run_id, node.id);
  if (node.status === "assigned" && !isOver(work)) {
    const pins = pinnedRefs(node.spec.refs, now().board);
    const refs = Object.keys(pins).length > 0 ? { refs: pins } : {};
    await log.append({ facts: [{ type: "node.started", data: { ...who, ...refs } }] }).durable;
    writeRefs(dir, node.spec.refs, pins, node.spec.inputs);
  }
  await writeStatus(dir, "running", `By ${worker.spawned.name}.`).catch(() => {});
}

async function tryTwice(work: NodeRun): Promise<Outcome> {
  const { node, workplace, signal } = work;
  const contract = contractOf(node, workplace.now());
  const outcome = await oneTry(work, contract).catch(asOutcome(signal));
  if (outcome.kind !== "failed" || node.failures > 0) return outcome;
  const again = await secondTry(work, outcome.error);
  if (signal.aborted || isOver(work)) return outcome;
  await workplace.log.append(again).durable;
  return oneTry(work, contract).catch(asOutcome(signal));
}

/**
 * The stage's contract bounds turns and time. Time begins anew when work is taken up: a pause overnight is not work, nor
 * is a rate limit or waiting for sub-nodes.
 */
async function oneTry(work: NodeRun, contract: StageContract | undefined): Promise<Outcome> {
  const { node, worker, team, workplace, signal } = work;
  const bounded = contract
    ? { ...workplace, maxTurns: Math.min(workplace.maxTurns, contract.max_iterations_per_node) }
    : workplace;
  const { kind } = worker.spawned;
  const workOn = kind === "harnessed" ? workOnNode : kind === "human" ? workByHuman : workByProgram;
  if (!contract) return workOn(node, worker, team, bounded, signal);
  const over = new AbortController();
  const resting = () => cannotWork(worker.id, node.spec.run_id, workplace.now());
  const stop = ringAfter(contract.timeout_seconds * 1000, resting, workplace, () =>
    over.abort(new Error("out of time")),
  );
  try {
    const outcome = await workOn(node, worker, team, bounded, AbortSignal.any([signal, over.signal]));
    const late = outcome.kind === "stopped" && over.signal.aborted && !signal.aborted;
    return late ? { kind: "abandoned", error: `Not done within ${contract.timeout_seconds} s.` } : outcome;
  } finally {
    stop();
  }
}

/** The second try is told what went wrong; a worker that never got as far as the first words begins with them. */
async function secondTry({ node, who, workplace }: NodeRun, error: string): Promise<Batch> {
  const facts: NewFact[] = [
    { type: "node.retried", data: { ...who, error } },
    { type: "node.started", data: who },
  ];
  const file = conversationFile(node.spec.run_id, who.worker_id);
  const entries = await workplace.log.conversation(file);
  const hasBegun = entries.some((entry) => entry.role === "user" && entry.node_id === node.id);
  const content = `This try failed: ${error}\nGo on from there; another failure ends the node.`;
  return hasBegun
    ? { facts, entries: { file, entries: [{ role: "user", from: "agiraph", content, again: true }] } }
    : { facts };
}

async function end(work: NodeRun, ended: Outcome): Promise<void> {
  const { node, worker, who, workplace } = work;
  const { log, now } = workplace;
  const { facts, outcome } = await endFacts(node, who, ended, workplace);
  await log.append({ facts }).durable;
  if (outcome.kind !== "stopped") await workplace.outside.ended?.(worker.spawned, node.id).catch(() => {});
  if (isOver(work)) await saveClone(work).catch(() => {});
  const { status } = now().board.nodes[node.id] ?? node;
  const dir = nodeDir(log.dir, node.spec.run_id, node.id);
  const workerFolder = workerDir(log.dir, node.spec.run_id, worker.id);
  // Both are made from the facts: failing to write them changes nothing.
  await writeStatus(dir, status, outcome.kind === "published" ? outcome.summary : explain(outcome)).catch(() => {});
  await writeHistory(workerFolder, now().board, node.spec.run_id, worker.id).catch(() => {});
}

/** What cannot be saved stays where it is, and the human is told. */
async function saveClone({ node, who, workplace }: NodeRun): Promise<void> {
  const { repository, toHuman, log, now } = workplace;
  if (!repository) return;
  try {
    await repository.ended(now().board.nodes[node.id] ?? node);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const text = `What ${node.id} has left in its clone is not saved, so its clone stays. ${reason}`;
    if (toHuman) await log.append({ facts: [toHuman(who.worker_id, text)] }).durable;
  }
}

function isOver({ node, workplace }: NodeRun): boolean {
  return hasEnded(workplace.pending().board.nodes[node.id]);
}

function contractOf(node: NodeState, now: Situation): StageContract | undefined {
  return now.stages.find((stage) => stage.run_id === node.spec.run_id && stage.number === node.spec.stage)?.contract;
}

/** Programs are loaded when one works. */
async function workByProgram(...work: Parameters<typeof workOnNode>): Promise<Outcome> {
  const { workOutside } = await import("../../workers/outside/work-outside.ts");
  return workOutside(...work);
}
