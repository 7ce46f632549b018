import type { Situation } from "../../projections/index.ts";
import { COORDINATOR, type NodeId, type RunId, type WorkerId } from "../../protocol/index.ts";
import type { SchedulePort } from "../../tools/schedule.ts";
import { Purse } from "../../workers/loop/purse.ts";
import type { Delta } from "../../workers/loop/recorded-loop.ts";
import type { Workplace } from "../../workers/workplace.ts";
import type { AgentFiles } from "../agent-files.ts";
import type { AgentServices } from "../agent-services.ts";
import { withMeshes } from "../meshes/hirable-meshes.ts";
import type { PendingLog } from "../pending-log.ts";
import { runCoordinator } from "./coordinator-run.ts";
import { isTaken, runNode } from "./node-run.ts";
import type { RunningTasks } from "./running-tasks.ts";
import { Team } from "./team.ts";

interface WorkforcePorts {
  log: PendingLog;
  now(): Situation;
  /** With what is appended and not yet on disk: everything is decided by it. */
  pending(): Situation;
  services: AgentServices;
  files: AgentFiles;
  tasks: RunningTasks;
  /** What somebody may have happen later. */
  schedule(who: WorkerId): SchedulePort;
  live(delta: Delta): void;
}

/** Begins those who work for an agent, each with the team and the workplace of its run. */
export class Workforce {
  readonly #ports: WorkforcePorts;
  #purse: Purse;
  #teamOf: { run: RunId; team: Team } | undefined;

  constructor(ports: WorkforcePorts) {
    this.#ports = ports;
    this.#purse = new Purse(ports.pending);
  }

  /** Who begins from now on has nothing to do with what ended the others. */
  renew(): void {
    this.#ports.tasks.renew();
    this.#purse = new Purse(this.#ports.pending);
  }

  /** What the last team has counted is not so. */
  forget(): void {
    this.#teamOf?.team.recount();
  }

  /** One for each run: it counts nodes and messages. */
  team(run: RunId): Team {
    if (this.#teamOf?.run !== run) {
      const { log, now, pending, services, tasks } = this.#ports;
      const stopWork = async (id: NodeId) => {
        // Somebody to whom it was just given begins when that is on disk.
        await log.settled();
        await tasks.end(id, new Error("somebody else is to have it, or nobody"));
      };
      const { limits, checkModel, checkTools, checkPrices } = services;
      const outside = this.#outside();
      const team = new Team(run, { log, now, pending, stopWork, limits, outside, checkModel, checkTools, checkPrices });
      this.#teamOf = { run, team };
    }
    return this.#teamOf.team;
  }

  beginRun(run: { id: RunId; goal: string }): void {
    this.#ports.tasks.begin(COORDINATOR, async (signal) => {
      await runCoordinator(run, this.team(run.id), this.#workplace(run.id), this.#ports, signal);
    });
  }

  beginNode(id: NodeId): void {
    const { now, pending, files, tasks } = this.#ports;
    tasks.begin(id, async (signal) => {
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

  /** Somebody has spent what was reserved for them: there may be room for others. */
  wakePurse(): void {
    this.#purse.wake();
  }

  /** Programs, and the meshes of the project that the agent was given. */
  #outside(): AgentServices["outside"] {
    const { log, now, services } = this.#ports;
    const { outside, hostMeshes, trust, clock } = services;
    return withMeshes(outside, { agent: log.id, project: now().agent.created.project, hostMeshes, trust, clock });
  }

  #workplace(run: RunId): Workplace {
    const { log, now, pending, services, schedule, live } = this.#ports;
    // Not spread: what config.json says may change while somebody works, and is asked anew.
    const standing = Object.defineProperties({}, Object.getOwnPropertyDescriptors(services)) as AgentServices;
    return Object.assign(standing, {
      outside: this.#outside(),
      log,
      now,
      pending,
      purse: this.#purse,
      schedule,
      aloud: (from: WorkerId, text: string) => this.team(run).aloud(from, text),
      toHuman: (from: WorkerId, text: string) => this.team(run).toHuman(from, text),
      live,
    });
  }
}
