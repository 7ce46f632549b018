import type { Config, FactOf, NodeId, ProgramProfile, WorkerId } from "../../protocol/index.ts";
import { acpLaunch } from "./acp/acp-launch.ts";

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

/** How the programs we know are installed. */
export const INSTALLED_BY: Readonly<Record<string, string>> = {
  "claude-code": "npm install -g @anthropic-ai/claude-code",
  codex: "npm install -g @agentclientprotocol/codex-acp",
  gemini: "npm install -g @google/gemini-cli",
  opencode: "npm install -g opencode-ai",
};

type Hired = Pick<FactOf<"worker.spawned">["data"], "kind" | "model" | "program">;

/** Which programs there are. */
export interface ProgramNames {
  /** The program that stands where a model does. */
  programFor(model: string): string | undefined;
  /** The kind of a program; undefined for a name that no program has. */
  kindOf(name: string): ProgramProfile["kind"] | undefined;
}

/** What a worker hired with this program or model is. */
export function hiredAs(
  { program, model }: { program?: string | undefined; model: string },
  { programFor, kindOf }: ProgramNames,
): Hired {
  const named = program ?? programFor(model);
  if (named === undefined) return { kind: "harnessed", model };
  const kind = kindOf(named);
  if (kind === undefined) throw new Error(`There is no program "${named}".`);
  return { kind, model: outsideModel(named, model), program: named };
}

/** All there are: the config's profiles are laid over those we know, field by field. */
export function programsOf({ programs = {} }: Pick<Config, "programs">): Readonly<Record<string, ProgramProfile>> {
  const given = Object.entries(programs).flatMap(([name, profile]) => {
    const { kind, command, ...more } = laidOver(name, profile);
    return kind && command ? [[name, { kind, command, ...more }] as const] : [];
  });
  return { ...KNOWN_PROGRAMS, ...Object.fromEntries(given) };
}

/** Profiles that cannot be used, and what they lack. */
export function incompletePrograms({ programs = {} }: Pick<Config, "programs">): { name: string; missing: string[] }[] {
  return Object.entries(programs).flatMap(([name, profile]) => {
    const whole = laidOver(name, profile);
    const missing = (["kind", "command"] as const).filter((field) => whole[field] === undefined);
    return missing.length > 0 ? [{ name, missing }] : [];
  });
}

type GivenProfile = NonNullable<Config["programs"]>[string];

/** A profile of another kind is another program: what we know about ours would give it keys that are not its own. */
function laidOver(name: string, profile: GivenProfile): GivenProfile {
  const known = Object.hasOwn(KNOWN_PROGRAMS, name) ? KNOWN_PROGRAMS[name] : undefined;
  const isAnother = profile.kind !== undefined && profile.kind !== known?.kind;
  return isAnother ? profile : { ...known, ...profile };
}

/** Whether a program of this kind can call our tools, as the leader of a team must. */
export function canLead(kind: ProgramProfile["kind"]): boolean {
  return kind === "claude_code" || kind === "acp";
}

/** The profile of a worker that is a program. */
export function programOf({ program, kind }: Pick<FactOf<"worker.spawned">["data"], "program" | "kind">): string {
  return program ?? (kind === "claude_code" ? CLAUDE_CODE : kind);
}

/** The key of a worker's session: its node, or the worker itself if it works on none. */
export function sessionKey({ node_id, worker_id }: { node_id: NodeId | null; worker_id: WorkerId }): string {
  return node_id ?? worker_id;
}

export const CLAUDE_CODE = "claude-code";

/** In a program's home: the MCP servers of its user, if it gets them. */
export const OWN_SERVERS_FILE = ".agiraph/own-mcp.json";

/** The model of a worker that is a program: the program, and the model it is asked to use. */
function outsideModel(program: string, model: string): string {
  if (model.startsWith(`${program}/`)) return model;
  return `${program}/${model === program || model === "" ? "default" : model}`;
}

/** The model that a program is asked to use; null for its own choice. */
export function modelFor(spawned: Pick<FactOf<"worker.spawned">["data"], "model" | "program" | "kind">): string | null {
  const prefix = `${programOf(spawned)}/`;
  if (!spawned.model.startsWith(prefix)) return null;
  const chosen = spawned.model.slice(prefix.length);
  return chosen === "default" ? null : chosen;
}
