import { apply, isAtWork, type NodeState, type Situation, summarise } from "../projections/index.ts";
import { type AgentId, COORDINATOR, type Fact, type FactOf, type NodeId, type RunId } from "../protocol/index.ts";
import { isForWantOfRoom } from "../store/disk.ts";
import { StoreError } from "../store/errors.ts";
import { writeMessage, writeMissingMessages } from "../store/message-files.ts";
import { createAgentFolder, createNodeFolder, createRunFolder } from "../store/node-folder.ts";
import { NodeTraces } from "../store/node-trace.ts";
import { nodeDir, runDir } from "../store/paths.ts";
import { writeGoal, writeOutput } from "../store/run-files.ts";
import type { AgentLog } from "../store/store.ts";
import type { Delta } from "../workers/carry-out.ts";
import { coordinate } from "../workers/coordinator.ts";
import type { Workplace } from "../workers/harnessed.ts";
import { noteRun } from "../workers/memories.ts";
import { BudgetExhausted, Purse } from "../workers/purse.ts";
import { type OpenChannel, Postman } from "./channels.ts";
import { endOf, unheardGoal } from "./ending.ts";
import { type ForeseenLog, foreseen } from "./foreseen-log.ts";
import { type Channel, checkNotArchived } from "./human.ts";
import { saveSituation, situationOf } from "./inspect.ts";
import { TooLittleMoney, whyTooLittle } from "./more-money.ts";
import { asOutcome, isTaken, runNode } from "./node-run.ts";
import { strandedMail } from "./people.ts";
import { PlanFile } from "./plan-file.ts";
import { RecentFacts } from "./recent-facts.ts";
import type { Schedule } from "./schedule.ts";
import { assignments } from "./scheduler.ts";
import { type Start, startOf, type WhyStarted } from "./starting.ts";
import { Team } from "./team.ts";
import type { TeamLimits } from "./team-limits.ts";
import { timekeeper } from "./timekeeper.ts";
import type { Callbacks } from "./trigger-actions.ts";
import { Voice } from "./voice.ts";

/** What the house provides to every agent in it. */
export type House = Omit<Workplace, "log" | "now" | "soon" | "live" | "purse" | "schedule"> & {
  maxConcurrent: number;
  pid: number;
  limits: TeamLimits;
  /** Whether a person approves each stage before the next begins. */
  approveStages: boolean;
  checkModel(id: string): void;
  /** Rejects, with advice, for a model whose price nobody knows. */
  checkPrices(...models: (string | undefined)[]): Promise<void>;
  /** What triggers may have called, by name. */
  callbacks: Callbacks;
  /** Where else the human is reached. */
  channels: readonly OpenChannel[];
  random(): number;
  /** The record of this agent had no room: it is to go on when there is some. */
  hadNoRoom(agent: AgentId): void;
};

const SNAPSHOT_EVERY = 1000;

const CHANGES_THE_PLAN = new Set<Fact["type"]>([
  "stage.started",
  "node.created",
  "node.completed",
  "node.failed",
  "node.reopened",
]);

