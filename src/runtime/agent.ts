import { isAtWork, type Situation, summarise } from "../projections/index.ts";
import { type Actor, COORDINATOR, type Fact, type NewFact, type RunId } from "../protocol/index.ts";
import type { AgentLog } from "../store/store.ts";
import type { NodeChange } from "../tools/coordination.ts";
import type { Delta } from "../workers/loop/recorded-loop.ts";
import type { AgentServices } from "./agent-services.ts";
import { AgentWork } from "./agent-work.ts";
import { HumanSide } from "./human/human-side.ts";
import type { Seen } from "./human/human-voice.ts";
import { Postman } from "./human/postman.ts";
import type { RepositoryWork } from "./human/repository-work.ts";
import { MeshHosting } from "./mesh-hosting.ts";
import type { HostedMeshes } from "./meshes/hosted-meshes.ts";
import type { NewModels } from "./model-change.ts";
import { TeamRepository } from "./repository/team-repository.ts";
import { onItsOwn } from "./state/acting.ts";
import { AgentFiles } from "./state/agent-files.ts";
import { GoalFile } from "./state/goal-file.ts";
import { LiveSituation } from "./state/live-situation.ts";
import type { PendingLog } from "./state/pending-log.ts";
import { situationOf } from "./state/situations.ts";
import type { AgentStart, WhyStarted } from "./state/start-facts.ts";
import { WordsUnderWay } from "./state/words-under-way.ts";
import { Workforce } from "./team/workforce.ts";
import type { Schedule } from "./time/schedule.ts";
import { timekeeper } from "./time/timekeeper.ts";
import { visibleFilesOf } from "./views/agent-views.ts";

/**
 * One agent: what people ask of it, when it starts and stops, and what follows from each fact of its log.
 *
 * AGENT-1. Decide from the fold, append the decision, act when it is on disk. After a crash anywhere: fold, and repeat
 *     what is not marked as done.
 * AGENT-1a. Decisions are based on what will be true once everything appended is on disk (`pending`), and are appended
 *     at once, so no two contradict each other, however slow the disk is. Actions and messages follow what is on disk
 *     (`now`).
 * AGENT-2. Actions are idempotent by id: a node has at most one task in this process.
 */
export class Agent {
  readonly #services: AgentServices;
  readonly #situation: LiveSituation;
  readonly #files: AgentFiles;
  readonly #workforce: Workforce;
  readonly #meshes: MeshHosting;
  readonly #repository: TeamRepository | undefined;
  readonly #work: AgentWork;
  readonly #time: ReturnType<typeof timekeeper>;
  readonly #human: HumanSide;
  readonly #postman: Postman;
  readonly #words = new WordsUnderWay();
  readonly #ended = new AbortController();

