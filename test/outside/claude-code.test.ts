import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, vi } from "vitest";
import type { Config } from "../../src/protocol/config.ts";
import type { Fact } from "../../src/protocol/index.ts";
import {
  call,
  type ProviderRequest,
  type ProviderTurn,
  script,
  startProviderServer,
  startTeam,
  type TestTeam,
  temporaryHome,
  until,
} from "../../src/testing/index.ts";
import { startServer } from "../../src/testing/start-server.ts";
import { within } from "../../src/testing/within.ts";
import { configure } from "../faults/killing.ts";
import { processesNaming, startHouse } from "./house.ts";
import { installed, whenInstalled } from "./installed.ts";
import { isKept } from "./real-claude.ts";

/** The real Claude Code, in the real sandbox, with a scripted model behind it. */
const CLAUDE = installed("claude", ".bin/claude");
const withClaude = whenInstalled("claude", ".bin/claude");
const LONG = { timeout: 120_000 };

/** What Claude Code's model says, by what it has said before. Its little side questions get a little answer. */
function mind(turns: readonly ProviderTurn[]) {
  return (request: ProviderRequest): ProviderTurn =>
    Array.isArray(request.body.tools) && request.body.tools.length > 0
      ? (turns[request.turn] ?? { text: "I have nothing more to do." })
      : { text: "ok" };
}

function hiring(end = "node-1 completed") {
  return script(
    call("spawn_worker", { name: "Clara", model: "claude-code/sonnet" }),
    call("create_work_node", { task: "Write hello to a.md.", deliverables: ["a.md"], worker: "Clara" }),
    call("finish", { summary: "done" }).after(end),
  );
}

function house(url: string, more: Partial<NonNullable<Config["programs"]>[string]> = {}) {
  const set = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-ant-test-0000000000000000" };
  const config: Config = { programs: { "claude-code": { kind: "claude_code", command: [CLAUDE], set, ...more } } };
  return { goal: "g", config, env: { PATH: process.env.PATH } };
}

const writes: ProviderTurn = {
  text: "I write it.",
  calls: [{ name: "Bash", args: { command: "echo hello > a.md", description: "Write it" } }],
};
const publishes: ProviderTurn = { calls: [{ name: "mcp__agiraph__publish", args: { summary: "It says hello." } }] };

async function clarasWords(team: TestTeam): Promise<string[]> {
  const entries = await team.conversation("runs/run-1/workers/clara/conversation.jsonl");
  return entries.map((entry) => {
    if (entry.role === "assistant")
      return `assistant ${entry.content.map((part) => (part.type === "call" ? part.name : part.type)).join(" ")}`;
    if (entry.role === "tool") return `tool ${entry.tool} ${entry.ok}`;
    return entry.role;
  });
}

withClaude("Claude Code writes a file and publishes by our door", LONG, async () => {
  await using provider = await startProviderServer({ respond: mind([writes, publishes]) });
  await using team = await startTeam({ ...house(provider.url), coordinator: hiring() });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({
    status: "completed",
    summary: "It says hello.",
    files: [{ path: "a.md", bytes: 6 }],
  });
  expect(await clarasWords(team)).toEqual([
    "system",
    "user",
    "assistant text Bash",
    "tool Bash true",
    "assistant publish",
    "tool publish true",
  ]);
});

withClaude("what the human says in the middle of a turn is in its next model request", LONG, async () => {
  const waits: ProviderTurn = {
    calls: [{ name: "Bash", args: { command: "until [ -e go ]; do sleep 0.05; done; echo hello > a.md; rm go" } }],
  };
  const heard: string[] = [];
  await using provider = await startProviderServer({
    respond: (request) => {
      if (request.turn === 1) heard.push(...request.messages.map((message) => message.text));
      return mind([waits, publishes])(request);
    },
  });
  await using team = await startTeam({ ...house(provider.url), coordinator: hiring() });
  const at = await called(team, "Bash");
  await team.agent.send("Say hello in French.", "Clara");
  await until(team.agent, (now) => Object.keys(now.letters.queued).length === 0);
  await writeFile(join(at, "go"), "");
  await team.outcome();
  expect(heard.filter((text) => text.includes("[Message from your human]: Say hello in French."))).toHaveLength(1);
});

