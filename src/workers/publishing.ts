import { hasEnded, type NodeState, openBelow, runningCommandsOf, type WorkerState } from "../projections/index.ts";
import { type NewFact, type NodeId, type Outcome, textOf } from "../protocol/index.ts";
import { isForWantOfRoom } from "../store/disk/disk.ts";
import { nodeDir } from "../store/paths.ts";
import {
  finishPublish,
  preparePublish,
  problemPublishing,
  recoverPublish,
  undoPublish,
} from "../store/run/node-folder.ts";
import type { Scope } from "../store/scope/scope.ts";
import { stillRunning } from "../tools/background.ts";
import type { NodePort } from "../tools/work.ts";
import type { ReplyWithoutCall } from "./loop/work-loop.ts";
import type { ReadyToPublish, Workplace } from "./workplace.ts";

export interface Publishing {
  node: NodeState;
  worker: WorkerState;
  scope: Scope;
  workplace: Workplace;
  signal: AbortSignal;
  /** Stops everything that could still write to the node's folder. */
  stopWriters?: (() => Promise<void>) | undefined;
}

/**
 * Publishing: check, copy, record the intent with its manifest, rename once. Safe to repeat after a crash at any point.
 * The node is completed later, by the caller who receives the outcome. `stopWriters` is called once every check has
 * passed, so that what was checked is what is published.
 */
export function publisher({ node, worker, scope, workplace, signal, stopWriters }: Publishing): NodePort {
  const { log, now } = workplace;
  const dir = nodeDir(log.dir, node.spec.run_id, node.id);
  return {
    async publish(summary, learned, below) {
      const current = now().board.nodes[node.id];
      if (current?.status === "completed") return { ok: true, files: current.files };
      if (current?.status === "publishing") {
        await recoverPublish(dir, current.files);
        return { ok: true, files: current.files };
      }
      // As it is now: it may have been changed since it was begun.
      const { checks = [], deliverables } = (workplace.pending().board.nodes[node.id] ?? node).spec;
      const open = openBelow(node, workplace.pending().board);
      if (below === "must have ended" && open.length > 0) return { ok: false, reason: stillOpen(open) };
      const running = stillRunning(runningCommandsOf(workplace.pending().commands, worker.id));
      if (running !== null) return { ok: false, reason: running };
      // Seed 000: the summary of a role may be its whole result.
      if (node.spec.role !== undefined && deliverables.length === 0) await writeIfEmpty(scope, summary);
      const ready = await makeReady({ node, worker, scope, workplace, signal }, summary, checks);
      if (!ready.ok) return ready;
      try {
        // What is in the repository is not in scratch/.
        const wanted = await missingIn(deliverables, ready);
        if (ready.commit) await writeIfEmpty(scope, summary);
        if (stopWriters) {
          const reason = problemPublishing(dir, wanted);
          if (reason !== undefined) return { ok: false, reason: aboutClone(reason, ready) };
          await stopWriters();
        }
        const prepared = await preparePublish(dir, wanted);
        if (!prepared.ok) return { ok: false, reason: aboutClone(prepared.reason, ready) };
        if (learned.trim()) await remember(scope, node, learned);
        if (hasEnded(workplace.pending().board.nodes[node.id])) {
          await undoPublish(dir);
          return { ok: false, reason: "the node has been ended." };
        }
        const { commit, facts } = ready;
        const intent = { node_id: node.id, worker_id: worker.id, summary, files: prepared.files };
        await publishPrepared(log, dir, { ...intent, ...(commit && { commit }) }, facts);
        await ready.landed();
        return { ok: true, files: prepared.files };
      } finally {
        ready.end();
      }
    },
  };
}

/** The checks have passed: of what it changed in the repository where the agent has one, else in its folder. */
async function makeReady(
  { node, worker, scope, workplace, signal }: Omit<Publishing, "stopWriters">,
  summary: string,
  checks: readonly string[],
): Promise<ReadyToPublish> {
  const { repository, toHuman } = workplace;
  if (repository && node.spec.inference !== "single")
    return repository.makeReady({ node, worker, summary, checks, scope, toHuman }, signal);
  for (const command of checks) {
    const problem = await workplace.check(command, scope, signal, workplace);
    if (problem !== null) return { ok: false, reason: failedCheck(command, problem) };
  }
  return { ok: true, inClone: false, facts: [], has: async () => false, landed: async () => {}, end: () => {} };
}

