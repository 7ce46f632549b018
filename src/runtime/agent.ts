import { apply, type NodeState, openNodes, SITUATION_VERSION, type Situation } from "../projections/index.ts";
import { COORDINATOR, type Fact, type NewFact, type NodeId, type Outcome, type RunId } from "../protocol/index.ts";
import {
  createAgentFolder,
  createNodeFolder,
  createRunFolder,
  createWorkerFolder,
  undoPublish,
  writeStatus,
} from "../store/node-folder.ts";
import { NodeTraces } from "../store/node-trace.ts";
import { nodeDir, runDir, workerDir } from "../store/paths.ts";
import { writeOutput, writePlan } from "../store/run-files.ts";
import type { AgentLog } from "../store/store.ts";
import type { NewWork } from "../tools/work.ts";
import type { Delta } from "../workers/carry-out.ts";
import { coordinate } from "../workers/coordinator.ts";
import { type Workplace, workOnNode } from "../workers/harnessed.ts";
import { situationOf } from "./inspect.ts";
import { checkedOrder } from "./new-work.ts";
import { assignments } from "./scheduler.ts";

/** What the house provides to every agent in it. */
export type House = Omit<Workplace, "log" | "now" | "live"> & { maxConcurrent: number; pid: number };

const SNAPSHOT_EVERY = 1000;

/**
 * One agent at work: follows its own log and does what follows from each fact.
 *
 * A1. Decide from the fold, append the decision, act when it is on disk. A crash anywhere means: fold, and do again
 *     what is not marked done.
 * A2. Acting is idempotent by id: a node is worked on by one task in this process.
 */
export class Agent {
  readonly log: AgentLog;
  #now: Situation;
  readonly #house: House;
  readonly #traces: NodeTraces;
  readonly #tasks = new Map<string, Promise<void>>();
  readonly #folders = new Map<NodeId, Promise<void>>();
  readonly #listeners = new Set<(delta: Delta) => void>();
  #work = new AbortController();
  #scheduling = false;
  #unsnapshotted = 0;
  #broken: unknown;

