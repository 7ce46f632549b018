import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { ProgramProfile } from "../../protocol/index.ts";
import { putFile } from "../../store/disk/foreign-folder.ts";
import { OWN_SERVERS_FILE } from "../../workers/outside/programs.ts";
import type { Environment } from "../config/settings.ts";
import { copySkills } from "./project-skills.ts";

/**
 * Copies of the person's own settings, instructions, skills and MCP servers for a program, if the person has chosen so
 * (`own_settings`). Copies: what the program changes is its own. What we must set for it is set over them.
 */
export async function copyOwnSettings(profile: ProgramProfile, home: string, { HOME }: Environment): Promise<void> {
  const name = profile.quirks ?? (profile.kind === "claude_code" ? "claude" : undefined);
  if (!profile.own_settings || name === undefined || !HOME) return;
  for (const path of SETTINGS[name]) {
    const content = await readFile(join(HOME, path)).catch(() => null);
    if (content !== null) await putFile(home, path, content);
  }
  if (name === "claude") await putFile(home, OWN_SERVERS_FILE, await claudeServers(HOME));
  await copySkills(HOME, home, profile);
}

const SETTINGS: Record<NonNullable<ProgramProfile["quirks"]>, readonly string[]> = {
  claude: [".claude/settings.json", ".claude/CLAUDE.md"],
  codex: [".codex/config.toml", ".codex/AGENTS.md"],
  gemini: [".gemini/settings.json"],
  opencode: [".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"],
};

const serversSchema = z.object({ mcpServers: z.record(z.string(), z.unknown()).default({}) });

/** Claude Code keeps them in a file with much else, some of it secret. */
async function claudeServers(home: string): Promise<string> {
  const text = await readFile(join(home, ".claude.json"), "utf8").catch(() => "{}");
  try {
    return JSON.stringify(serversSchema.parse(JSON.parse(text)));
  } catch {
    return JSON.stringify({ mcpServers: {} });
  }
}
