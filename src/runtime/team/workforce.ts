import { losersIn, type NodeState, openNodes, type Situation } from "../../projections/index.ts";
import { COORDINATOR, type Fact, type NewFact, type NodeId, type RunId, type WorkerId } from "../../protocol/index.ts";
import type { SchedulePort } from "../../tools/schedule.ts";
import { Purse } from "../../workers/loop/purse.ts";
import type { Delta } from "../../workers/loop/recorded-loop.ts";
import type { ProgramPorts } from "../../workers/outside/session/program-ports.ts";
import type { RepositoryPort, Workplace } from "../../workers/workplace.ts";
import type { AgentFiles } from "../state/agent-files.ts";
import type { PendingLog } from "../state/pending-log.ts";
import { isTaken } from "../state/taken-node.ts";
import { Assigning } from "./assigning.ts";
import { runCoordinator } from "./coordinator-run.ts";
import { DeadlockWatch } from "./deadlock-watch.ts";
import { runNode } from "./node-run.ts";
import { RunningWork } from "./running-work.ts";
import { Team } from "./team.ts";
import type { TeamServices } from "./team-services.ts";

interface WorkforcePorts {
  log: PendingLog;
  now(): Situation;
  /** With what is appended and not yet on disk: everything is decided by it. */
  pending(): Situation;
  services: TeamServices;
  files: AgentFiles;
  /** Of an agent that writes. */
  repository: RepositoryPort | undefined;
  /** What a worker may schedule. */
  schedule(who: WorkerId): SchedulePort;
  live(delta: Delta): void;
  /** A start is under way: work is given out before anybody has begun. */
  isStarting(): boolean;
  /** The record could not be kept, or we have a bug. */
  failed(error: unknown): void;
  /** Gives the person the work, where they want it unasked; resolves with what they have to be told of it. */
  deliver(): Promise<string | null>;
  /** The coordinator has ended, and everybody of its run with it. */
  ended(): Promise<void>;
}

/**
 * The workers of an agent in this process: starts them, with the team and the workplace of their run, and ends them.
 */
export class Workforce {
  readonly #ports: WorkforcePorts;
  readonly #tasks: RunningWork;
  readonly #assigning: Assigning;
  readonly #deadlocks: DeadlockWatch;
  #purse: Purse;
  #teamOf: { run: RunId; team: Team } | undefined;
  #cancelling: Promise<void> = Promise.resolve();

