import type { Config, FactOf, NodeId, ProgramProfile, WorkerId } from "../../protocol/index.ts";
import { acpLaunch } from "./acp-launch.ts";

/** The programs we know. Others, and other ways to run these, come from `programs` in config.json. */
export const KNOWN_PROGRAMS: Readonly<Record<string, ProgramProfile>> = {
  "claude-code": {
    kind: "claude_code",
    command: ["claude"],
    env: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"],
    share: [".claude/.credentials.json"],
    hosts: ["api.anthropic.com"],
    quirks: "claude",
    about: "Claude Code: a strong coding agent with a shell and files of its own.",
  },
  codex: acpLaunch.codex.profile,
  gemini: acpLaunch.gemini.profile,
  opencode: acpLaunch.opencode.profile,
};

type Hired = Pick<FactOf<"worker.spawned">["data"], "kind" | "model" | "program">;

/** What somebody is who was hired with this program or model; `kindOf` knows the programs. */
export function hiredAs(
  { program, model }: { program?: string | undefined; model: string },
  kindOf: (program: string) => ProgramProfile["kind"],
): Hired {
  const named = program ?? (isOutsideModel(model) ? CLAUDE_CODE : undefined);
  if (named === undefined) return { kind: "harnessed", model };
  return { kind: kindOf(named), model: outsideModel(named, model), program: named };
}

export function programsOf({ programs = {} }: Pick<Config, "programs">): Readonly<Record<string, ProgramProfile>> {
  return { ...KNOWN_PROGRAMS, ...programs };
}

/** The profile of a worker that is a program. */
export function programOf({ program, kind }: Pick<FactOf<"worker.spawned">["data"], "program" | "kind">): string {
  return program ?? (kind === "claude_code" ? CLAUDE_CODE : kind);
}

/** Under what the session of an actor is known: its node, or who it is where it works on none. */
export function sessionKey({ node_id, worker_id }: { node_id: NodeId | null; worker_id: WorkerId }): string {
  return node_id ?? worker_id;
}

export const CLAUDE_CODE = "claude-code";

/** `claude-code/opus`: a model's name that is a program. */
export function isOutsideModel(model: string): boolean {
  return model.startsWith(`${CLAUDE_CODE}/`);
}

/** What is written as the model of somebody who is a program: the program, and the model it is asked to use. */
function outsideModel(program: string, model: string): string {
  return model.startsWith(`${program}/`) ? model : `${program}/${model || "default"}`;
}

/** The model that a program is asked to use; null for its own choice. */
export function modelFor(spawned: Pick<FactOf<"worker.spawned">["data"], "model" | "program" | "kind">): string | null {
  const prefix = `${programOf(spawned)}/`;
  if (!spawned.model.startsWith(prefix)) return null;
  const chosen = spawned.model.slice(prefix.length);
  return chosen === "default" ? null : chosen;
}