  private constructor(log: AgentLog, now: Situation, house: House) {
    this.log = log;
    this.#now = now;
    this.#house = house;
    this.#traces = new NodeTraces(log.dir, () => this.#now.board);
    log.subscribe((fact) => this.#onFact(fact));
  }

  static async open(log: AgentLog, house: House): Promise<Agent> {
    return new Agent(log, await situationOf(log), house);
  }

  get now(): Situation {
    return this.#now;
  }

  /** Streamed words of the team, for whoever looks on. Returns the unsubscribe. */
  onDelta(listener: (delta: Delta) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Begins a run, or goes on with the one that was under way. */
  async start(why: "created" | "resumed" | "recovered", goal?: string): Promise<void> {
    const under = this.#now.agent.run;
    const run = under && !under.finished ? under : undefined;
    const facts: NewFact[] = [];
    if (why === "resumed") facts.push({ type: "agent.resumed", data: {} });
    facts.push({ type: "agent.started", data: { why, pid: this.#house.pid } });
    if (!run) facts.push(...this.#newRun(goal ?? this.#now.agent.created.goal));
    facts.push({ type: "worker.busy", data: { worker_id: COORDINATOR, node_id: null } });
    const taken = run ? openNodes(this.#now.board, run.id).filter(isTaken) : [];
    for (const { id, worker_id } of taken) facts.push({ type: "worker.busy", data: { worker_id, node_id: id } });
    this.#work = new AbortController();
    await this.log.append({ facts }).durable;
    await this.#traces.repair(this.log);
    const current = this.#now.agent.run;
    if (!current) throw new Error("A started agent has a run.");
    if (why !== "created")
      await createAgentFolder(this.log.dir, { soul: await this.#house.prompts("soul"), goal: current.goal });
    await createRunFolder(runDir(this.log.dir, current.id));
    this.#task(COORDINATOR, (signal) => this.#coordinate(current, signal));
    for (const { id } of taken) this.#startNode(id);
    this.#schedule();
  }

  /** Workers and coordinator are cancelled at once; everything said so far is kept. */
  async stop(by: string): Promise<void> {
    if (this.#tasks.size === 0 && this.#now.agent.status !== "working") return;
    await this.log.append({ facts: [{ type: "agent.stopped", data: { by } }] }).durable;
    await this.halt();
  }

  /** Ends the work in this process without a word in the log: what a crash would do, only tidier. */
  async halt(): Promise<void> {
    this.#work.abort(new Error("stopped"));
    await this.idle();
  }

  /** Resolves when nobody works any more. Rejects when the record could not be kept. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks.values());
    if (this.#broken) throw this.#broken;
  }

  async close(): Promise<void> {
    await this.halt().catch(() => {});
    await this.log.saveSnapshot("situation", SITUATION_VERSION, this.#now.seq, this.#now).catch(() => {});
  }

  #newRun(goal: string): NewFact[] {
    const run_id: RunId = `run-${this.#now.agent.runs + 1}`;
    const { model } = this.#now.agent.created;
    const facts: NewFact[] = [{ type: "run.started", data: { run_id, goal } }];
    if (!this.#now.roster[COORDINATOR]) {
      facts.push({
        type: "worker.spawned",
        data: { run_id, worker_id: COORDINATOR, name: "Coordinator", kind: "harnessed", model },
      });
    }
    return facts;
  }

  #onFact(fact: Fact): void {
    apply(this.#now, fact);
    this.#traces.note(fact);
    if (fact.type === "node.assigned") this.#startNode(fact.data.node_id);
    if (fact.type === "node.created" || fact.type === "worker.idle") this.#schedule();
    if (++this.#unsnapshotted >= SNAPSHOT_EVERY) {
      this.#unsnapshotted = 0;
      // A snapshot is disposable: failing to write one loses nothing.
      void this.log.saveSnapshot("situation", SITUATION_VERSION, this.#now.seq, this.#now).catch(() => {});
    }
  }

  #schedule(): void {
    if (this.#scheduling || this.#work.signal.aborted) return;
    const facts = assignments(this.#now, this.#house);
    if (facts.length === 0) return;
    this.#scheduling = true;
    this.log.append({ facts }).durable.then(
      () => {
        this.#scheduling = false;
        this.#schedule();
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #startNode(id: NodeId): void {
    this.#task(id, async (signal) => {
      const node = this.#now.board.nodes[id];
      if (!node || !isTaken(node)) return;
      const worker = this.#now.roster[node.worker_id];
      if (!worker) throw new Error(`${id} is assigned to ${node.worker_id}, who is not on the roster.`);
      await this.#folderOf(node);
      await createWorkerFolder(workerDir(this.log.dir, node.spec.run_id, worker.id), {
        name: worker.spawned.name,
        identity: "A capable generalist.",
      });
      const dir = nodeDir(this.log.dir, node.spec.run_id, id);
      // A publish that was prepared but never recorded has left the files read-only.
      if (node.status === "running") await undoPublish(dir);
      await writeStatus(dir, "running", `By ${worker.spawned.name}.`);
      const who = { node_id: id, worker_id: worker.id };
      if (node.status === "assigned") await this.log.append({ facts: [{ type: "node.started", data: who }] }).durable;
      const outcome = await workOnNode(node, worker, this.#workplace(), signal);
      await this.log.append({ facts: endingOf(who, outcome) }).durable;
      const { status } = this.#now.board.nodes[id] ?? node;
      await writeStatus(dir, status, outcome.kind === "published" ? outcome.summary : explain(outcome));
    });
  }

  async #coordinate(run: { id: RunId; goal: string }, signal: AbortSignal): Promise<void> {
    const team = { createNode: (order: NewWork) => this.#createNode(run.id, order) };
    const outcome = await coordinate(run, team, this.#workplace(), signal);
    if (outcome.kind === "stopped") {
      await this.log.append({ facts: [{ type: "worker.stopped", data: { worker_id: COORDINATOR } }] }).durable;
      return;
    }
    await writeOutput(runDir(this.log.dir, run.id), run.goal, outcome, this.#now.board);
    const ended: NewFact =
      outcome.kind === "finished"
        ? { type: "agent.completed", data: { summary: outcome.summary } }
        : { type: "agent.failed", data: { error: explain(outcome) } };
    const facts: NewFact[] = [{ type: "worker.idle", data: { worker_id: COORDINATOR } }];
    // A run that failed (a wrong key, a provider that is down) is not over: once mended, resume goes on with it.
    if (outcome.kind !== "failed") facts.push({ type: "run.finished", data: { run_id: run.id, outcome } });
    await this.log.append({ facts: [...facts, ended] }).durable;
    // Nobody works for a run that has ended.
    this.#work.abort(new Error("the run has ended"));
  }

  async #createNode(run_id: RunId, order: NewWork) {
    const checked = checkedOrder(order, this.#now.board);
    if (!checked.ok) return checked;
    const node_id: NodeId = `node-${Object.keys(this.#now.board.nodes).length + 1}`;
    const { task, deliverables, refs, inference } = order;
    const data = { run_id, node_id, task, inference, dependencies: checked.dependencies, refs, deliverables };
    await this.log.append({
      facts: [{ type: "node.created", data: { ...data, parent_node_id: null, created_by: COORDINATOR } }],
    }).durable;
    const node = this.#now.board.nodes[node_id];
    if (node) await this.#folderOf(node);
    await writePlan(runDir(this.log.dir, run_id), this.#now);
    return { ok: true as const, node_id };
  }

  /** Made once in this process, however many want it at the same time; making it again after a crash changes nothing. */
  #folderOf({ id, spec }: NodeState): Promise<void> {
    const { run_id, task, deliverables, refs } = spec;
    const made =
      this.#folders.get(id) ?? createNodeFolder(nodeDir(this.log.dir, run_id, id), { id, task, deliverables, refs });
    this.#folders.set(id, made);
    return made;
  }

  #workplace(): Workplace {
    return {
      ...this.#house,
      log: this.log,
      now: () => this.#now,
      live: (delta) => {
        for (const listener of this.#listeners) listener(delta);
      },
    };
  }

  #task(id: string, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#tasks.has(id)) return;
    const { signal } = this.#work;
    const task = work(signal)
      .catch((error: unknown) => {
        if (!signal.aborted) this.#fail(error);
      })
      .finally(() => this.#tasks.delete(id));
    this.#tasks.set(id, task);
  }

  /** The record could not be kept, or we have a bug: stop everything, lose nothing, say so. */
  #fail(error: unknown): void {
    this.#broken ??= error;
    this.#work.abort(error);
  }
}

type TakenNode = Extract<NodeState, { status: "assigned" | "running" | "publishing" }>;

function isTaken(node: NodeState): node is TakenNode {
  return node.status === "assigned" || node.status === "running" || node.status === "publishing";
}

function endingOf(who: { node_id: NodeId; worker_id: string }, outcome: Outcome): NewFact[] {
  const idle: NewFact = { type: "worker.idle", data: { worker_id: who.worker_id } };
  switch (outcome.kind) {
    case "published":
      return [{ type: "node.completed", data: { ...who, summary: outcome.summary } }, idle];
    case "stopped":
      return [{ type: "worker.stopped", data: { worker_id: who.worker_id } }];
    default:
      return [{ type: "node.failed", data: { ...who, outcome } }, idle];
  }
}

function explain(outcome: Outcome): string {
  switch (outcome.kind) {
    case "exhausted":
      return `The coordinator used all its ${outcome.turns} turns without finishing.`;
    case "budget_exhausted":
      return `The budget is spent ($${outcome.spent_usd.toFixed(4)}).`;
    case "failed":
      return outcome.error;
    default:
      return outcome.kind;
  }
}
