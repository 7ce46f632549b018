import type { AgentId } from "../protocol/index.ts";
import type { Workplace } from "../workers/workplace.ts";
import type { OpenChannel } from "./human/open-channels.ts";
import type { HostedMeshes } from "./meshes/project.ts";
import type { MeshRecordPorts } from "./meshes/record.ts";
import type { MeshTrust } from "./meshes/trust.ts";
import type { TeamLimits } from "./team/team-limits.ts";
import type { Callbacks } from "./time/trigger-actions.ts";
import type { Look } from "./views/agent-views.ts";

/** What the runtime provides to every agent: models, tools, programs, limits, and how the human is reached. */
export type AgentServices = Omit<Workplace, "log" | "now" | "pending" | "live" | "purse" | "schedule"> & {
  maxConcurrent: number;
  pid: number;
  limits: TeamLimits;
  /** Whether a person approves each stage before the next begins. */
  approveStages: boolean;
  checkModel(id: string): void;
  /** Throws for a tool that nobody has, and names the nearest. */
  checkTools(names: readonly string[]): void;
  /** Rejects, with advice, for a model whose price nobody knows. */
  checkPrices(...models: (string | undefined)[]): Promise<void>;
  /** For triggers that wait for a change. */
  look: Look;
  /** What triggers may have called, by name. */
  callbacks: Callbacks;
  /** Where else the human is reached. */
  channels: readonly OpenChannel[];
  /** Opens the meshes of the project that this record is for. */
  meshes(record: MeshRecordPorts): Promise<HostedMeshes>;
  /** Sees that the messages of this project's meshes are moved: by us, or by another process that does so already. */
  hostMeshes(project: string): Promise<void>;
  /** Which meshes of which projects the person trusts. */
  trust: MeshTrust;
  random(): number;
  /** The record of this agent had no room: it is to go on when there is some. */
  hadNoRoom(agent: AgentId): void;
};
