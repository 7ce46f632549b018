import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Config } from "../../src/protocol/config.ts";
import { type ProviderRequest, type ProviderTurn, startProviderServer } from "../../src/testing/index.ts";
import { installed, whenInstalled } from "../outside/installed.ts";
import { MeshHouse } from "./house.ts";

const CLAUDE = installed("claude", ".bin/claude");
const withClaude = whenInstalled("claude", ".bin/claude");

const isWork = ({ body }: ProviderRequest) => Array.isArray(body.tools) && body.tools.length > 0;

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
    const set = { ANTHROPIC_BASE_URL: provider.url, ANTHROPIC_API_KEY: "sk-ant-test-0000000000000000" };
    const config: Config = {
      programs: { "claude-code": { kind: "claude_code", command: [CLAUDE], set, permissions: "allow" } },
    };
    await using house = await (
      await new MeshHouse({
        meshes: [{ mesh: "solo", type: "persistent", agents: ["x/one"], validation_gates: ["output-exists"] }],
        agents: { one: { options: { runs: "headless" } } },
        config,
      }).open()
    ).start();
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