withClaude("what it asks permission for is answered by the API, and the same call goes on, once", LONG, async () => {
  await using provider = await startProviderServer({ respond: mind([writes, publishes]) });
  const { config } = house(provider.url, { permissions: "ask" });
  await using server = await startServer({ coordinator: hiring(), config, env: { PATH: process.env.PATH } });
  const { body } = await server.post("/agents", { goal: "g", worker_model: "scripted/worker" });
  const { id } = body as { id: string };
  const agent = await server.until(id, ({ questions }) => Object.keys(questions.open).length > 0);
  expect(Object.values(agent.now.questions.open)).toMatchObject([
    {
      id: "question-1",
      worker_id: "clara",
      text: expect.stringMatching(
        /^Clara asks for permission to run a command \(tool: Bash\)\.\nCommand:\n│ echo hello > a\.md\n?/,
      ),
      choices: ["allow once", "always allow exactly this command", "deny"],
    },
  ]);
  expect(await server.post(`/agents/${id}/respond`, { question_id: "question-1", response: "maybe" })).toMatchObject({
    status: 409,
  });
  expect(await server.post(`/agents/${id}/respond`, { question_id: "question-1", response: "1" })).toMatchObject({
    status: 200,
  });
  await server.until(id, (now) => now.agent.status === "completed");
  expect(agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", files: [{ path: "a.md", bytes: 6 }] });
  expect(agent.now.questions.asked).toBe(1);
});

withClaude("killed with SIGKILL it leaves no process, and its session is taken up where it was", LONG, async () => {
  const waits: ProviderTurn = {
    calls: [{ name: "Bash", args: { command: "until [ -e go ]; do sleep 0.05; done; echo too late" } }],
  };
  const coordinator: ProviderTurn[] = [
    { calls: [{ name: "spawn_worker", args: { name: "Clara", program: "claude-code", model: "sonnet" } }] },
    { calls: [{ name: "create_work_node", args: { task: "Say hello.", worker: "Clara", deliverables: ["a.md"] } }] },
    { text: "I wait." },
  ];
  const asked: ProviderRequest[] = [];
  await using provider = await startProviderServer({
    respond: (request) => {
      const words = request.messages.map((message) => message.text).join("\n");
      if (request.tools.includes("finish"))
        return words.includes("node-1 completed")
          ? { calls: [{ name: "finish", args: { summary: "done" } }] }
          : coordinator[request.turn];
      if (request.tools.length > 0) asked.push(request);
      // How much of the turn that was cut off it remembers is its own affair.
      if (!words.includes("You were interrupted and are now taken up again")) return mind([waits])(request);
      return words.includes("completed with no output") ? publishes : writes;
    },
  });
  await using home = await temporaryHome();
  const { config } = house(provider.url);
  await configure(home.path, provider.url, config);
  const first = await startHouse(home.path, "Say hello.");
  const { data } = await first.fact("worker.session");
  await first.fact("tool.called", ({ tool }) => tool === "Bash");
  await isKept(home.path, data.session_id, "echo too late");
  first.child.kill("SIGKILL");
  await first.over;
  await vi.waitFor(() => expect(processesNaming(data.session_id)).toEqual([]), { timeout: 120_000 });

  const second = await startHouse(home.path);
  const completed = await second.fact("node.completed");
  expect(completed.data.summary).toBe("It says hello.");
  expect(await second.over).toBe(0);
  // The same conversation goes on: what was asked first is still its beginning.
  expect(asked.at(-1)?.messages.find((message) => message.text.includes("Say hello."))).toBeDefined();
  expect(second.facts.filter((fact) => fact.type === "worker.session")).toEqual([]);
  expect(processesNaming(data.session_id)).toEqual([]);
});

withClaude(
  "stopped in the middle of a command that ignores signals, it is gone within 5 s with all it started",
  LONG,
  async () => {
    const deaf = "trap '' TERM INT HUP; touch deaf; (setsid sleep 987654 &); while :; do sleep 0.1; done";
    await using provider = await startProviderServer({
      respond: mind([{ calls: [{ name: "Bash", args: { command: deaf } }] }]),
    });
    await using team = await startTeam({ ...house(provider.url), coordinator: hiring() });
    const at = await called(team, "Bash");
    await vi.waitFor(() => access(join(at, "deaf")), { timeout: 120_000 });
    const { session_id = "" } = team.agent.now.outside.sessions["node-1"] ?? {};
    expect(processesNaming(session_id)).not.toEqual([]);
    await within(5000, team.agent.stop("human"));
    expect([processesNaming(session_id), processesNaming("987654")]).toEqual([[], []]);
  },
);

/** Resolves with the folder Clara works in, when she has called this tool. */
async function called(team: TestTeam, tool: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (fact: Fact) => fact.type === "tool.called" && fact.data.tool === tool && resolve();
  const unhear = team.agent.log.subscribe(look);
  for (const fact of await team.facts()) look(fact);
  await promise;
  unhear();
  return join(team.agent.log.dir, "runs/run-1/nodes/node-1/scratch");
}
