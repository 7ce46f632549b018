import { apply, isAtWork, losersIn, openNodes, type Situation, summarise, withOwnKeys } from "../projections/index.ts";
import { COORDINATOR, type Fact, type NewFact, type RunId } from "../protocol/index.ts";
import { isForWantOfRoom } from "../store/disk/disk.ts";
import { StoreError } from "../store/errors.ts";
import { manifestsOf } from "../store/run/manifests.ts";
import { coordinatorScope } from "../store/scope/scope.ts";
import type { AgentLog } from "../store/store.ts";
import type { NodeChange } from "../tools/coordination.ts";
import type { Delta } from "../workers/loop/recorded-loop.ts";
import { AgentFiles } from "./agent-files.ts";
import type { AgentServices } from "./agent-services.ts";
import { checkPricesToGoOn, TooLittleMoney, whyTooLittle } from "./budget-raise.ts";
import { unheardGoal } from "./end-facts.ts";
import { GoalFile } from "./goal-file.ts";
import { type Channel, checkNotArchived, checkThinks } from "./human/human-facts.ts";
import { HumanVoice, type Seen } from "./human/human-voice.ts";
import { HumanWork } from "./human/human-work.ts";
import { Postman } from "./human/postman.ts";
import type { HostedMeshes } from "./meshes/project.ts";
import { modelChange, type NewModels } from "./model-change.ts";
import { type PendingLog, pendingLog } from "./pending-log.ts";
import { placesOf } from "./programs/command-places.ts";
import { type Start, startOf, type WhyStarted } from "./start-facts.ts";
import { Assigning } from "./team/assigning.ts";
import { isTaken } from "./team/node-run.ts";
import { RunningTasks } from "./team/running-tasks.ts";
import { Workforce } from "./team/workforce.ts";
import type { Schedule } from "./time/schedule.ts";
import { timekeeper } from "./time/timekeeper.ts";
import type { View } from "./views/agent-views.ts";
import { RecentFacts } from "./views/recent-facts.ts";
import { situationOf } from "./views/situations.ts";

/**
 * One agent at work: follows its own log and does what follows from each fact.
 *
 * AGENT-1. Decide from the fold, append the decision, act when it is on disk. A crash anywhere means: fold, and do
 *     again what is not marked done.
 * AGENT-1a. Decisions are made by what will be true once everything appended is on disk (`pending`), and appended at once:
 *     so no two contradict each other, however long the disk takes. What is done and told follows what is on disk
 *     (`now`).
 * AGENT-2. Acting is idempotent by id: a node is worked on by one task in this process.
 */
export class Agent {
  readonly log: PendingLog;
  #now: Situation;
  #pending: Situation;
  readonly #services: AgentServices;
  readonly #recent = new RecentFacts();
  readonly #files: AgentFiles;
  readonly #goalFile: GoalFile;
  readonly #tasks: RunningTasks;
  readonly #workforce: Workforce;
  readonly #assigning: Assigning;
  readonly #listeners = new Set<(delta: Delta) => void>();
  #starting: Promise<void> | undefined;
  /** Somebody wants it to rest: no next life begins by itself. */
  #resting = false;
  #isClosed = false;
  /** It is stopped for a moment, to go on with another model. */
  #changing: Promise<void> | undefined;
  /** Losers are being cancelled: nobody else waits for it. */
  #cancelling: Promise<void> = Promise.resolve();
  readonly #postman: Postman;
  readonly #time: ReturnType<typeof timekeeper>;
  readonly #voice: HumanVoice;
  readonly #work: HumanWork;
  #broken: unknown;
  /** The meshes whose record it is, while they are at work. */
  #meshes: HostedMeshes | undefined;

