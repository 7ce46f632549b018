import { execFileSync } from "node:child_process";
import type { DeclaredAgent } from "../mesh/config.ts";
import { CLAUDE_CODE } from "../workers/outside/programs.ts";

/** A terminal, a program without one, or a model in our own loop. */
export type Runs = "tmux" | "headless" | "harnessed";

/** As declared; otherwise a model of a provider thinks in our loop, and a program has a terminal where there are such. */
export function runsOf({ config: { options = {} } }: DeclaredAgent): Runs {
  if (options.runs) return options.runs;
  if (options.program === undefined && options.model?.includes("/") && !options.model.startsWith(`${CLAUDE_CODE}/`))
    return "harnessed";
  return hasTmux() ? "tmux" : "headless";
}

export function programName({ config: { options } }: DeclaredAgent): string {
  return options?.program ?? CLAUDE_CODE;
}

/** claude-opus, claude-sonnet and claude-haiku are what Claude Code calls opus, sonnet and haiku. */
export function modelName({ config: { options } }: DeclaredAgent): string | null {
  const model = options?.model;
  if (model === undefined) return null;
  const [, alias] = /^(?:claude-code\/|claude-)(opus|sonnet|haiku)$/.exec(model) ?? [];
  return alias ?? model;
}

/** For the roster: what somebody is. */
export function describedRun(agent: DeclaredAgent): string {
  const { options } = agent.config;
  const isModel = options?.runs === "harnessed" || (options?.program === undefined && options?.model?.includes("/"));
  if (isModel) return options?.model ?? "default";
  return `${programName(agent)}/${modelName(agent) ?? "default"}`;
}

let tmuxIsHere: boolean | undefined;

function hasTmux(): boolean {
  if (tmuxIsHere === undefined) {
    try {
      execFileSync("tmux", ["-V"], { stdio: "ignore" });
      tmuxIsHere = true;
    } catch {
      tmuxIsHere = false;
    }
  }
  return tmuxIsHere;
}