async function missingIn(
  deliverables: readonly string[],
  { has }: Extract<ReadyToPublish, { ok: true }>,
): Promise<string[]> {
  const isThere = await Promise.all(deliverables.map((path) => has(path)));
  return deliverables.filter((_, at) => !isThere[at]);
}

async function writeIfEmpty(scope: Scope, summary: string): Promise<void> {
  if ((await scope.list("scratch", { limit: 1 })).entries.length === 0)
    await scope.writeFile("scratch/summary.md", `${summary}\n`);
}

/** Where it could have changed a repository, an empty folder is not all that is missing. */
function aboutClone(reason: string, { commit, inClone }: Extract<ReadyToPublish, { ok: true }>): string {
  return inClone && !commit ? `You have changed nothing in the repository, and of your folder: ${reason}` : reason;
}

/** With its exit code and what it printed. */
function failedCheck(command: string, problem: string): string {
  return `the check \`${command}\` did not pass.\n${problem}\nFix it and publish again. If the check itself is wrong, tell the coordinator, who can change it, or give_up.`;
}

/** Records the intent, then finishes. If the disk had no room for the fact, the copy is removed, too. */
export async function publishPrepared(
  log: Pick<Workplace["log"], "append">,
  dir: string,
  intent: Extract<NewFact, { type: "node.published" }>["data"],
  withIt: readonly NewFact[] = [],
): Promise<void> {
  try {
    await log.append({ facts: [{ type: "node.published", data: intent }, ...withIt] }).durable;
  } catch (error) {
    if (isForWantOfRoom(error)) await undoPublish(dir).catch(() => {}); // the next publish begins by removing it
    throw error;
  }
  await finishPublish(dir, intent.files);
}

/** One shot, no tools: the answer is the deliverable, when it is whole. */
export function publishAnswer(node: NodeState, scope: Scope, port: NodePort) {
  return async ({ reply }: Pick<ReplyWithoutCall, "reply">): Promise<Outcome> => {
    if (reply.finish === "length")
      return { kind: "abandoned", error: "The answer was cut off: it is too long for one reply." };
    const answer = textOf(reply);
    const summary = answer.trim().split("\n", 1)[0]?.slice(0, 300) || "(no words)";
    await scope.writeFile(`scratch/${answerFileName(node)}`, answer);
    const published = await port.publish(summary, "", "must have ended");
    return published.ok ? { kind: "published", summary } : { kind: "failed", error: published.reason };
  };
}

/** Where one answer goes: what the spec asks for, when that is one file. */
export function answerFileName({ spec }: NodeState): string {
  const [only, ...more] = spec.deliverables;
  return only !== undefined && more.length === 0 && !only.endsWith("/") ? only : "answer.md";
}

const MAX_MEMORY_BYTES = 8 * 1024 * 1024;

/** What a worker learned goes with it to its next node. */
async function remember(scope: Scope, node: NodeState, learned: string): Promise<void> {
  // The whole of it: what is shown in a prompt may be cut, what is kept must not be.
  const { bytes } = await scope.readFile("memory.md", { maxBytes: MAX_MEMORY_BYTES });
  const memory = bytes.toString("utf8");
  const heading = `## ${node.id}: ${node.spec.task.split("\n", 1)[0]?.slice(0, 80)}`;
  if (!memory.includes(heading))
    await scope.writeFile("memory.md", `${memory.trimEnd()}\n\n${heading}\n\n${learned.trim()}\n`.trimStart());
}

function stillOpen(open: readonly NodeId[]): string {
  const [they, them, their] =
    open.length > 1 ? ["run", "them", "their results then reach"] : ["runs", "it", "its result then reaches"];
  return `${open.join(", ")}, which you handed out, still ${they}. Say nothing and wait for ${them}, or publish with leave: true; ${their} the worker or coordinator above you.`;
}