/** What may let somebody begin: work, a reservation, a worker, or room for one. */
const WAKES_THE_SCHEDULER = new Set<Fact["type"]>([
  "node.created",
  "node.reserved",
  "node.released",
  "node.completed",
  "node.failed",
  "node.reopened",
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
  readonly log: ForeseenLog;
  #now: Situation;
  #soon: Situation;
  readonly #house: House;
  readonly #traces: NodeTraces;
  readonly #recent = new RecentFacts();
  readonly #tasks = new Map<string, Promise<void>>();
  readonly #folders = new Map<NodeId, Promise<void>>();
  readonly #listeners = new Set<(delta: Delta) => void>();
  #starting: Promise<void> | undefined;
  #teamOf: { run: RunId; team: Team } | undefined;
  #purse: Purse;
  #work = new AbortController();
  #scheduling = false;
  /** Somebody wants it to rest: no next life begins by itself. */
  #resting = false;
  #isClosed = false;
  readonly #plan: PlanFile;
  readonly #postman: Postman;
  readonly #time: ReturnType<typeof timekeeper>;
  readonly #voice: Voice;
  #nodes: number;
  #unsnapshotted = 0;
  #broken: unknown;

  private constructor(log: AgentLog, now: Situation, house: House) {
    const refused = (error: unknown) => {
      this.#forget();
      this.#fail(error);
    };
    this.log = foreseen(log, { hear: (fact) => apply(this.#soon, fact), refused }, this.#recent);
    this.#now = now;
    this.#soon = structuredClone(now);
    this.#purse = new Purse(() => this.#soon);
    this.#house = house;
    this.#traces = new NodeTraces(log.dir, () => this.#now.board);
    this.#plan = new PlanFile(log.dir, () => this.#now, house.clock);
    this.#nodes = Object.keys(now.board.nodes).length;
    this.log.subscribe((fact) => this.#onFact(fact));
    const ports = { log: this.log, now: () => this.#now, soon: () => this.#soon, clock: house.clock };
    const reach = { team: (run: RunId) => this.#team(run), goOn: () => this.#goOn() };
    this.#time = timekeeper({
      ...ports,
      ...reach,
      timeZone: house.timeZone,
      callbacks: house.callbacks,
      begin: (goal, trigger) => this.#beginAnother({ goal, trigger }),
      failed: (error) => this.#fail(error),
    });
    this.#voice = new Voice({
      ...ports,
      ...reach,
      settled: async () => this.#starting,
      begin: (order) => this.#beginAnother(order),
    });
    this.#postman = new Postman(house.channels, { ...ports, random: house.random });
  }

  static async open(log: AgentLog, house: House): Promise<Agent> {
    const agent = new Agent(log, await situationOf(log), house);
    await agent.#postman.open();
    return agent;
  }

  get now(): Situation {
    return this.#now;
  }

  /** Nobody works, nobody looks on and nothing happens by itself: it can be put away and opened again. */
  get isResting(): boolean {
    const isQuiet = this.#tasks.size === 0 && !this.#starting && this.#listeners.size === 0;
    return isQuiet && !summarise(this.#now).keeps_time;
  }

  /** Whether somebody works on it in this process. */
  get isWorking(): boolean {
    return this.#tasks.size > 0 || this.#starting !== undefined;
  }

  /** Streamed words of the team, for whoever looks on. Returns the unsubscribe. */
  onDelta(listener: (delta: Delta) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Begins a run, or goes on with the one that was under way. */
  start(why: WhyStarted, order: Start = {}): Promise<void> {
    // A trigger or a word may come just then: nobody begins what would have to be stopped at once.
    if (this.#isClosed) return Promise.reject(new Error(`${this.log.id} is being closed.`));
    if (this.#tasks.size > 0 || this.#starting) return Promise.reject(new Error(`${this.log.id} is at work already.`));
    this.#starting = this.#start(why, order)
      .catch((error: unknown) => {
        if (isForWantOfRoom(error)) this.#fail(error);
        throw error;
      })
      .finally(() => {
        this.#starting = undefined;
      });
    return this.#starting;
  }

  /** There is room again: whoever stopped for want of it goes on, and what is due happens. */
  async recover(): Promise<void> {
    await this.#putAway();
    const { status, run, archived_ts } = this.#soon.agent;
    if (this.#isClosed || this.isWorking || archived_ts !== null) return;
    if (isAtWork(status) || run === null) await this.start("recovered");
    else this.keepTime();
  }

  async #start(why: WhyStarted, order: Start): Promise<void> {
    checkNotArchived(this.#soon);
    this.#broken = undefined;
    const refusal = why === "created" ? null : whyTooLittle(this.#now, order.budget_usd, why);
    if (refusal) throw new TooLittleMoney(refusal);
    if (why !== "created") await this.#checkPrices(order.budget_usd);
    const { facts, goingOn } = startOf(this.#now, why, order, this.#house.pid);
    this.#work = new AbortController();
    this.#purse = new Purse(() => this.#soon);
    await this.log.append({ facts }).durable;
    this.keepTime();
    await this.#traces.repair(this.log);
    const current = this.#now.agent.run;
    if (!current) throw new Error("A started agent has a run.");
    if (why !== "created")
      await createAgentFolder(this.log.dir, { soul: await this.#house.prompts("soul"), goal: current.goal });
    // What a trigger asks for is a task; the goal is still what the human wants.
    if (why === "new_goal" && !current.trigger) derived(() => writeGoal(this.log.dir, current.goal));
    await createRunFolder(runDir(this.log.dir, current.id));
    this.#plan.changed(); // not before its folder is there
    if (why !== "created") await writeMissingMessages(this.log, this.#now.letters.sent, this.#now.agent.runs);
    this.#task(COORDINATOR, (signal) => this.#coordinate(current, signal));
    for (const { id } of goingOn) this.#startNode(id);
    this.#schedule();
  }

  /** What the human says, and what becomes of it in words. */
  send(text: string, to: string = COORDINATOR, channel: Channel = "terminal"): Promise<string> {
    return this.#voice.send(text, to, channel);
  }

  respond(text: string, question_id?: string, channel: Channel = "terminal"): Promise<string> {
    return this.#voice.respond(text, question_id, channel);
  }

  nudge(text: string, channel: Channel = "terminal"): Promise<string> {
    return this.#voice.nudge(text, channel);
  }

  /** The human has seen everything that was said to them. */
  seen(): Promise<void> {
    return this.#voice.seen();
  }

  /**
   * From now on what is due happens: with the first start, or for an agent that only waits for its triggers, or has
   * finished without hearing the last word of its human.
   */
  keepTime(): void {
    this.#time.alarms.start();
    void this.#nextLife();
  }

  /** What the agent is to do later, as its human may see and change it. */
  get schedule(): Schedule {
    return this.#time.schedule;
  }

  /** Whoever is spoken to goes on, unless the human wants it to rest. */
  async #goOn(): Promise<string> {
    const { status, created } = this.#soon.agent;
    if (status === "paused") return ` ${created.name} is paused and hears it when resumed.`;
    await this.#starting;
    // Those who were stopped may still be putting their things away.
    if (!isAtWork(this.#soon.agent.status)) await this.#putAway();
    const isOpen = this.#soon.agent.run?.finished === null; // it may have ended meanwhile, and another begun
    if (!isOpen || this.#tasks.size > 0 || this.#starting) return "";
    const why = isAtWork(this.#soon.agent.status) ? "recovered" : "resumed";
    return this.start(why).then(
      () => "",
      (error: unknown) => {
        // What was said is recorded: to have it said again would be to have it twice.
        if (isForWantOfRoom(error)) return ` ${created.name} goes on when there is room on the disk again.`;
        throw error;
      },
    );
  }

  /** A budget can only be kept where the prices of all who go on are known: said before anything goes on. */
  async #checkPrices(budget_usd: number | undefined): Promise<void> {
    const { agent, roster } = this.#now;
    if ((budget_usd ?? agent.created.budget_usd) === null) return;
    const staying = Object.values(roster).filter((worker) => worker.status !== "retired");
    const models = [agent.created.model, agent.created.worker_model, ...staying.map(({ spawned }) => spawned.model)];
    await this.#house.checkPrices(...new Set(models));
  }

  /** Workers and coordinator are cancelled at once; everything said so far is kept. */
  async stop(by: string): Promise<void> {
    if (!isAtWork(this.#soon.agent.status)) return this.log.settled();
    await this.log.append({ facts: [{ type: "agent.stopped", data: { by } }] }).durable;
    await this.halt();
  }

  /** As `stop`, with the promise that it goes on: by `agiraph resume`. */
  async pause(why: string): Promise<void> {
    if (!isAtWork(this.#soon.agent.status)) return this.log.settled();
    await this.log.append({ facts: [{ type: "agent.paused", data: { why } }] }).durable;
    await this.halt();
  }

  /** Stops it and puts it out of sight; nothing is erased, and until it is restored nothing happens by itself. */
  async archive(by: string): Promise<void> {
    await this.#starting;
    if (this.#soon.agent.archived_ts !== null) return this.log.settled();
    await this.stop(by);
    await this.log.append({ facts: [{ type: "agent.archived", data: { by } }] }).durable;
    await this.halt();
  }

  async restore(by: string): Promise<void> {
    if (this.#soon.agent.archived_ts === null) return this.log.settled();
    await this.log.append({ facts: [{ type: "agent.restored", data: { by } }] }).durable;
    this.keepTime();
  }

  /** Ends the work in this process; the log says who stopped, and the run stays open for the next start. */
  async halt(): Promise<void> {
    const before = this.#broken;
    this.#resting = true;
    try {
      // Who is just beginning would not hear it.
      await this.#starting?.catch(() => {});
      this.#work.abort(new Error("stopped"));
      await this.idle().catch((error: unknown) => {
        // What had gone wrong before was told when it happened.
        if (error !== before) throw error;
      });
    } finally {
      this.#resting = false;
    }
  }

  /** Resolves when nobody works any more. Rejects when the record could not be kept. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0 || this.#starting) await Promise.all([...this.#tasks.values(), this.#starting]);
    // A folder may still be on its way for a node that nobody began.
    await Promise.allSettled(this.#folders.values());
    this.#traces.flush();
    this.#recent.clear();
    if (this.#broken) throw this.#broken;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#time.alarms.stop();
    await this.halt().catch(() => {});
    await this.#postman.close();
    this.#plan.write();
    await saveSituation(this.log, this.#now).catch(() => {});
  }

  #onFact(fact: Fact): void {
    apply(this.#now, fact);
    this.#recent.add(fact);
    this.#traces.note(fact);
    if (fact.type === "node.created") this.#prepare(fact.data.node_id);
    if (CHANGES_THE_PLAN.has(fact.type)) this.#plan.changed();
    if (fact.type.startsWith("trigger.")) this.#time.changed();
    if (fact.type === "stage.reconvened" && this.#house.approveStages) this.#awaitApproval(fact.data.stage);
    if (fact.type === "node.assigned") this.#startNode(fact.data.node_id);
    if (fact.type === "message.sent") this.#noteMessage(fact);
    // What a share has left comes back with the end of its node.
    if (fact.type === "node.completed" || fact.type === "node.failed") this.#purse.wake();
    // Not before all facts of the same append are known: a node and whom it is reserved for, an end and who is free.
    if (WAKES_THE_SCHEDULER.has(fact.type)) queueMicrotask(() => this.#schedule());
    if (fact.type === "node.created") this.#nodes += 1;
    // It holds the whole board: the larger that is, the rarer, so that a fact costs the same on any board.
    if (++this.#unsnapshotted >= Math.max(SNAPSHOT_EVERY, this.#nodes)) {
      this.#unsnapshotted = 0;
      // A snapshot is disposable: failing to write one loses nothing.
      void saveSituation(this.log, this.#now).catch(() => {});
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
      await runNode(node, worker, this.#team(node.spec.run_id), this.#workplace(node.spec.run_id), signal);
    });
  }

  async #coordinate(run: { id: RunId; goal: string }, signal: AbortSignal): Promise<void> {
    const outcome = await coordinate(run, this.#team(run.id), this.#workplace(run.id), signal).catch(asOutcome(signal));
    if (outcome.kind === "stopped") {
      await this.log.append({ facts: [{ type: "worker.stopped", data: { worker_id: COORDINATOR } }] }).durable;
      return;
    }
    if (outcome.kind === "budget_exhausted") await this.#endNodesForWantOfMoney(outcome);
    // Before the facts, and safe to repeat: once the run has ended nobody comes back to it.
    if (outcome.kind === "finished") await noteRun(run, outcome, this.#workplace(run.id)).catch(() => {});
    await this.log.append({ facts: endOf(this.#soon, run.id, outcome) }).durable;
    derived(() => writeOutput(runDir(this.log.dir, run.id), run, outcome, this.#now.board));
    this.#plan.write();
    // Nobody works for a run that has ended.
    this.#work.abort(new Error("the run has ended"));
  }

  /** Nobody can think any more: each hands over what it has, before the run ends. */
  async #endNodesForWantOfMoney(outcome: BudgetExhausted["outcome"]): Promise<void> {
    this.#work.abort(new BudgetExhausted(outcome));
    await Promise.all([...this.#tasks].map(([id, task]) => (id === COORDINATOR ? undefined : task)));
  }

  /** What the human said in the moment of the end is the next goal. */
  async #nextLife(): Promise<void> {
    if (!unheardGoal(this.#soon)) return;
    // Those who were stopped with the run may still be putting their things away.
    await this.#putAway();
    const next = this.#starting || this.#resting ? undefined : unheardGoal(this.#soon);
    if (!next) return;
    await this.start("new_goal", next).catch((error: unknown) => {
      // Without money, say, it waits: whoever begins the next run hears it there.
      if (error instanceof StoreError) this.#fail(error);
    });
  }

  /** The next run, once those of the last have put their things away; false: another has begun meanwhile. */
  async #beginAnother(order: Start): Promise<boolean> {
    while (this.#tasks.size > 0 || this.#starting) {
      if (this.#soon.agent.run?.finished === null) return false;
      await this.#putAway();
    }
    if (this.#soon.agent.run?.finished === null) return false;
    await this.start("new_goal", order);
    return true;
  }

  /** Those who work now have ended, whoever begins after them. */
  async #putAway(): Promise<void> {
    await Promise.allSettled([...this.#tasks.values(), this.#starting]);
  }

  /** One for each run: it counts nodes and messages. */
  #team(run: RunId): Team {
    if (this.#teamOf?.run !== run) {
      const { limits, checkModel, checkPrices } = this.#house;
      const ports = { log: this.log, now: () => this.#now, soon: () => this.#soon, limits, checkModel, checkPrices };
      const team = new Team(run, ports);
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

  #workplace(run: RunId): Workplace {
    return {
      ...this.#house,
      log: this.log,
      now: () => this.#now,
      soon: () => this.#soon,
      purse: this.#purse,
      schedule: this.#time.schedule.by(COORDINATOR),
      aloud: (from, text) => this.#team(run).aloud(from, text),
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
      .finally(() => this.#tasks.delete(id))
      .then(() => (id === COORDINATOR ? this.#nextLife() : undefined));
    this.#tasks.set(id, task);
  }

  /** What was appended and refused was never decided. */
  #forget(): void {
    this.#soon = structuredClone(this.#now);
    this.#teamOf?.team.recount();
  }

  /** The record could not be kept, or we have a bug: stop everything, lose nothing, say so. */
  #fail(error: unknown): void {
    this.#broken ??= error;
    this.#work.abort(error);
    if (isForWantOfRoom(error) && !this.#isClosed) this.#house.hadNoRoom(this.log.id);
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
