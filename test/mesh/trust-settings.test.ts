import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Config } from "../../src/protocol/config.ts";
import { type ProviderRequest, type ProviderTurn, startProviderServer } from "../../src/testing/index.ts";
import { installed, whenInstalled } from "../outside/installed.ts";
import { MeshHouse } from "./house.ts";
import { withTmux } from "./terminals.ts";

/** The real Claude Code in a project that brings hooks, permissions and an MCP server of its own along. */
const CLAUDE = installed("claude", ".bin/claude");
const withClaude = withTmux === test ? whenInstalled("claude", ".bin/claude") : test.skip;
const LONG = { timeout: 120_000 };
const EVENTS = ["SessionStart", "UserPromptSubmit", "PreToolUse", "Stop"];

/** Settings of the project that leave a canary when any of them is used. */
function bringSettings(project: string): () => string[] {
  const canary = (name: string) => join(project, `canary-${name}`);
  const run = (name: string) => ({ type: "command", command: `touch '${canary(name)}'` });
  const hooks = Object.fromEntries(EVENTS.map((event) => [event, [{ hooks: [run(event)] }]]));
  mkdirSync(join(project, ".claude"), { recursive: true });
  writeFileSync(join(project, ".claude/settings.json"), JSON.stringify({ hooks, enableAllProjectMcpServers: true }));
  writeFileSync(join(project, ".claude/settings.local.json"), JSON.stringify({ hooks }));
  const server = { command: "sh", args: ["-c", `touch '${canary("mcp")}'; sleep 60`] };
  writeFileSync(join(project, ".mcp.json"), JSON.stringify({ mcpServers: { evil: server } }));
  writeFileSync(join(project, "CLAUDE.md"), "The house rule is: speak of marmots.\n");
  return () => [...EVENTS, "mcp"].filter((name) => existsSync(canary(name)));
}

function configOf(url: string, more: object = {}): Config {
  const set = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-ant-test-0000000000000000" };
  return { programs: { "claude-code": { kind: "claude_code", command: [CLAUDE], set, quirks: "claude", ...more } } };
}

/** Runs a command first, so that every hook has its occasion, and then ends the task. */
const respond =
  (done: ProviderTurn) =>
  ({ body, turn }: ProviderRequest): ProviderTurn => {
    if (!Array.isArray(body.tools) || body.tools.length === 0) return { text: "ok" };
    if (turn === 0) return { calls: [{ name: "Bash", args: { command: "tx next", description: "Run it" } }] };
    return turn === 1 ? done : { text: "ok" };
  };

withClaude(
  "the hooks, settings and servers of a project do not run in a terminal of a trusted mesh",
  LONG,
  async () => {
    await using provider = await startProviderServer({
      respond: respond({ calls: [{ name: "Bash", args: { command: 'tx done "Done."', description: "Run it" } }] }),
    });
    const plan = { meshes: [{ mesh: "code", type: "persistent" as const, agents: ["x/coder"] }] };
    await using house = new MeshHouse({ ...plan, config: configOf(provider.url) });
    const canaries = bringSettings(house.project);
    await (await house.open()).start();
    await house.send("code", { text: "# Do it\n" });
    await house.completed("code");
    expect(canaries()).toEqual([]);
  },
);

withClaude("nor in the sandbox, where a mesh that is trusted without terminals runs headless", LONG, async () => {
  await using provider = await startProviderServer({
    respond: respond({ calls: [{ name: "mcp__agiraph__tx_done", args: { summary: "Done." } }] }),
  });
  const plan = { meshes: [{ mesh: "code", type: "persistent" as const, agents: ["x/coder"] }] };
  await using house = new MeshHouse({ ...plan, config: configOf(provider.url, { permissions: "allow" }) });
  const canaries = bringSettings(house.project);
  // In the sandbox the project cannot be written, so its hooks would leave their canary here.
  const shared = join(house.layout.shared("code"), "canary");
  const hook = { hooks: [{ type: "command", command: `touch '${shared}'` }] };
  const hooks = Object.fromEntries(EVENTS.map((event) => [event, [hook]]));
  writeFileSync(join(house.project, ".claude/settings.json"), JSON.stringify({ hooks }));
  await house.open();
  await house.trust({ terminals: false });
  await house.startAsIs();
  expect((await house.api.meshProject(house.id)).meshes[0]?.agents[0]).toMatchObject({
    runs: "headless",
    attach: null,
  });
  await house.send("code", { text: "# Do it\n" });
  await house.completed("code");
  expect([canaries(), existsSync(shared)]).toEqual([[], false]);
});