  private constructor(agentLog: AgentLog, situation: Situation, services: AgentServices) {
    this.#services = services;
    this.#situation = new LiveSituation(agentLog, situation, (error) => this.#endAfter(error));
    const { log, now, pending } = this.#situation;
    const live = (delta: Delta) => this.#words.hear(delta);
    const ports = { log, now, pending, clock: services.clock, failed: (error: unknown) => this.#work.fail(error) };
    const goalFile = new GoalFile(ports);
    this.#files = new AgentFiles(ports);
    this.#meshes = new MeshHosting({ ...ports, live, services });
    this.#repository = now().agent.created.write
      ? new TeamRepository({ ...ports, services: services.gitServices })
      : undefined;
    this.#workforce = new Workforce({
      ...ports,
      ...{ live, services, files: this.#files, repository: this.#repository },
      schedule: (who) => this.schedule.by(who),
      isStarting: () => this.#work.starting !== undefined,
      deliver: () => this.#human.repository.deliverUnasked(),
      ended: () => this.#work.startUnheardGoal(),
    });
    this.#work = new AgentWork({
      ...{ services, situation: this.#situation, goalFile },
      ...{ files: this.#files, workforce: this.#workforce, meshes: this.#meshes, repository: this.#repository },
      keepTime: () => this.keepTime(),
    });
    log.subscribe((fact) => this.#hear(fact));
    const reach = {
      ...ports,
      team: (run: RunId) => this.#workforce.team(run),
      goOn: () => this.#work.goOn(),
      readGoal: async () => (this.#work.starting ? undefined : goalFile.recordChanges()),
    };
    this.#time = timekeeper({
      ...reach,
      timeZone: () => services.timeZone,
      callbacks: services.callbacks,
      look: (what, signal) => services.look(what, visibleFilesOf(log.dir, now()), signal),
      begin: (goal, trigger) => this.#work.startNextRun({ goal, trigger }),
    });
    this.#human = new HumanSide({
      ...reach,
      ...{ work: this.#work, workforce: this.#workforce, files: this.#files, repository: this.#repository },
    });
    this.#postman = new Postman(services.channels, { ...ports, random: services.random });
  }

  /** The log cannot be written any more. */
  #endAfter(error: unknown): void {
    this.#workforce.forget();
    this.#work.fail(error);
  }

  static async open(log: AgentLog, services: AgentServices): Promise<Agent> {
    const agent = new Agent(log, await situationOf(log), services);
    await agent.#postman.open();
    return agent;
  }

  get log(): PendingLog {
    return this.#situation.log;
  }

  get now(): Situation {
    return this.#situation.now();
  }

  get #pending(): Situation {
    return this.#situation.pending();
  }

  /** Nobody works, nobody looks on and nothing happens by itself: it can be closed and opened again. */
  get isResting(): boolean {
    return this.isQuiet && !summarise(this.now).keeps_time;
  }

  /** Nobody works, and nobody looks on. */
  get isQuiet(): boolean {
    return !this.isWorking && !this.#words.isHeard;
  }

  /** Fires when it was closed here: who looks on is told no more. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Whether somebody works on it in this process. */
  get isWorking(): boolean {
    return this.#work.isUnderWay;
  }

  /** The meshes whose record it is, while they are at work in this process. */
  get meshes(): HostedMeshes | undefined {
    return this.#meshes.hosted;
  }

  /** The words of the team as they are streamed. Returns the unsubscribe. */
  onDelta(listener: (delta: Delta) => void): () => void {
    return this.#words.listen(listener);
  }

  /** What was said so far of the replies that are under way. */
  saying(): Delta[] {
    return this.#words.underWay();
  }

  /** What the agent is to do later, as its human may see and change it. */
  get schedule(): Schedule {
    return this.#time.schedule;
  }

  /** What its human does with the work on their repository. */
  get repositoryWork(): RepositoryWork {
    return this.#human.repository;
  }

  /** What the human says, and what becomes of it in words. */
  send(text: string, to: string = COORDINATOR): Promise<string> {
    return this.#human.voice.send(text, to);
  }

  respond(text: string, question_id?: string, via: Actor["via"] = "terminal"): Promise<string> {
    return this.#human.voice.respond(text, question_id, via);
  }

  nudge(text: string, via: Actor["via"] = "terminal"): Promise<string> {
    return this.#human.voice.nudge(text, via);
  }

  /** Takes back what a person had always allowed, by the id under which it is listed. */
  revoke(permission: string): Promise<string> {
    return this.#human.voice.revoke(permission);
  }

  /** The human has seen what was said to them: by one of the team, one message, or everything. */
  seen(what?: Seen): Promise<void> {
    return this.#human.voice.seen(what);
  }

  /** Gives a node to somebody else, also to the human. */
  assign(node: string, to: string): Promise<string> {
    return this.#human.nodes.assign(node, to);
  }

  /** Ends a node that is no longer needed. */
  cancel(node: string, reason?: string): Promise<string> {
    return this.#human.nodes.cancel(node, reason);
  }

  /** Changes what is asked of a node that is not published. */
  update(node: string, change: NodeChange): Promise<string> {
    return this.#human.nodes.update(node, change);
  }

  /** The human has done a node that is theirs. */
  publish(node: string, summary?: string, via: Actor["via"] = "terminal"): Promise<string> {
    return this.#human.nodes.publish(node, summary, via);
  }

  /** Begins a run, or goes on with the one that was under way. */
  start(why: WhyStarted, order: AgentStart = {}): Promise<void> {
    return this.#work.start(why, order);
  }

  /** When a start that is under way has ended, however that is. */
  async drained(): Promise<void> {
    await this.#work.starting?.catch(() => {});
  }

  /** There is room on the disk again: work that stopped for want of it goes on, and what is due happens. */
  recover(): Promise<void> {
    return this.#work.recover();
  }

  /**
   * From now on what is due happens: with the first start, or for an agent that only waits for its triggers, or has
   * finished without hearing the last word of its human.
   */
  keepTime(): void {
    onItsOwn(() => {
      this.#time.start();
      void this.#work.startUnheardGoal();
    });
  }

  /** Workers and coordinator are cancelled at once; everything said so far is kept. */
  async stop(by: string, why?: string): Promise<void> {
    if (!isAtWork(this.#pending.agent.status)) return this.log.drained();
    await this.#record({ type: "agent.stopped", data: { by, ...(why !== undefined && { why }) } });
    await this.halt("ends");
  }

  /** As `stop`, with the promise that it goes on: by `agiraph resume`. */
  async pause(why: string): Promise<void> {
    if (!isAtWork(this.#pending.agent.status)) return this.log.drained();
    await this.#record({ type: "agent.paused", data: { why } });
    await this.halt();
  }

  /** Stops it and puts it out of sight; nothing is erased, and until it is restored nothing happens by itself. */
  async archive(by: string): Promise<void> {
    await this.#work.starting;
    if (this.#pending.agent.archived_ts !== null) return this.log.drained();
    await this.stop(by);
    await this.#record({ type: "agent.archived", data: { by } });
    await this.halt();
  }

  async restore(by: string): Promise<void> {
    if (this.#pending.agent.archived_ts === null) return this.log.drained();
    await this.#record({ type: "agent.restored", data: { by } });
    this.keepTime();
  }

  /** Has it think with other models from now on; if it is at work, those who work begin again with them. */
  changeModels(order: NewModels): Promise<string> {
    return this.#work.changeModels(order);
  }

  /** Ends the work in this process; the log says who stopped, and the run stays open for the next start. */
  halt(meshes: "leaves" | "ends" = "leaves"): Promise<void> {
    return this.#work.halt(meshes);
  }

  /** Resolves when nobody works any more. Rejects when the record could not be kept. */
  idle(): Promise<void> {
    return this.#work.idle();
  }

  async close(): Promise<void> {
    this.#work.close();
    await this.#time.stop();
    await this.halt().catch(() => {});
    this.#human.nodes.close();
    await this.#postman.close();
    await this.#files.close();
    this.#ended.abort();
  }

  /** A fact is on disk: what follows from it. */
  #hear(fact: Fact): void {
    const wasDeciding = this.now.agent.coordinator_decides;
    this.#situation.hear(fact);
    this.#words.note(fact);
    this.#files.note(fact);
    if (fact.type.startsWith("trigger.")) this.#time.changed();
    if (fact.type === "stage.reconvened" && this.#services.approveStages) this.#awaitApproval(fact.data.stage);
    this.#workforce.hear(fact, wasDeciding);
  }

  #awaitApproval(stage: number): void {
    this.pause(`Stage ${stage} needs your approval.`).catch((error: unknown) => this.#work.fail(error));
  }

  async #record(fact: NewFact): Promise<void> {
    await this.log.append({ facts: [fact] }).durable;
  }
}
