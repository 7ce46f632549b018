import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { KNOWN_PROGRAMS, OWN_SERVERS_FILE } from "../../workers/outside/programs.ts";
import { copyOwnSettings } from "./own-settings.ts";

const OWN: Readonly<Record<string, string>> = {
  ".claude/settings.json": "{}",
  ".claude/CLAUDE.md": "Be brief.",
  ".claude/skills/tidy/SKILL.md": "---\ndescription: Tidies up.\n---\nTidy up.\n",
  ".claude.json": JSON.stringify({ mcpServers: { docs: { command: "docs" } }, oauthAccount: "secret" }),
  ".codex/config.toml": "model = 'x'",
  ".codex/AGENTS.md": "Be brief.",
  ".gemini/settings.json": "{}",
  ".config/opencode/opencode.json": "{}",
};

/** A person with settings of their own, and what a program then finds in its home. */
async function person() {
  const me = await temporaryHome();
  for (const [file, text] of Object.entries(OWN)) {
    await mkdir(dirname(join(me.path, file)), { recursive: true });
    await writeFile(join(me.path, file), text);
  }
  const given = async (name: string, own_settings: boolean) => {
    const home = join(me.path, "workers", `${name} ${own_settings}`);
    await mkdir(home, { recursive: true });
    const profile = KNOWN_PROGRAMS[name];
    if (!profile) throw new Error("no such program");
    await copyOwnSettings({ ...profile, own_settings }, home, { HOME: me.path });
    const places = [...Object.keys(OWN), OWN_SERVERS_FILE, ".agents/skills/tidy/SKILL.md"];
    return { home, files: places.filter((file) => existsSync(join(home, file))) };
  };
  return { given, [Symbol.asyncDispose]: () => me[Symbol.asyncDispose]() };
}

test.each([
  ["claude-code", [".claude/settings.json", ".claude/CLAUDE.md", ".claude/skills/tidy/SKILL.md", OWN_SERVERS_FILE]],
  ["codex", [".codex/config.toml", ".codex/AGENTS.md", ".agents/skills/tidy/SKILL.md"]],
  ["gemini", [".gemini/settings.json", ".agents/skills/tidy/SKILL.md"]],
  ["opencode", [".config/opencode/opencode.json", ".agents/skills/tidy/SKILL.md"]],
])(
  "%s gets copies of its user's own settings, if the user has chosen so, and nothing otherwise",
  async (name, files) => {
    await using me = await person();
    const chosen = await me.given(name, true);
    expect(chosen.files).toEqual(files);
    expect((await me.given(name, false)).files).toEqual([]);
    if (name !== "claude-code") return;
    // Of a file with much else in it, only the servers.
    const servers = await readFile(join(chosen.home, OWN_SERVERS_FILE), "utf8");
    expect(JSON.parse(servers)).toEqual({ mcpServers: { docs: { command: "docs" } } });
  },
);
