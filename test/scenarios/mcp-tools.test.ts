import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Config } from "../../src/protocol/config.ts";
import { call, script, startProviderServer, startTeam } from "../../src/testing/index.ts";
import { scriptedPrograms } from "../../src/testing/scripted-program.ts";
import { claudeHouse, isWork, ours, shell, withClaude, wordsOf } from "../outside/real-claude.ts";

const program = join(import.meta.dirname, "../../src/mcp/testing/odd-server.ts");
const odd = { command: [process.execPath, program, "well"] };
const env = { PATH: process.env.PATH };

test("chosen workers use the tools of a server; a broken server is on record once and the rest works", async () => {
  const broken = { command: [process.execPath, program, "broken"] };
  const mcp_servers: Config["mcp_servers"] = { odd: { ...odd, workers: ["Alice"], tools: ["echo"] }, licence: broken };
  const coordinator = script(
    call("spawn_worker", { name: "Alice", identity: "An echo." }),
    call("spawn_worker", { name: "Bob", identity: "Another." }),
    call("create_work_node", { task: "Say it", worker: "Alice" }),
    call("create_work_node", { task: "Say it too", worker: "Bob" }).after("node-1 completed"),
    call("finish", { summary: "said" }).after("node-2 completed"),
  );
  const Alice = script(
    call("mcp__odd__echo", { text: "hello" }),
    call("write_file", { path: "scratch/said.md", content: "hello" }).after('text from the MCP server "odd"'),
    call("publish", { summary: "said it" }),
  );
  const Bob = script(
    call("mcp__odd__echo", { text: "hello" }),
    call("write_file", { path: "scratch/said.md", content: "hello" }).after('There is no tool "mcp__odd__echo"'),
    call("publish", { summary: "could not" }),
  );
  await using team = await startTeam({
    goal: "Say hello",
    coordinator,
    workers: { Alice, Bob },
    config: { mcp_servers },
    env,
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "said" });
  const facts = await team.facts();
  expect(facts.flatMap((fact) => (fact.type === "mcp.failed" ? [fact.data] : []))).toEqual([
    {
      worker_id: "coordinator",
      node_id: null,
      server: "licence",
      why: "it exited with code 3; its last words: no licence found",
    },
  ]);
  expect(
    facts.flatMap(({ type, data }) => (type === "tool.result" && data.tool === "mcp__odd__echo" ? [data.ok] : [])),
  ).toEqual([true, false]);
});

test("the tools an agent was given bind what servers give too", async () => {
  const coordinator = script(
    call("mcp__odd__echo", { text: "hello" }),
    call("mcp__odd__env", {}).after('text from the MCP server "odd"'),
    call("finish", { summary: "done" }).after('There is no tool "mcp__odd__env"'),
  );
  const tools = ["mcp__odd__echo"];
  await using team = await startTeam({ goal: "Say hello", coordinator, tools, config: { mcp_servers: { odd } }, env });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
});

test("mcp__SERVER stands for all tools of a server", async () => {
  const coordinator = script(
    call("mcp__odd__echo", { text: "hello" }),
    call("read_file", { path: "agent/GOAL.md" }).after('text from the MCP server "odd"'),
    call("finish", { summary: "done" }).after('There is no tool "read_file"'),
  );
  const tools = ["mcp__odd"];
  await using team = await startTeam({ goal: "Say hello", coordinator, tools, config: { mcp_servers: { odd } }, env });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
});

test("a program finds the tools that were chosen for it at its own door", async () => {
  const outside = scriptedPrograms(async (played) => {
    played.emit({ kind: "begun", session_id: "s-1" });
    expect(await played.use("mcp__odd__echo", { text: "hello" })).toMatchObject({
      ok: true,
      content: expect.stringContaining("hello"),
    });
    await writeFile(join(played.setup.cwd, "said.md"), "hello");
    await played.use("publish", { summary: "said it" });
  });
  const coordinator = script(
    call("spawn_worker", { name: "Clara", program: "scripted" }),
    call("create_work_node", { task: "Say it", worker: "Clara" }),
    call("finish", { summary: "said" }).after("node-1 completed"),
  );
  const mcp_servers = { odd: { ...odd, workers: ["Clara"], tools: ["echo"] } };
  await using team = await startTeam({ goal: "Say hello", coordinator, config: { mcp_servers }, env, outside });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "said" });
  const called = (await team.facts()).filter((fact) => fact.type === "tool.called" && fact.data.worker_id === "clara");
  expect(called.map(({ data }) => "tool" in data && data.tool)).toEqual(["mcp__odd__echo", "publish"]);
});

withClaude("the real Claude Code calls one of them", { timeout: 120_000 }, async () => {
  const echoes = ours("mcp__odd__echo", { text: "hello" });
  await using provider = await startProviderServer({
    respond: (request) => {
      if (!isWork(request)) return { text: "ok" };
      const hasHeard = wordsOf(request).includes('text from the MCP server "odd"');
      const steps = [
        echoes,
        hasHeard ? shell("echo hello > said.md") : { text: "?" },
        ours("publish", { summary: "said" }),
      ];
      return steps[request.turn] ?? { text: "I have nothing more to do." };
    },
  });
  const coordinator = script(
    call("spawn_worker", { name: "Clara", program: "claude-code" }),
    call("create_work_node", { task: "Say it", worker: "Clara", deliverables: ["said.md"] }),
    call("finish", { summary: "said" }).after("node-1 completed"),
  );
  const house = claudeHouse(provider.url, { mcp_servers: { odd: { ...odd, workers: ["Clara"] } } });
  await using team = await startTeam({ goal: "Say hello", coordinator, ...house });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "said" });
});