  constructor(ports: WorkforcePorts) {
    const { log, now, pending, failed, ended, services } = ports;
    this.#ports = ports;
    this.#purse = new Purse(pending);
    this.#tasks = new RunningWork({ failed, ended });
    const { maxConcurrent } = services;
    const isOver = () => !this.isGivingOutWork;
    this.#assigning = new Assigning({ log, now, pending, maxConcurrent, programs: services, isOver, failed });
    this.#deadlocks = new DeadlockWatch({
      ...{ log, now, pending, isOver, failed, timeZone: () => services.timeZone },
      message: (...message) => this.team(pending().agent.run?.id ?? "run-0").deadlock(...message),
    });
  }

  /** Somebody is at work, or about to be. */
  get isUnderWay(): boolean {
    return !this.#tasks.isEmpty || this.#ports.isStarting();
  }

  /** While an agent rests, work changes hands on the record alone: its new worker begins when the agent goes on. */
  get isGivingOutWork(): boolean {
    return this.isUnderWay && !this.#tasks.isAborted;
  }

  /** Those who work now, each until they end. */
  get ends(): Promise<void>[] {
    return this.#tasks.all;
  }

  /** Work that lost is being cancelled, which nobody else waits for. A new promise with each. */
  get cancelling(): Promise<void> {
    return this.#cancelling;
  }

  /** Workers that begin from now on are not ended by what ended the others. */
  renew(): void {
    this.#tasks.renew();
    this.#purse = new Purse(this.#ports.pending);
  }

  /** The run begins or goes on, with the nodes that somebody was on. */
  begin(run: { id: RunId; goal: string }, goingOn: readonly NodeState[]): void {
    this.#beginRun(run);
    for (const { id } of goingOn) this.#beginNode(id);
    this.#assigning.goOn();
    this.#cancelLosers();
  }

  /** A fact is on disk: what follows from it for those who work. */
  hear(fact: Fact, wasDeciding: boolean): void {
    if (fact.type === "node.assigned" && this.isUnderWay) this.#beginNode(fact.data.node_id);
    // What a share has left comes back with the end of its node.
    if (fact.type === "node.completed" || fact.type === "node.failed" || fact.type === "node.cancelled")
      this.#purse.wake();
    if (fact.type === "node.completed") this.#cancelLosers();
    if (wasDeciding && !this.#ports.now().agent.coordinator_decides) this.#goOnWithNodes();
    this.#assigning.note(fact);
    this.#deadlocks.note(fact);
  }

  abort(reason: unknown): void {
    this.#tasks.abort(reason);
  }

  /** What the last team has counted is void. */
  forget(): void {
    this.#teamOf?.team.recount();
  }

  /** One for each run: it counts nodes and messages. */
  team(run: RunId): Team {
    if (this.#teamOf?.run !== run) {
      const { log, now, pending, files, services } = this.#ports;
      const stopWork = async (id: NodeId) => {
        // Somebody to whom it was just given begins when that is on disk.
        await log.drained();
        await this.#tasks.end(id, new Error("somebody else is to have it, or nobody"));
      };
      const folderWritten = async (id: NodeId) => {
        const node = now().board.nodes[id];
        if (node) await files.folderOf(node).catch(() => {});
      };
      const { limits, checkModel, programFor, checkTools, checkPrices } = services;
      const outside = this.#outside();
      const checks = { checkModel, programFor, checkTools, checkPrices };
      const team = new Team(run, { log, now, pending, stopWork, folderWritten, limits, outside, ...checks });
      this.#teamOf = { run, team };
    }
    return this.#teamOf.team;
  }

  #beginRun(run: { id: RunId; goal: string }): void {
    const { files, log, deliver } = this.#ports;
    const help = {
      ...{ files, tasks: this.#tasks, losersCancelled: () => this.#cancelling },
      deliver: async () => {
        const problem = await deliver();
        if (problem !== null) await log.append({ facts: [this.team(run.id).toHuman(COORDINATOR, problem)] }).durable;
      },
    };
    this.#tasks.begin(COORDINATOR, async (signal) => {
      await runCoordinator(run, this.team(run.id), this.#workplace(run.id), help, signal);
    });
  }

  #beginNode(id: NodeId): void {
    const { now, pending, files } = this.#ports;
    this.#tasks.begin(id, async (signal) => {
      const node = now().board.nodes[id];
      const next = pending().board.nodes[id];
      // Cancelled, or given to somebody else, while the assignment was on its way to the disk.
      if (!node || !isTaken(node) || !next || !isTaken(next) || next.worker_id !== node.worker_id) return;
      const worker = now().roster[node.worker_id];
      if (!worker) throw new Error(`${id} is assigned to ${node.worker_id}, who is not on the roster.`);
      await files.folderOf(node);
      await runNode(node, worker, this.team(node.spec.run_id), this.#workplace(node.spec.run_id), signal);
    });
  }

  /** The contract of a stage is met (`any`, `majority`): nobody needs to work on it any more. */
  #cancelLosers(): void {
    const { pending, failed } = this.#ports;
    const { agent, stages, board } = pending();
    const run = agent.run;
    if (!run || run.finished || losersIn(stages, board, run.id).length === 0) return;
    const cancelling = this.team(run.id)
      .cancelLosers()
      // When the run ended meanwhile, they ended with it.
      .catch((error: unknown) => {
        if (!pending().agent.run?.finished) failed(error);
      });
    this.#cancelling = Promise.all([this.#cancelling, cancelling]).then(() => {});
  }

  /** After a stop: the coordinator has decided, and what it left goes on. */
  #goOnWithNodes(): void {
    const { log, pending, failed } = this.#ports;
    const { board, agent } = pending();
    if (!agent.run || this.#tasks.isAborted) return;
    const left = openNodes(board, agent.run.id)
      .filter(isTaken)
      .filter(({ id }) => !this.#tasks.has(id));
    if (left.length === 0) return;
    const facts = left.map(({ id, worker_id }): NewFact => ({ type: "worker.busy", data: { worker_id, node_id: id } }));
    log.append({ facts }).durable.then(() => {
      for (const { id } of left) if (!this.#tasks.isAborted) this.#beginNode(id);
    }, failed);
  }

  #outside(): ProgramPorts {
    const { log, now, services } = this.#ports;
    return services.outsideFor(log.id, now().agent.created.project);
  }

  #workplace(run: RunId): Workplace {
    const { log, now, pending, services, schedule, live, repository } = this.#ports;
    // Not spread: what config.json says may change while somebody works, and is asked anew.
    const workplace = Object.defineProperties({}, Object.getOwnPropertyDescriptors(services)) as TeamServices;
    return Object.assign(workplace, {
      outside: this.#outside(),
      log,
      now,
      pending,
      purse: this.#purse,
      schedule,
      ...(repository && { repository }),
      aloud: (from: WorkerId, text: string) => this.team(run).aloud(from, text),
      toHuman: (from: WorkerId, text: string) => this.team(run).toHuman(from, text),
      live,
    });
  }
}
