import type { ReceiveLimits } from "../../repository/index.ts";

/** What a project asks for, from its `.agiraph/project.json` at the base commit and from config.json. */
export interface RepositorySettings {
  setup?: {
    command: string;
    /** Files of the repository that what it makes depends on. */
    inputs: readonly string[];
    /** What it makes; everything that git ignores if there are none. */
    outputs: readonly string[];
    timeout_seconds: number;
  };
  checks: readonly string[];
  /** What setup may reach beside the hosts of commands. */
  hosts: readonly string[];
  limits: Partial<ReceiveLimits>;
}

export const NO_SETTINGS: RepositorySettings = { checks: [], hosts: [], limits: {} };
