import {
  apply,
  currentStage,
  type NodeState,
  openNodes,
  SITUATION_VERSION,
  type Situation,
} from "../projections/index.ts";
import {
  COORDINATOR,
  type Fact,
  type FactOf,
  HUMAN,
  type NewFact,
  type NodeId,
  type RunId,
} from "../protocol/index.ts";
import { StoreError } from "../store/errors.ts";
import { writeMessage, writeMissingMessages } from "../store/message-files.ts";
import { createAgentFolder, createNodeFolder, createRunFolder } from "../store/node-folder.ts";
import { NodeTraces } from "../store/node-trace.ts";
import { nodeDir, runDir } from "../store/paths.ts";
import { writeOutput } from "../store/run-files.ts";
import type { AgentLog } from "../store/store.ts";
import type { Delta } from "../workers/carry-out.ts";
import { coordinate } from "../workers/coordinator.ts";
import type { Workplace } from "../workers/harnessed.ts";
import { BudgetExhausted, Purse } from "../workers/purse.ts";
import { foreseen } from "./foreseen-log.ts";
import { situationOf } from "./inspect.ts";
import { asOutcome, explain, isTaken, runNode } from "./node-run.ts";
import { strandedMail } from "./people.ts";
import { PlanFile } from "./plan-file.ts";
import { RecentFacts } from "./recent-facts.ts";
import { assignments } from "./scheduler.ts";
import { Team } from "./team.ts";
import type { TeamLimits } from "./team-limits.ts";

/** What the house provides to every agent in it. */
export type House = Omit<Workplace, "log" | "now" | "soon" | "live" | "purse"> & {
  maxConcurrent: number;
  pid: number;
  limits: TeamLimits;
  /** Whether a person approves each stage before the next begins. */
  approveStages: boolean;
  checkModel(id: string): void;
};

const SNAPSHOT_EVERY = 1000;

const CHANGES_THE_PLAN = new Set<Fact["type"]>([
  "run.started",
  "stage.started",
  "node.created",
  "node.completed",
  "node.failed",
]);

/** What may let somebody begin: work, a reservation, a worker, or room for one. */
const WAKES_THE_SCHEDULER = new Set<Fact["type"]>([
  "node.created",
  "node.reserved",
  "node.completed",
  "node.failed",
  "worker.spawned",
  "worker.idle",
  "worker.waiting",
  "worker.retired",
]);

/**
 * One agent at work: follows its own log and does what follows from each fact.
 *
 * A1. Decide from the fold, append the decision, act when it is on disk. A crash anywhere means: fold, and do again
 *     what is not marked done.
 * A1a. Decisions are made by what will be true once everything appended is on disk (`soon`), and appended at once: so no
 *     two contradict each other, however long the disk takes. What is done and told follows what is on disk (`now`).
 * A2. Acting is idempotent by id: a node is worked on by one task in this process.
 */
export class Agent {
  readonly log: AgentLog;
  #now: Situation;
  #soon: Situation;
  readonly #house: House;
  readonly #traces: NodeTraces;
  readonly #recent = new RecentFacts();
  readonly #tasks = new Map<string, Promise<void>>();
  readonly #folders = new Map<NodeId, Promise<void>>();
  readonly #listeners = new Set<(delta: Delta) => void>();
  #teamOf: { run: RunId; team: Team } | undefined;
  #purse: Purse | undefined;
  #work = new AbortController();
  #scheduling = false;
  readonly #plan: PlanFile;
  #nodes: number;
  #unsnapshotted = 0;
  #broken: unknown;

