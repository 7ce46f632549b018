import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { NodeId } from "../../protocol/index.ts";
import { checkoutScript } from "../../repository/index.ts";
import { repositoryDir, transitDir } from "../../store/paths.ts";
import type { ProjectConfig } from "../config/project-config.ts";
import { failureExcerpt } from "./failure-excerpt.ts";
import type { IncludedFiles } from "./included-files.ts";
import type { ProjectSetup } from "./project-setup.ts";
import type { SandboxedScripts } from "./sandboxed-scripts.ts";

export interface CheckResult {
  command: string;
  ok: boolean;
  ms: number;
  /** Of what it printed, the end and what says that something failed. */
  output: string;
  /** All of it that was kept, where that is more. */
  whole?: string;
}

/** Where a check runs, beside the checkout: what it may read, and what it is told of it. */
export interface CheckAccess {
  read: readonly string[];
  env: Readonly<Record<string, string>>;
  hosts: readonly string[];
}

interface CommitCheckPorts {
  agentDir: string;
  scripts: SandboxedScripts;
  setup: ProjectSetup;
  included: IncludedFiles;
}

/**
 * Checks of a commit: files that are in a clone but not in the commit do not count.
 *
 * COMMIT-CHECK-1. They run in a fresh checkout of just this commit, with what `.worktreeinclude` names and set up as the
 *     project says, which is removed afterwards.
 * COMMIT-CHECK-2. They stop at the first that fails.
 */
export class CommitChecks {
  readonly #ports: CommitCheckPorts;

  constructor(ports: CommitCheckPorts) {
    this.#ports = ports;
  }

  async run(
    commit: string,
    commands: readonly string[],
    { node, project, access }: { node: NodeId; project: ProjectConfig; access: CheckAccess },
    signal: AbortSignal,
  ): Promise<CheckResult[]> {
    if (commands.length === 0) return [];
    const folder = join(transitDir(this.#ports.agentDir), checksFolder(node));
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    try {
      return await this.#runIn(folder, commit, commands, { project, access }, signal);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #runIn(
    folder: string,
    commit: string,
    commands: readonly string[],
    { project, access }: { project: ProjectConfig; access: CheckAccess },
    signal: AbortSignal,
  ): Promise<CheckResult[]> {
    const { scripts, setup, included, agentDir } = this.#ports;
    const repository = repositoryDir(agentDir);
    const inside = { cwd: folder, write: [folder], read: [repository, ...access.read] };
    await scripts.lastLine(checkoutScript({ repository, folder, commit }), inside, signal);
    await included.bring(folder, project.limits);
    const prepared = await setup.run(folder, commit, project, signal);
    const [first = ""] = commands;
    if (prepared && !prepared.ok) {
      const output = `The setup of the project failed, so the check could not run.\n${prepared.output}`;
      return [{ command: first, ok: false, ms: prepared.ms, ...shownOf(output) }];
    }
    const results: CheckResult[] = [];
    const network = access.hosts.length > 0 ? { network: { allow: [...access.hosts] } } : {};
    const limits = { diskBytes: project.limits.checkout_mb * 1024 * 1024 };
    for (const command of commands) {
      const { ok, ms, output } = await scripts.run(
        command,
        { ...inside, env: access.env, seconds: project.limits.check_seconds, limits, ...network },
        signal,
      );
      results.push({ command, ok, ms, ...(ok ? { output: endOf(output) } : shownOf(output)) });
      if (!ok) break;
    }
    return results;
  }
}

/** In the folder of what is on its way. */
export function checksFolder(node: NodeId): string {
  return `${node}-checks`;
}

/** Enough for what a test runner says at its end. */
const MOST_OF_PASSED = 1000;

function endOf(output: string): string {
  return output.length > MOST_OF_PASSED ? `…${output.slice(-MOST_OF_PASSED)}` : output;
}

function shownOf(whole: string): Pick<CheckResult, "output" | "whole"> {
  const output = failureExcerpt(whole);
  return output === whole ? { output } : { output, whole };
}
