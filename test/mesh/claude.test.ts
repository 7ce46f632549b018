import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { tmuxSocket } from "../../src/mesh/terminal/tmux-server.ts";
import type { Config } from "../../src/protocol/config.ts";
import { type ProviderRequest, type ProviderTurn, startProviderServer } from "../../src/testing/index.ts";
import { installed, whenInstalled } from "../outside/installed.ts";
import { MeshHouse } from "./house.ts";
import { withTmux } from "./terminals.ts";

/** The real Claude Code in real terminals, with a scripted model behind it. */
const CLAUDE = installed("claude", ".bin/claude");
const withClaude = withTmux === test ? whenInstalled("claude", ".bin/claude") : test.skip;
const LONG = { timeout: 120_000 };

/** What each agent's model says, by how often it has spoken; its little side questions get a little answer. */
function minds(turns: Readonly<Record<string, readonly ProviderTurn[]>>) {
  return (request: ProviderRequest): ProviderTurn => {
    const [, agent = ""] = /\*\*Agent\*\*: (\w+)/.exec(request.system) ?? [];
    const isWork = Array.isArray(request.body.tools) && request.body.tools.length > 0;
    return (isWork ? turns[agent]?.[request.turn] : undefined) ?? { text: "ok" };
  };
}

const bash = (command: string): ProviderTurn => ({
  calls: [{ name: "Bash", args: { command, description: "Run it" } }],
});

function claudeConfig(url: string, more: object = {}): Config {
  const set = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-ant-test-0000000000000000" };
  return { programs: { "claude-code": { kind: "claude_code", command: [CLAUDE], set, quirks: "claude", ...more } } };
}

withClaude("two Claude Codes in terminals, one after the other, who end their tasks with tx", LONG, async () => {
  await using provider = await startProviderServer({
    respond: minds({
      writer: [bash('tx done "A draft: “naïve” 漢字."'), { text: "Said." }],
      critic: [bash('tx done "It is good."'), { text: "Said." }],
    }),
  });
  await using house = await (
    await new MeshHouse({
      meshes: [
        { mesh: "review", type: "persistent", agents: ["x/writer", "x/critic"], workflow: ["writer", "critic"] },
      ],
      config: claudeConfig(provider.url),
    }).open()
  ).start();
  const { name } = await house.send("review", {
    text: "# Write an essay\n\nIt has\nthree lines.\n",
  });
  await house.completed("review");
  const stem = name.replace(".md", "");
  expect([house.queues("review"), house.queues("review", "writer"), house.queues("review", "critic")]).toEqual([
    { complete: [name] },
    { complete: [`${stem}.0.md`, `${stem}.0.result.md`] },
    { complete: [`${stem}.1.md`, `${stem}.1.result.md`] },
  ]);
  expect(house.read("review", "critic", "complete", `${stem}.1.md`)).toContain("A draft: “naïve” 漢字.");
  const prompts = provider.requests.filter(
    ({ turn, body }) => turn === 0 && Array.isArray(body.tools) && body.tools.length > 0,
  );
  const firstWords = prompts.map(
    ({ messages }) => /\[tx\] Task \S+ for \S+ from \S+/.exec(messages.at(-1)?.text ?? "")?.[0],
  );
  expect(firstWords).toEqual([
    `[tx] Task ${stem}.0.md for review/writer from review:`,
    `[tx] Task ${stem}.1.md for review/critic from review/writer:`,
  ]);
  expect((await house.facts("mesh.told")).map(({ agent, name: told }) => [agent, told])).toEqual([
    ["writer", `${stem}.0.md`],
    ["critic", `${stem}.1.md`],
  ]);
});

withClaude("nothing is typed into a dialog: what comes waits until a person has answered it", LONG, async () => {
  // The question is heard in the turn that the dialog was in, or in one of its own: turns are not counted.
  let isEnded = false;
  await using provider = await startProviderServer({
    respond: ({ body, turn, messages }) => {
      if (!Array.isArray(body.tools) || body.tools.length === 0) return { text: "ok" };
      if (turn === 0) return bash("touch made.txt");
      if (isEnded || !messages.some(({ text }) => text.includes("How far are you?"))) return { text: "Made." };
      isEnded = true;
      return bash('tx done "Made it."');
    },
  });
  await using house = await (
    await new MeshHouse({
      meshes: [{ mesh: "code", type: "persistent", agents: ["x/coder"] }],
      config: claudeConfig(provider.url, { permissions: "ask" }),
    }).open()
  ).start();
  await house.send("code", { text: "# Make it\n" });
  await house.until(({ type, data }) => type === "mesh.session" && data.state === "dialog");
  await house.send("code", { to: "coder", type: "ask", text: "How far are you? 1 2 3\n" });
  await house.until(({ type, data }) => type === "mesh.received" && data.type === "ask");
  const told = await house.facts("mesh.told");
  expect(told).toHaveLength(1);
  const socket = tmuxSocket(house.home, house.project);
  const answer = () => execFileSync("tmux", ["-S", socket, "send-keys", "-t", "=code-coder:", "1"]);
  const screen = () =>
    execFileSync("tmux", ["-S", socket, "capture-pane", "-p", "-t", "=code-coder:"], { encoding: "utf8" });
  // The hook tells of it before the screen shows it; and a fresh dialog swallows keys.
  await vi.waitFor(() => expect(screen()).toContain("Do you want to"), { timeout: 120_000 });
  await vi.waitFor(
    () => {
      const shown = screen();
      if (shown.includes("Do you want to")) answer();
      expect(shown).not.toContain("Do you want to");
    },
    { timeout: 120_000, interval: 300 },
  );
  await house.completed("code");
  const prompts = readFileSync(
    join(
      house.layout.agent("code", "coder"),
      "msgs",
      "complete",
      (house.queues("code", "coder").complete ?? []).find((name) => name.includes("how-far")) ?? "",
    ),
    "utf8",
  );
  expect(prompts).toContain("How far are you? 1 2 3");
});
