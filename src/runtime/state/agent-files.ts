import type { NodeState, Situation } from "../../projections/index.ts";
import type { Clock } from "../../protocol/clock.ts";
import type { Fact, FactOf, NodeId, Outcome, RunId } from "../../protocol/index.ts";
import { nodeDir, runDir } from "../../store/paths.ts";
import { writeMessage, writeMissingMessages } from "../../store/run/message-files.ts";
import {
  createAgentFolder,
  createNodeFolder,
  createRunFolder,
  writeSpec,
  writeStatus,
} from "../../store/run/node-folder.ts";
import { NodeTraces } from "../../store/run/node-trace.ts";
import { runFiles } from "../../store/run/results.ts";
import { writeOutput } from "../../store/run/run-files.ts";
import type { AgentLog } from "../../store/store.ts";
import type { Prompts } from "../../workers/prompt.ts";
import { PlanFile } from "./plan-file.ts";
import { saveSituation } from "./situations.ts";
import type { WhyStarted } from "./start-facts.ts";

interface FilePorts {
  log: AgentLog;
  now(): Situation;
  clock: Clock;
  failed(error: unknown): void;
}

const SNAPSHOT_EVERY = 1000;
/** Saving a node costs about as much as reading a fact again: with this ratio both saving and a restart stay cheap. */
const FACTS_A_NODE = 4;

const CHANGES_THE_PLAN = new Set<Fact["type"]>([
  "stage.started",
  "stage.reconvened",
  "node.created",
  "node.completed",
  "node.failed",
  "node.cancelled",
  "node.updated",
  "node.reopened",
]);

/**
 * The files beside an agent's log that follow it: folders, plan, messages, traces, snapshots. All of them can be
 * rebuilt from the log, so a failed write loses nothing; only a folder that cannot be created prevents work.
 */
export class AgentFiles {
  readonly #ports: FilePorts;
  readonly #traces: NodeTraces;
  readonly #plan: PlanFile;
  readonly #folders = new Map<NodeId, Promise<void>>();
  #nodes: number;
  #unsnapshotted = 0;

  constructor(ports: FilePorts) {
    const { log, now, clock } = ports;
    this.#ports = ports;
    this.#traces = new NodeTraces(log.dir, () => now().board);
    this.#plan = new PlanFile(log.dir, now, clock);
    this.#nodes = Object.keys(now().board.nodes).length;
  }

  note(fact: Fact): void {
    this.#traces.note(fact);
    if (fact.type === "node.created") this.#prepareNode(fact.data.node_id);
    if (CHANGES_THE_PLAN.has(fact.type)) this.#plan.changed();
    if (fact.type === "node.cancelled") this.#rewrite(fact.data.node_id, "_status.md");
    if (fact.type === "node.updated") this.#rewrite(fact.data.node_id, "_spec.md");
    if (fact.type === "message.sent") this.#noteMessage(fact);
    if (fact.type === "node.created") this.#nodes += 1;
    // It holds the whole board: the larger that is, the rarer, so that a fact costs the same on any board.
    if (++this.#unsnapshotted >= Math.max(SNAPSHOT_EVERY, FACTS_A_NODE * this.#nodes)) {
      this.#unsnapshotted = 0;
      void this.#saveSnapshot();
    }
  }

  /** What a crash may have cost is made again. */
  repair(): Promise<void> {
    return this.#traces.repair(this.#ports.log);
  }

  /** What is there before anybody begins. */
  async prepareRun(run: { id: RunId }, why: WhyStarted, prompts: Prompts): Promise<void> {
    const { log, now } = this.#ports;
    if (why !== "created") await createAgentFolder(log.dir, { soul: await prompts("soul"), goal: now().agent.goal });
    await createRunFolder(runDir(log.dir, run.id));
    this.#plan.changed(); // not before its folder is there
    if (why !== "created") await writeMissingMessages(log, now().letters.sent, now().agent.runs);
  }

  /** Made once in this process, however many want it at the same time; making it again after a crash changes nothing. */
  folderOf({ id, spec }: NodeState): Promise<void> {
    const dir = nodeDir(this.#ports.log.dir, spec.run_id, id);
    const made = this.#folders.get(id) ?? createNodeFolder(dir, { id, ...spec });
    this.#folders.set(id, made);
    made.catch(() => this.#folders.delete(id)); // a full disk may have room the next time
    return made;
  }

  async writeEnd(run: { id: RunId; goal: string }, outcome: Outcome): Promise<void> {
    const { log, now } = this.#ports;
    const files = await runFiles(now(), log.dir).catch(() => ({ results: [], others: [] }));
    derived(() => writeOutput(runDir(log.dir, run.id), run, outcome, files));
    this.#plan.write();
  }

  /** Nothing is on its way any more. */
  async settle(): Promise<void> {
    // A folder may still be on its way for a node that nobody began.
    await Promise.allSettled(this.#folders.values());
    this.#traces.flush();
  }

  async close(): Promise<void> {
    this.#plan.write();
    await this.#saveSnapshot();
  }

  /** The folder is there for people to look at before anybody begins; it can be made again. */
  #prepareNode(id: NodeId): void {
    const node = this.#ports.now().board.nodes[id];
    if (node)
      this.folderOf(node).then(
        () => this.#traces.flush(),
        (error: unknown) => this.#ports.failed(error),
      );
  }

  /** After what is there was written: both are made from the facts, so failing to write them changes nothing. */
  #rewrite(id: NodeId, file: "_status.md" | "_spec.md"): void {
    const node = this.#ports.now().board.nodes[id];
    if (!node) return;
    const dir = nodeDir(this.#ports.log.dir, node.spec.run_id, id);
    const write = () =>
      file === "_spec.md"
        ? writeSpec(dir, { id, ...node.spec })
        : writeStatus(dir, node.status, "reason" in node ? node.reason : "");
    const written = this.folderOf(node).then(() => write().catch(() => {}));
    this.#folders.set(id, written);
    written.catch(() => this.#folders.delete(id));
  }

  #noteMessage(fact: FactOf<"message.sent">): void {
    const { log, now } = this.#ports;
    const run = now().agent.run?.id;
    if (run) derived(() => writeMessage(log.dir, run, fact));
  }

  /** A snapshot is disposable: failing to write one loses nothing. */
  #saveSnapshot(): Promise<void> {
    const { log, now } = this.#ports;
    return saveSituation(log, now()).catch(() => {});
  }
}

/** A file that the log can make again: failing to write it loses nothing. */
function derived(write: () => void): void {
  try {
    write();
  } catch {
    // The disk is full or the folder is gone; the log has everything.
  }
}
