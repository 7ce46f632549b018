import type { Config, StageContract } from "../../protocol/index.ts";

export interface TeamLimits {
  maxDepth: number;
  maxChildren: number;
  maxStages: number;
  /** Messages between two that only answer each other. */
  maxHops: number;
  /** Messages between two in a run, or in a cycle of one that has no end. */
  maxThread: number;
  contract: StageContract;
}

const TEAM_LIMITS: TeamLimits = {
  maxDepth: 4,
  maxChildren: 20,
  maxStages: 20,
  maxHops: 12,
  maxThread: 60,
  contract: { max_iterations_per_node: 40, timeout_seconds: 1800, checkpoint_policy: "all_must_complete" },
};

export type PartialContract = { [K in keyof StageContract]?: StageContract[K] | undefined };

export function agreedContract(wanted: PartialContract, usual: StageContract): StageContract {
  return {
    max_iterations_per_node: wanted.max_iterations_per_node ?? usual.max_iterations_per_node,
    timeout_seconds: wanted.timeout_seconds ?? usual.timeout_seconds,
    checkpoint_policy: wanted.checkpoint_policy ?? usual.checkpoint_policy,
    ...(wanted.max_stages !== undefined && { max_stages: wanted.max_stages }),
  };
}

/** What config.json says overrides the defaults. */
export function limitsFrom(config: Config): TeamLimits {
  return {
    ...TEAM_LIMITS,
    maxStages: config.max_stages ?? TEAM_LIMITS.maxStages,
    maxDepth: config.max_depth ?? TEAM_LIMITS.maxDepth,
    maxChildren: config.max_children ?? TEAM_LIMITS.maxChildren,
    contract: agreedContract(config.contract ?? {}, TEAM_LIMITS.contract),
  };
}