  private constructor(log: AgentLog, now: Situation, house: House) {
    this.log = foreseen(log, (fact) => apply(this.#soon, fact), this.#recent);
    this.#now = now;
    this.#soon = structuredClone(now);
    this.#house = house;
    this.#traces = new NodeTraces(log.dir, () => this.#now.board);
    this.#plan = new PlanFile(log.dir, () => this.#now, house.clock);
    this.#nodes = Object.keys(now.board.nodes).length;
    this.log.subscribe((fact) => this.#onFact(fact));
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
  async start(why: "created" | "resumed" | "recovered", budget_usd?: number): Promise<void> {
    if (this.#tasks.size > 0) throw new Error(`${this.log.id} is at work already.`);
    if (this.#broken !== undefined) this.#forget();
    const under = this.#now.agent.run;
    const run = under && !under.finished ? under : undefined;
    const facts: NewFact[] = [];
    if (budget_usd !== undefined) facts.push({ type: "budget.set", data: { budget_usd } });
    if (why === "resumed") facts.push({ type: "agent.resumed", data: {} });
    facts.push({ type: "agent.started", data: { why, pid: this.#house.pid } });
    if (!run) facts.push(...this.#newRun(this.#now.agent.created.goal));
    facts.push({ type: "worker.busy", data: { worker_id: COORDINATOR, node_id: null } });
    const taken = run ? openNodes(this.#now.board, run.id).filter(isTaken) : [];
    for (const { id, worker_id } of taken) facts.push({ type: "worker.busy", data: { worker_id, node_id: id } });
    this.#work = new AbortController();
    const budget = budget_usd ?? this.#now.agent.created.budget_usd;
    this.#purse = budget === null ? undefined : new Purse(budget, this.#now.spending.total.cost_usd);
    await this.log.append({ facts }).durable;
    await this.#traces.repair(this.log);
    const current = this.#now.agent.run;
    if (!current) throw new Error("A started agent has a run.");
    if (why !== "created")
      await createAgentFolder(this.log.dir, { soul: await this.#house.prompts("soul"), goal: current.goal });
    await createRunFolder(runDir(this.log.dir, current.id));
    if (why !== "created") await writeMissingMessages(this.log, this.#now.letters.sent, this.#now.agent.runs);
    this.#task(COORDINATOR, (signal) => this.#coordinate(current, signal));
    for (const { id } of taken) this.#startNode(id);
    this.#schedule();
  }

  /** Workers and coordinator are cancelled at once; everything said so far is kept. */
  async stop(by: string): Promise<void> {
    if (this.#soon.agent.status !== "working") return;
    await this.log.append({ facts: [{ type: "agent.stopped", data: { by } }] }).durable;
    await this.halt();
  }

  /** As `stop`, with the promise that it goes on: by `agiraph resume`. */
  async pause(why: string): Promise<void> {
    if (this.#soon.agent.status !== "working") return;
    await this.log.append({ facts: [{ type: "agent.paused", data: { why } }] }).durable;
    await this.halt();
  }

  /** Ends the work in this process; the log says who stopped, and the run stays open for the next start. */
  async halt(): Promise<void> {
    this.#work.abort(new Error("stopped"));
    await this.idle();
  }

  /** Resolves when nobody works any more. Rejects when the record could not be kept. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks.values());
    // A folder may still be on its way for a node that nobody began.
    await Promise.allSettled(this.#folders.values());
    this.#traces.flush();
    this.#recent.clear();
    if (this.#broken) throw this.#broken;
  }

  async close(): Promise<void> {
    await this.halt().catch(() => {});
    this.#plan.write();
    await this.log.saveSnapshot("situation", SITUATION_VERSION, this.#now.seq, this.#now).catch(() => {});
  }

  #newRun(goal: string): NewFact[] {
    const run_id: RunId = `run-${Number(this.#now.agent.run?.id.slice(4) ?? 0) + 1}`;
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
    this.#recent.add(fact);
    this.#traces.note(fact);
    if (fact.type === "node.created") this.#prepare(fact.data.node_id);
    if (CHANGES_THE_PLAN.has(fact.type)) this.#plan.changed();
    if (fact.type === "stage.reconvened" && this.#house.approveStages) this.#awaitApproval(fact.data.stage);
    if (fact.type === "node.assigned") this.#startNode(fact.data.node_id);
    if (fact.type === "message.sent") this.#noteMessage(fact);
    // Not before all facts of the same append are known: a node and whom it is reserved for, an end and who is free.
    if (WAKES_THE_SCHEDULER.has(fact.type)) queueMicrotask(() => this.#schedule());
    if (fact.type === "node.created") this.#nodes += 1;
    // It holds the whole board: the larger that is, the rarer, so that a fact costs the same on any board.
    if (++this.#unsnapshotted >= Math.max(SNAPSHOT_EVERY, this.#nodes)) {
      this.#unsnapshotted = 0;
      // A snapshot is disposable: failing to write one loses nothing.
      void this.log.saveSnapshot("situation", SITUATION_VERSION, this.#now.seq, this.#now).catch(() => {});
    }
  }

  #schedule(): void {
    if (this.#scheduling || this.#work.signal.aborted) return;
    const facts = [...assignments(this.#soon, this.#house), ...strandedMail(this.#soon)];
    if (facts.length === 0) return;
    this.#scheduling = true;
    this.log.append({ facts }).durable.then(
      () => {
        this.#scheduling = false;
        this.#schedule();
      },
      (error: unknown) => {
        this.#scheduling = false;
        this.#fail(error);
      },
    );
  }

  #awaitApproval(stage: number): void {
    this.pause(`Stage ${stage} wants your approval.`).catch((error: unknown) => this.#fail(error));
  }

  /** The folder is there for people to look at before anybody begins; it can be made again. */
  #prepare(id: NodeId): void {
    const node = this.#now.board.nodes[id];
    if (node)
      this.#folderOf(node).then(
        () => this.#traces.flush(),
        (error: unknown) => this.#fail(error),
      );
  }

  #noteMessage(fact: FactOf<"message.sent">): void {
    const run = this.#now.agent.run?.id;
    if (run) derived(() => writeMessage(this.log.dir, run, fact));
  }

  #startNode(id: NodeId): void {
    this.#task(id, async (signal) => {
      const node = this.#now.board.nodes[id];
      if (!node || !isTaken(node)) return;
      const worker = this.#now.roster[node.worker_id];
      if (!worker) throw new Error(`${id} is assigned to ${node.worker_id}, who is not on the roster.`);
      await this.#folderOf(node);
      await runNode(node, worker, this.#team(node.spec.run_id), this.#workplace(), signal);
    });
  }

  async #coordinate(run: { id: RunId; goal: string }, signal: AbortSignal): Promise<void> {
    const outcome = await coordinate(run, this.#team(run.id), this.#workplace(), signal).catch(asOutcome(signal));
    if (outcome.kind === "stopped") {
      await this.log.append({ facts: [{ type: "worker.stopped", data: { worker_id: COORDINATOR } }] }).durable;
      return;
    }
    if (outcome.kind === "budget_exhausted") await this.#endNodesForWantOfMoney(outcome.spent_usd);
    const ended: NewFact =
      outcome.kind === "finished"
        ? { type: "agent.completed", data: { summary: outcome.summary } }
        : { type: "agent.failed", data: { error: explain(outcome), outcome } };
    const facts: NewFact[] = [{ type: "worker.idle", data: { worker_id: COORDINATOR } }];
    // Only the goal ends a run. One that failed (a wrong key, a spent budget, no turns left) goes on with resume.
    if (outcome.kind === "finished")
      facts.push(...this.#closing(run.id), { type: "run.finished", data: { run_id: run.id, outcome } });
    await this.log.append({ facts: [...facts, ended] }).durable;
    derived(() => writeOutput(runDir(this.log.dir, run.id), run.goal, outcome, this.#now.board));
    this.#plan.write();
    // Nobody works for a run that has ended.
    this.#work.abort(new Error("the run has ended"));
  }

  /** Nobody can think any more: each hands over what it has, before the run ends. */
  async #endNodesForWantOfMoney(spent: number): Promise<void> {
    this.#work.abort(new BudgetExhausted(spent, this.#now.agent.created.budget_usd ?? 0));
    await Promise.all([...this.#tasks].map(([id, task]) => (id === COORDINATOR ? undefined : task)));
  }

  /** What a run leaves open when it ends: its stage, nodes nobody will finish, and mail that nobody will read. */
  #closing(run_id: RunId): NewFact[] {
    const stage = currentStage(this.#soon.stages, run_id);
    const facts: NewFact[] = stage ? [{ type: "stage.completed", data: { run_id, stage: stage.number } }] : [];
    for (const node of openNodes(this.#soon.board, run_id)) {
      const worker_id = "worker_id" in node ? node.worker_id : COORDINATOR;
      facts.push({ type: "node.failed", data: { node_id: node.id, worker_id, outcome: { kind: "stopped" } } });
    }
    for (const letter of Object.values(this.#soon.letters.queued)) {
      if (letter.reader !== HUMAN)
        facts.push({ type: "message.expired", data: { message_id: letter.id, why: "the run has ended" } });
    }
    return facts;
  }

  /** One for each run: it counts nodes and messages. */
  #team(run: RunId): Team {
    if (this.#teamOf?.run !== run) {
      const { limits, checkModel } = this.#house;
      const team = new Team(run, { log: this.log, now: () => this.#now, soon: () => this.#soon, limits, checkModel });
      this.#teamOf = { run, team };
    }
    return this.#teamOf.team;
  }

  /** Made once in this process, however many want it at the same time; making it again after a crash changes nothing. */
  #folderOf({ id, spec }: NodeState): Promise<void> {
    const { run_id, task, deliverables, refs } = spec;
    const made =
      this.#folders.get(id) ?? createNodeFolder(nodeDir(this.log.dir, run_id, id), { id, task, deliverables, refs });
    this.#folders.set(id, made);
    made.catch(() => this.#folders.delete(id)); // a full disk may have room the next time
    return made;
  }

  #workplace(): Workplace {
    return {
      ...this.#house,
      log: this.log,
      now: () => this.#now,
      soon: () => this.#soon,
      purse: this.#purse,
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
        // After a stop every failure is the stop, except that the record could not be kept.
        if (!signal.aborted || error instanceof StoreError) this.#fail(error);
      })
      .finally(() => this.#tasks.delete(id));
    this.#tasks.set(id, task);
  }

  /** What was appended and refused was never decided. */
  #forget(): void {
    this.#broken = undefined;
    this.#soon = structuredClone(this.#now);
    this.#teamOf = undefined;
  }

  /** The record could not be kept, or we have a bug: stop everything, lose nothing, say so. */
  #fail(error: unknown): void {
    this.#broken ??= error;
    this.#work.abort(error);
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
