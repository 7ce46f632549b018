import type { Scrubber } from "../boundary/scrubber.ts";
import type { Catalog } from "../models/catalog/catalog.ts";
import type { Clock } from "../protocol/clock.ts";
import type { AgentId } from "../protocol/index.ts";
import type { Sandbox } from "../sandbox/index.ts";
import type { ProgramPorts } from "../workers/outside/session/program-ports.ts";
import { promptsOf } from "../workers/prompt.ts";
import { dayWords } from "../workers/surroundings.ts";
import { type Environment, type Settings, zoneOf } from "./config/settings.ts";
import type { OpenChannel } from "./human/open-channels.ts";
import { withMeshes } from "./meshes/hirable-meshes.ts";
import type { HostedMeshes } from "./meshes/hosted-meshes.ts";
import type { GivingAgent } from "./meshes/mesh-clone.ts";
import type { MeshRecordPorts } from "./meshes/mesh-record.ts";
import { MeshTrust } from "./meshes/trust.ts";
import { txWords } from "./meshes/tx-words.ts";
import type { RepositoryServices } from "./repository/team-repository.ts";
import { limitsFrom } from "./team/team-limits.ts";
import type { TeamServices } from "./team/team-services.ts";
import type { Callbacks } from "./time/trigger-actions.ts";
import type { LookAt } from "./views/agent-views.ts";

/**
 * What the runtime provides to every agent: what its team needs, and the connections to the human, the clock and
 * meshes.
 */
export type AgentServices = TeamServices & {
  pid: number;
  /** Whether a person approves each stage before the next begins. */
  approveStages: boolean;
  /** For agents that write. */
  gitServices: RepositoryServices;
  /** For triggers that wait for a change. */
  look: LookAt;
  /** What triggers may have called, by name. */
  callbacks: Callbacks;
  /** Where else the human is reached. */
  channels: readonly OpenChannel[];
  /** Opens the meshes of the project that this record is for. */
  meshes(record: MeshRecordPorts): Promise<HostedMeshes>;
  random(): number;
  /** The record of this agent had no room: it is to go on when there is some. */
  hadNoRoom(agent: AgentId): void;
};

/** What the composition root passes in for agents. */
export interface ServicePorts
  extends Pick<
    AgentServices,
    "callbacks" | "channels" | "check" | "foreignTools" | "look" | "machine" | "pid" | "random" | "tools"
  > {
  outside: ProgramPorts;
  catalog: Catalog;
  clock: Clock;
  scrubber: Scrubber;
  sandbox(): Promise<Sandbox>;
}

/** What the runtime itself does for an agent. */
interface RuntimeServices
  extends Pick<AgentServices, "checkModel" | "programFor" | "checkTools" | "checkPrices" | "hadNoRoom"> {
  /** Sees that the messages of this project's meshes are moved: by us (true), or by another process that does so already. */
  hostMeshes(project: string): Promise<boolean>;
  /** The part of the environment that came with the start of a project's meshes. */
  meshEnvironment(project: string): Environment;
  /** An agent of this home, as it is open; undefined where there is none of this id. */
  agent(id: AgentId): Promise<GivingAgent | undefined>;
}

const MAX_CONCURRENT = 4;
const MAX_TURNS = 200;

export function agentServices(
  settings: Settings,
  ports: ServicePorts,
  { hostMeshes, meshEnvironment, agent: giving, ...checks }: RuntimeServices,
): AgentServices {
  const { catalog, clock, random, tools, foreignTools, check, look, machine, outside, pid, sandbox, scrubber } = ports;
  const { home } = settings;
  const trust = new MeshTrust(home, () => clock.now());
  return {
    ...checks,
    prompts: promptsOf(home),
    today: () => dayWords(clock.now(), zoneOf(settings.config)),
    machine,
    clock,
    pid,
    tools,
    foreignTools,
    model: (id) => catalog.model(id),
    callbacks: ports.callbacks,
    // What config.json says now, also for an agent that is at work for days.
    get timeZone() {
      return zoneOf(settings.config);
    },
    get approveStages() {
      return settings.config.approve_stages ?? false;
    },
    get sharedMemory() {
      return settings.config.memory?.shared ? home : null;
    },
    get limits() {
      return limitsFrom(settings.config);
    },
    get maxTurns() {
      return maxTurnsOf(settings);
    },
    get maxConcurrent() {
      return settings.config.max_concurrent ?? MAX_CONCURRENT;
    },
    check,
    look,
    gitServices: {
      ...{ env: settings.env, home, sandbox, scrubber },
      get config() {
        return settings.config;
      },
    },
    kindOf: (name) => outside.kindOf(name),
    outsideFor: (agent, project) => withMeshes(outside, { agent, project, hostMeshes, trust, clock }),
    channels: ports.channels,
    meshes: (record) => openMeshes(record, settings, ports, { trust, meshEnvironment, giving }),
    random,
  };
}

async function openMeshes(
  record: MeshRecordPorts,
  settings: Settings,
  { catalog, tools, outside, sandbox }: ServicePorts,
  {
    trust,
    meshEnvironment,
    giving,
  }: { trust: MeshTrust; giving: RuntimeServices["agent"] } & Pick<RuntimeServices, "meshEnvironment">,
): Promise<HostedMeshes> {
  const project = await import("./meshes/hosted-meshes.ts");
  const folder = record.now().agent.created.project ?? "";
  return project.openMeshes(record, {
    ...{ home: settings.home, env: settings.env, tools, outside, sandbox, trust, giving },
    given: () => meshEnvironment(folder),
    model(id) {
      const { worker_model, model = id } = settings.config;
      return catalog.model(id === "" ? (worker_model ?? model) : id);
    },
    maxTurns: maxTurnsOf(settings),
    tx: txWords(),
    // Looked up each time: config.json may have changed.
    get config() {
      return settings.config;
    },
    get timeZone() {
      return zoneOf(settings.config);
    },
  });
}

function maxTurnsOf({ config }: Settings): number {
  return config.max_turns ?? MAX_TURNS;
}