  private constructor(log: AgentLog, now: Situation, services: AgentServices) {
    const refused = (error: unknown) => {
      this.#forget();
      this.#fail(error);
    };
    this.log = pendingLog(log, { hear: (fact) => apply(this.#pending, fact), refused }, this.#recent);
    this.#now = now;
    this.#pending = withOwnKeys(structuredClone(now));
    this.#services = services;
    const failed = (error: unknown) => this.#fail(error);
    const ports = { log: this.log, now: () => this.#now, pending: () => this.#pending, clock: services.clock, failed };
    this.#files = new AgentFiles(ports);
    this.#goalFile = new GoalFile(log.dir);
    this.#tasks = new RunningTasks({ failed, ended: () => this.#nextLife() });
    this.#workforce = new Workforce({
      ...ports,
      services,
      files: this.#files,
      tasks: this.#tasks,
      schedule: (who) => this.schedule.by(who),
      live: (delta) => {
        for (const listener of this.#listeners) listener(delta);
      },
    });
    const { maxConcurrent } = services;
    // Of an agent that rests, work changes hands on the record alone: who gets it begins when it goes on.
    const isOver = () => this.#tasks.isAborted || !this.#isUnderWay;
    this.#assigning = new Assigning({
      ...ports,
      maxConcurrent,
      isOver,
      isDeciding: () => this.#now.agent.coordinator_decides,
    });
    this.log.subscribe((fact) => this.#onFact(fact));
    const reach = {
      team: (run: RunId) => this.#workforce.team(run),
      goOn: () => this.#goOn(),
      readGoal: () => this.#readGoal(),
    };
    this.#time = timekeeper({
      ...ports,
      ...reach,
      timeZone: () => services.timeZone,
      callbacks: services.callbacks,
      look: (what, signal) => services.look(what, viewOf(this.log.dir, this.#now), signal),
      begin: (goal, trigger) => this.#beginAnother({ goal, trigger }),
    });
    this.#voice = new HumanVoice({
      ...ports,
      ...reach,
      settled: async () => this.#starting,
      begin: (order) => this.#beginAnother(order),
    });
    this.#work = new HumanWork({
      ...ports,
      ...reach,
      voice: this.#voice,
      isUnderWay: () => !isOver(),
      folderOf: (node) => this.#files.folderOf(node),
    });
    this.#postman = new Postman(services.channels, { ...ports, random: services.random });
  }

  static async open(log: AgentLog, services: AgentServices): Promise<Agent> {
    const agent = new Agent(log, await situationOf(log), services);
    await agent.#postman.open();
    return agent;
  }

  get now(): Situation {
    return this.#now;
  }

  /** Nobody works, nobody looks on and nothing happens by itself: it can be put away and opened again. */
  get isResting(): boolean {
    const isQuiet = !this.isWorking && this.#listeners.size === 0;
    return isQuiet && !summarise(this.#now).keeps_time;
  }

  /** Whether somebody works on it in this process. */
  get isWorking(): boolean {
    return this.#isUnderWay || this.#meshes !== undefined;
  }

  get #isUnderWay(): boolean {
    return !this.#tasks.isEmpty || this.#starting !== undefined;
  }

  /** The meshes whose record it is, while they are at work in this process. */
  get meshes(): HostedMeshes | undefined {
    return this.#meshes;
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
    if (this.isWorking) return Promise.reject(new Error(`${this.log.id} is at work already.`));
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

  /** When a start that is under way has ended, however that is. */
  async settled(): Promise<void> {
    await this.#starting?.catch(() => {});
  }

  /** There is room again: whoever stopped for want of it goes on, and what is due happens. */
  async recover(): Promise<void> {
    await this.#putAway();
    const { status, run, archived_ts, created } = this.#pending.agent;
    if (this.#isClosed || this.isWorking || archived_ts !== null) return;
    if (isAtWork(status) || (run === null && !created.meshes)) await this.start("recovered");
    else this.keepTime();
  }

  async #start(why: WhyStarted, order: Start): Promise<void> {
    checkNotArchived(this.#pending);
    this.#broken = undefined;
    if (this.#now.agent.created.meshes) return this.#startMeshes(why);
    const refusal = why === "created" ? null : whyTooLittle(this.#now, order, why);
    if (refusal) throw new TooLittleMoney(refusal);
    if (why !== "created") await checkPricesToGoOn(this.#now, order.budget_usd, this.#services.checkPrices);
    const goal_changes = await this.#goalChanges(why, order);
    const { facts, goingOn } = startOf(this.#now, why, { ...order, goal_changes }, this.#services.pid);
    this.#workforce.renew();
    await this.log.append({ facts }).durable;
    this.keepTime();
    await this.#files.repair();
    const current = this.#now.agent.run;
    if (!current) throw new Error("A started agent has a run.");
    await this.#files.prepareRun(current, why, this.#services.prompts);
    this.#workforce.beginRun(current);
    for (const { id } of goingOn) this.#workforce.beginNode(id);
    this.#assigning.goOn();
    this.#cancelLosers();
  }

  /** What its human wrote into `GOAL.md` while it rested; their new goal goes there, unless they just wrote another. */
  async #goalChanges(why: WhyStarted, { goal, trigger }: Start): Promise<NewFact[]> {
    if (why === "created") return [];
    const changes = await this.#goalFile.changes(() => this.#pending.agent);
    const isEdited = changes.some(({ type }) => type === "goal.set");
    if (why === "new_goal" && goal !== undefined && !trigger && !isEdited) await this.#goalFile.write(goal);
    return changes;
  }

  /** What its human wrote into `GOAL.md` is heard before what wakes it now. */
  async #readGoal(): Promise<void> {
    const { run } = this.#pending.agent;
    if (!run || run.finished || this.#starting) return;
    const facts = await this.#goalFile.changes(() => this.#pending.agent);
    if (facts.length > 0) await this.log.append({ facts }).durable;
  }

  async #startMeshes(why: WhyStarted): Promise<void> {
    // Opened first: what cannot be opened was not started.
    const { log, clock } = { log: this.log, clock: this.#services.clock };
    const live = (delta: Delta) => {
      for (const listener of this.#listeners) listener(delta);
    };
    const meshes = await this.#services.meshes({
      log,
      clock,
      live,
      now: () => this.#now,
      pending: () => this.#pending,
    });
    try {
      const facts: NewFact[] = why === "resumed" ? [{ type: "agent.resumed", data: {} }] : [];
      const started: NewFact = { type: "agent.started", data: { why, pid: this.#services.pid } };
      await this.log.append({ facts: [...facts, started] }).durable;
    } catch (error) {
      await meshes.close("leaves");
      throw error;
    }
    this.#meshes = meshes;
  }

  /** What the human says, and what becomes of it in words. */
  send(text: string, to: string = COORDINATOR, channel: Channel = "terminal"): Promise<string> {
    return this.#voice.send(text, to, channel);
  }

  respond(text: string, question_id?: string, channel: Channel = "terminal"): Promise<string> {
    return this.#voice.respond(text, question_id, channel);
  }

  /** Takes back what a person had always allowed, by the id under which it is listed. */
  revoke(permission: string): Promise<string> {
    return this.#voice.revoke(permission);
  }

  nudge(text: string, channel: Channel = "terminal"): Promise<string> {
    return this.#voice.nudge(text, channel);
  }

  /** Has it think with other models from now on; if it is at work, those who work begin again with them. */
  changeModels(order: NewModels): Promise<string> {
    const changing = this.#changeModels(order);
    const over = changing.then(
      () => {},
      () => {},
    );
    this.#changing = over;
    void over.then(() => {
      if (this.#changing === over) this.#changing = undefined;
    });
    return changing;
  }

  async #changeModels(order: NewModels): Promise<string> {
    checkNotArchived(this.#pending);
    checkThinks(this.#pending);
    const { name } = this.#pending.agent.created;
    const data = await modelChange(this.#pending, order, this.#services);
    if (!data) return `${name} has these models already.`;
    await this.settled();
    const isAtWorkHere = this.#isUnderWay && isAtWork(this.#pending.agent.status);
    if (isAtWorkHere) await this.halt();
    await this.log.append({ facts: [{ type: "model.set", data }] }).durable;
    if (isAtWorkHere) await this.start("recovered");
    return `${name} goes on with ${data.model}, no longer with ${data.was.model}.`;
  }

  /** Gives a node to somebody else, also to the human. */
  assign(node: string, to: string): Promise<string> {
    return this.#work.assign(node, to);
  }

  /** Ends a node that is no longer needed. */
  cancel(node: string, reason?: string): Promise<string> {
    return this.#work.cancel(node, reason);
  }

  /** Changes what is asked of a node that is not published. */
  update(node: string, change: NodeChange): Promise<string> {
    return this.#work.update(node, change);
  }

  /** The human has done a node that is theirs. */
  publish(node: string, summary?: string, channel: Channel = "terminal"): Promise<string> {
    return this.#work.publish(node, summary, channel);
  }

  /** The human has seen what was said to them: by one of the team, one message, or everything. */
  seen(what?: Seen): Promise<void> {
    return this.#voice.seen(what);
  }

  /**
   * From now on what is due happens: with the first start, or for an agent that only waits for its triggers, or has
   * finished without hearing the last word of its human.
   */
  keepTime(): void {
    this.#time.start();
    void this.#nextLife();
  }

  /** What the agent is to do later, as its human may see and change it. */
  get schedule(): Schedule {
    return this.#time.schedule;
  }

  /** Whoever is spoken to goes on, unless the human wants it to rest. */
  async #goOn(): Promise<string> {
    const { status, created } = this.#pending.agent;
    if (status === "paused") return ` ${created.name} is paused and hears it when resumed.`;
    await this.#starting;
    // Those who were stopped may still be putting their things away.
    if (!isAtWork(this.#pending.agent.status)) await this.#putAway();
    const isOpen = this.#pending.agent.run?.finished === null; // it may have ended meanwhile, and another begun
    if (!isOpen || this.isWorking) return "";
    const why = isAtWork(this.#pending.agent.status) ? "recovered" : "resumed";
    // Who stopped it and now speaks may want something else: nobody goes on before the coordinator has heard it.
    const coordinator_decides = this.#pending.agent.status === "stopped";
    return this.start(why, { coordinator_decides }).then(
      () => "",
      (error: unknown) => {
        // What was said is recorded: to have it said again would be to have it twice.
        if (isForWantOfRoom(error)) return ` ${created.name} goes on when there is room on the disk again.`;
        throw error;
      },
    );
  }

  /** Workers and coordinator are cancelled at once; everything said so far is kept. */
  async stop(by: string): Promise<void> {
    if (!isAtWork(this.#pending.agent.status)) return this.log.settled();
    await this.log.append({ facts: [{ type: "agent.stopped", data: { by } }] }).durable;
    await this.halt("ends");
  }

  /** As `stop`, with the promise that it goes on: by `agiraph resume`. */
  async pause(why: string): Promise<void> {
    if (!isAtWork(this.#pending.agent.status)) return this.log.settled();
    await this.log.append({ facts: [{ type: "agent.paused", data: { why } }] }).durable;
    await this.halt();
  }

  /** Stops it and puts it out of sight; nothing is erased, and until it is restored nothing happens by itself. */
  async archive(by: string): Promise<void> {
    await this.#starting;
    if (this.#pending.agent.archived_ts !== null) return this.log.settled();
    await this.stop(by);
    await this.log.append({ facts: [{ type: "agent.archived", data: { by } }] }).durable;
    await this.halt();
  }

  async restore(by: string): Promise<void> {
    if (this.#pending.agent.archived_ts === null) return this.log.settled();
    await this.log.append({ facts: [{ type: "agent.restored", data: { by } }] }).durable;
    this.keepTime();
  }

  /** Ends the work in this process; the log says who stopped, and the run stays open for the next start. */
  async halt(meshes: "leaves" | "ends" = "leaves"): Promise<void> {
    const before = this.#broken;
    this.#resting = true;
    try {
      // Who is just beginning would not hear it.
      await this.#starting?.catch(() => {});
      this.#tasks.abort(new Error("stopped"));
      const hosted = this.#meshes;
      this.#meshes = undefined;
      await hosted?.close(meshes);
      await this.#atRest().catch((error: unknown) => {
        // What had gone wrong before was told when it happened.
        if (error !== before) throw error;
      });
    } finally {
      this.#resting = false;
    }
  }

  /** Resolves when nobody works any more. Rejects when the record could not be kept. */
  async idle(): Promise<void> {
    await this.#atRest();
    while (this.#changing) {
      await this.#changing;
      await this.#atRest();
    }
  }

  async #atRest(): Promise<void> {
    for (let awaited: unknown; awaited !== this.#cancelling || this.#isUnderWay; ) {
      awaited = this.#cancelling;
      await Promise.all([...this.#tasks.all, this.#starting, awaited]);
    }
    await this.#files.settle();
    this.#recent.clear();
    if (this.#broken) throw this.#broken;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#time.stop();
    await this.halt().catch(() => {});
    await this.#postman.close();
    await this.#files.close();
  }

  #onFact(fact: Fact): void {
    const wasDeciding = this.#now.agent.coordinator_decides;
    apply(this.#now, fact);
    this.#recent.add(fact);
    this.#files.note(fact);
    if (fact.type.startsWith("trigger.")) this.#time.changed();
    if (fact.type === "stage.reconvened" && this.#services.approveStages) this.#awaitApproval(fact.data.stage);
    if (fact.type === "node.assigned" && this.#isUnderWay) this.#workforce.beginNode(fact.data.node_id);
    // What a share has left comes back with the end of its node.
    if (fact.type === "node.completed" || fact.type === "node.failed" || fact.type === "node.cancelled")
      this.#workforce.wakePurse();
    if (fact.type === "node.completed") this.#cancelLosers();
    if (wasDeciding && !this.#now.agent.coordinator_decides) this.#goOnWithNodes();
    this.#assigning.note(fact);
  }

  /** The contract of a stage is met (`any`, `majority`): who still works on it need not. */
  #cancelLosers(): void {
    const { agent, stages, board } = this.#pending;
    const run = agent.run;
    if (!run || run.finished || losersIn(stages, board, run.id).length === 0) return;
    const cancelling = this.#workforce
      .team(run.id)
      .cancelLosers()
      // When the run ended meanwhile, they ended with it.
      .catch((error: unknown) => {
        if (!this.#pending.agent.run?.finished) this.#fail(error);
      });
    this.#cancelling = Promise.all([this.#cancelling, cancelling]).then(() => {});
  }

  /** After a stop: the coordinator has decided, and what it left goes on. */
  #goOnWithNodes(): void {
    const run = this.#pending.agent.run;
    if (!run || this.#tasks.isAborted) return;
    const left = openNodes(this.#pending.board, run.id)
      .filter(isTaken)
      .filter(({ id }) => !this.#tasks.has(id));
    if (left.length === 0) return;
    const facts = left.map(({ id, worker_id }): NewFact => ({ type: "worker.busy", data: { worker_id, node_id: id } }));
    this.log.append({ facts }).durable.then(
      () => {
        for (const { id } of left) if (!this.#tasks.isAborted) this.#workforce.beginNode(id);
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #awaitApproval(stage: number): void {
    this.pause(`Stage ${stage} wants your approval.`).catch((error: unknown) => this.#fail(error));
  }

  /** What the human said in the moment of the end is the next goal. */
  async #nextLife(): Promise<void> {
    if (!unheardGoal(this.#pending)) return;
    // Those who were stopped with the run may still be putting their things away.
    await this.#putAway();
    const next = this.#starting || this.#resting ? undefined : unheardGoal(this.#pending);
    if (!next) return;
    await this.start("new_goal", next).catch((error: unknown) => {
      // Without money, say, it waits: whoever begins the next run hears it there.
      if (error instanceof StoreError) this.#fail(error);
    });
  }

  /** The next run, once those of the last have put their things away; false: another has begun meanwhile. */
  async #beginAnother(order: Start): Promise<boolean> {
    while (this.isWorking) {
      if (this.#pending.agent.run?.finished === null) return false;
      await this.#putAway();
    }
    if (this.#pending.agent.run?.finished === null) return false;
    await this.start("new_goal", order);
    return true;
  }

  /** Those who work now have ended, whoever begins after them. */
  async #putAway(): Promise<void> {
    await Promise.allSettled([...this.#tasks.all, this.#starting]);
  }

  /** What was appended and refused was never decided. */
  #forget(): void {
    this.#pending = withOwnKeys(structuredClone(this.#now));
    this.#workforce.forget();
  }

  /** The record could not be kept, or we have a bug: stop everything, lose nothing, say so. */
  #fail(error: unknown): void {
    this.#broken ??= error;
    this.#tasks.abort(error);
    if (isForWantOfRoom(error) && !this.#isClosed) this.#services.hadNoRoom(this.log.id);
  }
}

/** What the agent itself may see. */
function viewOf(agentDir: string, now: Situation): View {
  const { run, created } = now.agent;
  const published = manifestsOf(() => now.board);
  const scope = coordinatorScope({ agentDir, runId: run?.id ?? "run-1", project: created.project, published });
  return { scope, env: placesOf(scope, agentDir, now.agent) };
}
