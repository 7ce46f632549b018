import type { Workplace } from "../../workers/workplace.ts";
import type { MeshTrust } from "../meshes/trust.ts";
import type { TeamLimits } from "./team-limits.ts";

/** What the runtime provides to every team: models, tools, programs and limits. */
export type TeamServices = Omit<Workplace, "log" | "now" | "pending" | "live" | "purse" | "schedule"> & {
  maxConcurrent: number;
  limits: TeamLimits;
  /** Throws, with advice, for a model that cannot be used here. */
  checkModel(id: string): void;
  /** Throws for a tool that nobody has, and names the nearest. */
  checkTools(names: readonly string[]): void;
  /** Rejects, with advice, for a model whose price nobody knows. */
  checkPrices(...models: (string | undefined)[]): Promise<void>;
  /** Sees that the messages of this project's meshes are moved: by us, or by another process that does so already. */
  hostMeshes(project: string): Promise<void>;
  /** Which meshes of which projects the person trusts. */
  trust: MeshTrust;
};
