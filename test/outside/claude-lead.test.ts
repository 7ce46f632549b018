import { readFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { expect, vi } from "vitest";
import { agiraph } from "../../src/cli/testing/cli-process.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import {
  type ProviderRequest,
  type ProviderTurn,
  startProviderServer,
  temporaryHome,
  until,
} from "../../src/testing/index.ts";
import { configure } from "../faults/killing.ts";
import { processesNaming, startHouse } from "./house.ts";
import { CLAUDE, claudeHouse, isKept, ours, shell, withClaude, wordsOf } from "./real-claude.ts";

/** The real Claude Code leads, in the real sandbox, with a scripted model behind it and behind everybody else. */
const LONG = { timeout: 120_000 };

/** Who asks is known by the tools that are offered. */
function minds(lead: (request: ProviderRequest) => ProviderTurn | undefined) {
  return (request: ProviderRequest): ProviderTurn | undefined => {
    if (request.tools.includes("mcp__agiraph__finish")) return lead(request);
    if (request.tools.includes("mcp__agiraph__publish")) {
      const writes = { calls: [{ name: "Bash", args: { command: "echo red > b.md", description: "Write it" } }] };
      return [writes, ours("publish", { summary: "It is red." })][request.turn] ?? { text: "Done." };
    }
    if (request.tools.includes("publish")) {
      const writes = { calls: [{ name: "write_file", args: { path: "scratch/a.md", content: "blue\n" } }] };
      return [writes, { calls: [{ name: "publish", args: { summary: "It is blue." } }] }][request.turn];
    }
    // Claude Code's little side questions.
    return { text: "ok" };
  };
}

function houseOf(url: string) {
  return claudeHouse(url, { providers: { local: { base_url: url } } });
}

function hasEnded(agent: Agent): Promise<void> {
  return until(agent, (now) => now.agent.run?.finished !== null);
}

const PLAN: ProviderTurn[] = [
  ours("spawn_worker", { name: "Ann", model: "openai-compatible/local/m" }),
  ours("spawn_worker", { name: "Clara", model: "claude-code/sonnet" }),
  ours("create_work_node", { task: "Say a colour in a.md.", deliverables: ["a.md"], hold: true }),
  ours("create_work_node", { task: "Say a colour in b.md.", deliverables: ["b.md"], hold: true }),
  ours("assign_worker", { node_id: "node-1", worker_id: "Ann" }),
  ours("assign_worker", { node_id: "node-2", worker_id: "Clara" }),
  { text: "I wait for both." },
];

withClaude("Claude Code leads: it hires, assigns, waits, reads what was published and finishes", LONG, async () => {
  await using provider = await startProviderServer({
    respond: minds((request) => {
      const words = wordsOf(request);
      if (!/node-1 completed/.test(words) || !/node-2 completed/.test(words))
        return PLAN[request.turn] ?? { text: "I wait." };
      if (words.includes("blue\nred")) return ours("finish", { summary: "Blue and red.", learned: "" });
      const command =
        "echo Mine > draft.md && cat ../runs/run-1/nodes/node-1/published/a.md ../runs/run-1/nodes/node-2/published/b.md";
      return { calls: [{ name: "Bash", args: { command, description: "Read them" } }] };
    }),
  });
  await using home = await temporaryHome();
  const runtime = await openRuntime({ home: home.path, ...houseOf(provider.url) });
  const agent = await runtime.create({ goal: "Two colours.", model: "claude-code/sonnet" });
  await hasEnded(agent);
  await agent.idle();
  expect(agent.now.agent.outcome).toEqual({ kind: "finished", summary: "Blue and red." });
  expect(await readFile(join(agent.log.dir, "scratch", "draft.md"), "utf8")).toBe("Mine\n");
  expect(Object.values(agent.now.roster).map(({ spawned }) => [spawned.name, spawned.kind, spawned.model])).toEqual([
    ["Coordinator", "claude_code", "claude-code/sonnet"],
    ["Ann", "harnessed", "openai-compatible/local/m"],
    ["Clara", "claude_code", "claude-code/sonnet"],
  ]);
  expect(Object.values(agent.now.board.nodes)).toMatchObject([
    { status: "completed", worker_id: "ann", summary: "It is blue.", files: [{ path: "a.md" }] },
    { status: "completed", worker_id: "clara", summary: "It is red.", files: [{ path: "b.md" }] },
  ]);
  const entries = await agent.log.conversation("conversation.jsonl");
  const calls = entries.flatMap((entry) =>
    entry.role === "assistant" ? entry.content.flatMap((part) => (part.type === "call" ? part.name : [])) : [],
  );
  expect(calls).toEqual([
    ...["spawn_worker", "spawn_worker", "create_work_node", "create_work_node", "assign_worker", "assign_worker"],
    ...["Bash", "finish"],
  ]);
  await runtime.close();
});

withClaude("with no key set, agiraph run takes Claude Code when it is installed, and says so", LONG, async () => {
  await using provider = await startProviderServer({
    respond: minds(() => ours("finish", { summary: "Nothing to do.", learned: "" })),
  });
  await using home = await temporaryHome();
  const env = {
    PATH: [dirname(CLAUDE), process.env.PATH].join(delimiter),
    ANTHROPIC_BASE_URL: provider.url,
    ANTHROPIC_AUTH_TOKEN: "not-a-key",
  };
  const ended = await agiraph(["run", "Do nothing.", "--home", home.path], { folder: home.path, env });
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("Nothing to do.") });
  expect(ended.stderr).toContain("Model: claude-code/sonnet (no key is set, and claude is installed)");
});

withClaude("killed with SIGKILL it leaves no process, and goes on leading in the same session", LONG, async () => {
  const waits = shell("until [ -e go ]; do sleep 0.05; done");
  await using provider = await startProviderServer({
    respond: minds((request) =>
      wordsOf(request).includes("You were interrupted and are now taken up again")
        ? ours("finish", { summary: `I remember: ${/Remember \w+/.exec(wordsOf(request))?.[0]}.`, learned: "" })
        : waits,
    ),
  });
  await using home = await temporaryHome();
  const { config } = houseOf(provider.url);
  await configure(home.path, provider.url, { ...config, model: "claude-code/sonnet" });
  const first = await startHouse(home.path, "Remember Rome.");
  const { data } = await first.fact("worker.session");
  await first.fact("tool.called", ({ tool }) => tool === "Bash");
  await isKept(home.path, data.session_id, "until [ -e go ]");
  first.child.kill("SIGKILL");
  await first.over;
  await vi.waitFor(() => expect(processesNaming(data.session_id)).toEqual([]), { timeout: 120_000 });

  const second = await startHouse(home.path);
  const { data: end } = await second.fact("run.finished");
  expect(end.outcome).toEqual({ kind: "finished", summary: "I remember: Remember Rome." });
  expect(await second.over).toBe(0);
  expect(second.facts.filter((fact) => fact.type === "worker.session")).toEqual([]);
});
