import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import type { ProgramProfile } from "../../src/protocol/index.ts";
import { type ProviderRequest, type ProviderTurn, startProviderServer } from "../../src/testing/index.ts";
import { processesNaming } from "../outside/house.ts";
import { installed, whenInstalled } from "../outside/installed.ts";
import { MeshHouse } from "./house.ts";

const CLAUDE = installed("claude", ".bin/claude");
const withClaude = whenInstalled("claude", ".bin/claude");

const isWork = ({ body }: ProviderRequest) => Array.isArray(body.tools) && body.tools.length > 0;

/** One Claude Code without a terminal. */
async function soloHouse(url: string, gates: readonly string[], more: Partial<ProgramProfile> = {}) {
  const set = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-ant-test-0000000000000000" };
  const claude = { kind: "claude_code" as const, command: [CLAUDE], set, permissions: "allow" as const, ...more };
  const house = new MeshHouse({
    meshes: [{ mesh: "solo", type: "persistent", agents: ["x/one"], validation_gates: [...gates] }],
    agents: { one: { options: { runs: "headless" } } },
    config: { programs: { "claude-code": claude } },
  });
  return (await house.open()).start();
}

withClaude(
  "the same mesh agent without a terminal: Claude Code in the sandbox, with tx as tools",
  { timeout: 120_000 },
  async () => {
    const turns: ProviderTurn[] = [
      {
        calls: [
          {
            name: "Bash",
            args: { command: "echo made > .ai/tx/mesh/solo/shared/output/a.md", description: "Make it" },
          },
        ],
      },
      { calls: [{ name: "mcp__agiraph__tx_done", args: { summary: "It is in a.md." } }] },
      { text: "Said." },
    ];
    await using provider = await startProviderServer({
      respond: (request) => (isWork(request) ? turns[request.turn] : undefined) ?? { text: "ok" },
    });
    await using house = await soloHouse(provider.url, ["output-exists"]);
    await house.send("solo", { text: "# Make it\n" });
    const { data } = await house.completed("solo");
    expect(data).toMatchObject({ gist: "It is in a.md." });
    expect(readFileSync(join(house.layout.output("solo"), "a.md"), "utf8")).toBe("made\n");
    expect((await house.api.meshProject(house.id)).meshes[0]?.agents[0]).toMatchObject({
      runs: "headless",
      attach: null,
    });
  },
);

withClaude(
  "one that has rested for long is gone, and its conversation goes on with the next task",
  { timeout: 120_000 },
  async () => {
    const done = (summary: string): ProviderTurn => ({ calls: [{ name: "mcp__agiraph__tx_done", args: { summary } }] });
    const resumed: string[] = [];
    await using provider = await startProviderServer({
      respond: (request) => {
        if (!isWork(request)) return { text: "ok" };
        if (request.turn === 2) resumed.push(JSON.stringify(request.body));
        return request.turn % 2 === 0 ? done(`Done ${request.turn}.`) : { text: "Said." };
      },
    });
    await using house = await soloHouse(provider.url, [], { rest_seconds: 0.01 });
    await house.send("solo", { text: "# First\n" });
    await house.completed("solo");
    await vi.waitFor(() => expect(processesNaming(join(house.home, "agents"))).toEqual([]), { timeout: 60_000 });
    await house.send("solo", { text: "# Second\n" });
    await house.until(({ type, data }) => type === "mesh.completed" && data.agent === null && data.gist === "Done 2.");
    expect(resumed).toEqual([expect.stringMatching(/Task \S+first\S+.*Task \S+second\S+/s)]);
    expect((await house.facts("mesh.session")).map(({ state }) => state)).not.toContain("dead");
  },
);
