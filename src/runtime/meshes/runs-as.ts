import { execFileSync } from "node:child_process";
import type { DeclaredAgent } from "../../mesh/declaration/declared-agent.ts";
import type { DeclaredMesh } from "../../mesh/declaration/declared-mesh.ts";
import type { SpeaksBy } from "../../mesh/files/message-text.ts";
import { programIn } from "../../models/catalog/model-name.ts";
import type { ProgramProfile } from "../../protocol/index.ts";
import { CLAUDE_CODE, KNOWN_PROGRAMS, programsOf } from "../../workers/outside/programs.ts";
import type { Settings } from "../config/settings.ts";
import { missingFor } from "../programs/missing-program.ts";

/** How a mesh agent is run: in a terminal, as a program without one, or as a model in our own loop. */
export type RunsAs = "tmux" | "headless" | "harnessed";

/** As declared; otherwise a provider's model runs in our loop, and a program in a terminal if tmux is installed. */
export function runsAs({ config: { options = {} } }: DeclaredAgent): RunsAs {
  if (options.runs) return options.runs;
  if (options.program === undefined && options.model?.includes("/") && programByModel(options.model) === undefined)
    return "harnessed";
  return hasTmux() ? "tmux" : "headless";
}

/** The same, but in a terminal only if a person allowed terminals. */
export function runsGiven(agent: DeclaredAgent, { terminals }: { terminals: boolean }): RunsAs {
  const runs = runsAs(agent);
  return runs === "tmux" && !terminals ? "headless" : runs;
}

/** How it speaks when it runs like this. Only commands of a person's own have neither tools nor a conversation. */
export function speaksBy(runs: RunsAs, profile: Pick<ProgramProfile, "kind"> | undefined): SpeaksBy {
  if (runs === "headless") return profile?.kind === "autonomous" ? "files" : "tools";
  return runs === "tmux" ? "terminal" : "model";
}

export function programName({ config: { options } }: DeclaredAgent): string {
  return options?.program ?? programByModel(options?.model ?? "") ?? CLAUDE_CODE;
}

/** `codex`, or `codex/gpt-5.5`: a program that everybody may have, where a model is written. */
function programByModel(model: string): string | undefined {
  return programIn(model, (name) => Object.hasOwn(KNOWN_PROGRAMS, name));
}

/** claude-opus, claude-sonnet and claude-haiku are what Claude Code calls opus, sonnet and haiku. */
export function modelName({ config: { options } }: DeclaredAgent): string | null {
  const model = options?.model;
  if (model === undefined) return null;
  const program = options?.program === undefined ? programByModel(model) : undefined;
  if (program !== undefined) return model.slice(program.length + 1) || null;
  const [, alias] = /^(?:claude-code\/|claude-)(opus|sonnet|haiku)$/.exec(model) ?? [];
  return alias ?? model;
}

/** A description of an agent for the roster. */
export function describedRun(agent: DeclaredAgent): string {
  const { options } = agent.config;
  const isProgram = options?.program !== undefined || programByModel(options?.model ?? "") !== undefined;
  const isModel = options?.runs === "harnessed" || (!isProgram && options?.model?.includes("/"));
  if (isModel) return options?.model ?? "default";
  return `${programName(agent)}/${modelName(agent) ?? "default"}`;
}

/** The programs of a mesh that are not installed, each once. */
export function missingPrograms({ agents }: DeclaredMesh, { config, env }: Pick<Settings, "config" | "env">): string[] {
  const programs = programsOf(config);
  const names = [...agents.values()].flatMap((agent) => (runsAs(agent) === "harnessed" ? [] : [programName(agent)]));
  return [...new Set(names)].filter((name) => {
    const profile = Object.hasOwn(programs, name) ? programs[name] : undefined;
    return !profile || missingFor(name, profile, env.PATH) !== null;
  });
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
