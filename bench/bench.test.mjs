import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { withoutPostgres } from "../src/engine/testing/postgres.ts";
import { skipped } from "../test/try-sandbox.ts";
import { catalogOf } from "./board.mjs";
import { medians } from "./report.mjs";
import { judge } from "./targets.mjs";

const here = (file) => fileURLToPath(new URL(file, import.meta.url));
let server;
let url;
let home;

beforeAll(async () => {
  server = spawn(process.execPath, [here("./model-server.mjs")], { stdio: ["pipe", "pipe", "inherit"] });
  const [port] = await once(createInterface({ input: server.stdout }), "line");
  url = `http://127.0.0.1:${port}`;
  home = await mkdtemp(join(tmpdir(), "agiraph-bench-test-"));
});

afterAll(async () => {
  server.stdin.end();
  await once(server, "exit");
  await rm(home, { recursive: true });
});

test("the scripted model calls `note` until its last turn, and counts what it was asked", async () => {
  const said = { role: "assistant", content: "…" };
  const first = await ask("story", { messages: [], tools: [] });
  const last = await ask("story", { messages: [said, said], tools: [] });
  const finish = await ask("story", {
    messages: [said, said],
    tools: [{ type: "function", function: { name: "finish" } }],
  });

  expect(first.tool_calls.map((call) => [call.id, call.function.name])).toEqual([["call_000001000", "note"]]);
  expect(last.tool_calls).toBeUndefined();
  expect(finish.tool_calls.map((call) => [call.id, call.function.name])).toEqual([["call_000003000", "finish"]]);
  expect(await seen("story")).toEqual({ first_ns: expect.stringMatching(/^\d+$/), requests: 3, last_turn: 3 });
});

test("a team's coordinator hands out the work, waits and finishes; workers write before they publish, and only they count", async () => {
  const tool = (name) => ({ type: "function", function: { name } });
  const said = { role: "assistant", content: "…" };
  const news = { role: "user", content: "node-1 completed by Aaa: done\nnode-2 completed by Aab: done" };
  const leads = (...messages) => ask("crew", { messages, tools: [tool("finish")] }, "3x2");
  const works = (...messages) => ask("crew", { messages, tools: [tool("publish")] }, "3x2");
  const replies = [
    await leads(),
    await leads(said),
    await leads(said, said, news),
    await works(),
    await works(said),
    await works(said, said),
  ];

  expect(replies.map(({ tool_calls = [] }) => tool_calls.map((call) => call.function.name))).toEqual([
    ["launch_roles"],
    [],
    ["finish"],
    ["note"],
    ["write_file"],
    ["publish"],
  ]);
  expect(JSON.parse(replies[0].tool_calls[0].function.arguments).roles.map((role) => role.name)).toEqual([
    "Aaa",
    "Aab",
  ]);
  expect(await seen("crew")).toEqual({ first_ns: expect.any(String), requests: 3, last_turn: 3, coordinator: 3 });
});

test("a worker of a team without turns asks its human again and again; when those came who may have been spoken to is told", async () => {
  const tool = (name) => ({ type: "function", function: { name } });
  const said = { role: "assistant", content: "…" };
  const asks = (...messages) => ask("askers", { messages, tools: [tool("publish")] }, "0x2");
  const replies = [await asks(), await asks(said)];
  await ask("crew-2", { messages: [], tools: [tool("publish")] }, "3x2");
  await ask("crew-2", { messages: [], tools: [tool("finish")] }, "3x2");

  expect(replies.map(({ tool_calls }) => tool_calls.map((call) => call.function.arguments))).toEqual([
    ['{"question":"1. What do you think?"}'],
    ['{"question":"2. What do you think?"}'],
  ]);
  const arrivals = [await seen("askers/arrivals"), await seen("crew-2/arrivals"), await seen("nobody/arrivals")];
  expect(arrivals.map((each) => each.length)).toEqual([2, 1, 0]);
});

test.each(["floor-streamed", "floor-json"])("%s does the work and keeps all of it", async (contestant) => {
  const job = {
    contestant,
    scenario: "cold",
    home: join(home, contestant),
    measured: { baseUrl: `${url}/${contestant}/3/0/v1`, turns: 3 },
  };
  const { stdout } = await promisify(execFile)(process.execPath, [here("./contestant.mjs"), JSON.stringify(job)]);
  const kept = (await readFile(join(home, contestant, "measured", "worker.jsonl"), "utf8")).trim().split("\n");

  expect(JSON.parse(stdout)).toEqual({ rss_mb: expect.any(Number) });
  expect(kept.map((line) => JSON.parse(line).role)).toEqual([
    "system",
    "user",
    "assistant",
    "tool",
    "assistant",
    "tool",
    "assistant",
  ]);
  expect(await seen(contestant)).toEqual({ first_ns: expect.any(String), requests: 3, last_turn: 3 });
});

test("a target is judged by its ratio within the run, and only when it was measured", () => {
  const turn = (contestant, ...cpu) =>
    cpu.map((cpu_ms, i) => ({ scenario: "turn", contestant, repetition: i + 1, cpu_ms }));
  const failed = { scenario: "turn", contestant: "ai", repetition: 1, error: "exited with 1" };
  const table = medians([
    ...turn("floor-streamed", 1, 9, 1),
    ...turn("agiraph", 1.5, 2, 1),
    failed,
    ...turn("mastra", 2),
  ]);

  expect(judge(table)).toEqual([
    { what: "CPU a turn, streamed and durable, to the floor's", ratio: 1.5, limit: 2, met: true },
    { what: "CPU a turn to that of the best peer", ratio: 0.75, limit: 0.5, met: false },
  ]);
});

async function ask(run, body, work = "3") {
  const response = await fetch(`${url}/${run}/${work}/0/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  return (await response.json()).choices[0].message;
}

test("the coordinator of a board ends also when it is asked after a stop", async () => {
  const model = await catalogOf(Promise.resolve()).model();
  const stopped = AbortSignal.abort(new Error("stopped"));
  await expect(model.reply({ tools: [{}] }, stopped)).rejects.toThrow("stopped");
});

test("a board is worked through: the next node starts soon after the one it waits for, and a fact has its price", async () => {
  const job = { contestant: "agiraph", scenario: "board", home: join(home, "board"), sizes: [100, 200], links: 5 };
  const { stdout } = await promisify(execFile)(process.execPath, [here("./contestant.mjs"), JSON.stringify(job)]);

  expect(JSON.parse(stdout)).toEqual({
    fact_us_100: expect.any(Number),
    fact_us_200: expect.any(Number),
    ready_ms: expect.any(Number),
    ready_p95_ms: expect.any(Number),
    rss_mb: expect.any(Number),
  });
});

test.skipIf(skipped)(`silent programs are measured, and what holds them ${skipped}`, async () => {
  const job = { contestant: "agiraph", scenario: "outside", home: join(home, "outside"), programs: 1, seconds: 0.2 };
  const { stdout } = await promisify(execFile)(process.execPath, [here("./contestant.mjs"), JSON.stringify(job)]);
  const amount = expect.any(Number);
  expect(JSON.parse(stdout)).toEqual({
    resident_mib: amount,
    fair_mib: amount,
    cpu_percent: amount,
    start_ms: amount,
    // bubblewrap outside and inside, and one for each stream; the program itself does not count.
    processes: 5,
    stop_all_ms: amount,
    rss_mb: amount,
  });
});

test.skipIf(skipped)(
  `a night in which nothing happens: who waits is ended, and taken up again ${skipped}`,
  async () => {
    const job = { contestant: "agiraph", scenario: "idle", home: join(home, "idle") };
    const night = JSON.stringify({ ...job, programs: 2, real: 0, settle: 0, seconds: 0.2 });
    const { stdout } = await promisify(execFile)(process.execPath, [here("./contestant.mjs"), night]);
    const amount = expect.any(Number);
    expect(JSON.parse(stdout)).toEqual({
      ...{ programs: 2, real: 0, left: 0, start_s: amount, resume_s: amount, held_mib: amount, rss_mb: amount },
      ...{ cpu_percent: amount, theirs_percent: amount, ended_cpu_percent: amount },
    });
  },
);

test("a memory is indexed and searched, and every search finds something", async () => {
  const job = { contestant: "agiraph", scenario: "memory", home: join(home, "memory"), sections: 300, queries: 5 };
  const { stdout } = await promisify(execFile)(process.execPath, [here("./contestant.mjs"), JSON.stringify(job)]);
  const amount = expect.any(Number);
  expect(JSON.parse(stdout)).toEqual({
    query_ms: amount,
    query_p95_ms: amount,
    query_cpu_ms: amount,
    build_s: amount,
    index_mb: amount,
    more_rss_mb: amount,
    rss_mb: amount,
  });
});

test.skipIf(skipped)(`nodes clone a repository, commit and are merged, beside plain git ${skipped}`, async () => {
  const job = { contestant: "agiraph", scenario: "repository", home: join(home, "repository") };
  await mkdir(job.home);
  const told = JSON.stringify({ ...job, files: 60, history: 6, clones: 2, rounds: 1 });
  const { stdout } = await promisify(execFile)(process.execPath, [here("./contestant.mjs"), told]);
  const amount = expect.any(Number);
  expect(JSON.parse(stdout)).toEqual({
    ...{ create_ms: amount, clone_ms: amount, worktree_ms: amount, plain_ms: amount, shared_ms: amount },
    ...{ clone_mb: amount, worktree_mb: amount, plain_mb: amount, shared_mb: amount },
    ...{ commit_ms: amount, receive_ms: amount, merge_ms: amount, rss_mb: amount },
    ...{ parallel_s: amount, one_mib: amount, parallel_mib: amount, parallel_memory: amount },
  });
});

test("a mesh is told its messages, one by one and in bursts", async () => {
  const job = {
    contestant: "agiraph",
    scenario: "mesh",
    home: join(home, "mesh"),
    agents: 3,
    latencies: 5,
    messages: 1_000,
  };
  const { stdout } = await promisify(execFile)(process.execPath, [here("./contestant.mjs"), JSON.stringify(job)]);
  const amount = expect.any(Number);
  expect(JSON.parse(stdout)).toEqual({
    told_p50_ms: amount,
    told_p99_ms: amount,
    one_cpu_ms: amount,
    messages_a_second: amount,
    more_rss_mb: amount,
    kept_mb: amount,
    rss_mb: amount,
  });
});

async function seen(run) {
  return (await fetch(`${url}/${run}`)).json();
}

test("a home is opened again, and a server is looked at and asked", { timeout: 180_000 }, async () => {
  const run = async (scenario, job) => {
    const told = { contestant: "agiraph", scenario, home: join(home, scenario), ...job };
    await mkdir(told.home);
    const { stdout } = await promisify(execFile)(process.execPath, [here("./contestant.mjs"), JSON.stringify(told)]);
    return Object.keys(JSON.parse(stdout));
  };
  expect(await run("restart", { agents: 2, facts: 4_000 })).toEqual([
    "ready_ms",
    "again_ms",
    "idle_kb",
    "open_kb",
    "rss_mb",
  ]);
  const engine = { turns: 2, block: 1, facts: 40, writers: 2, agents: 2, seconds: 0.2, settle: 0, restored: 100 };
  if (!withoutPostgres)
    expect(await run("engine", engine)).toEqual([
      "turn_ms",
      "turn_p95_ms",
      "file_turn_ms",
      "overhead_ms",
      "one_a_second",
      "eight_a_second",
      "file_one_a_second",
      "file_eight_a_second",
      "idle_queries",
      "restore_ms",
      "restored_facts",
      "rss_mb",
    ]);
  const job = { idle: 3, working: 2, facts: 200, clients: 4, seconds: 1, asks: 50, turnMs: 50 };
  expect(await run("server", job)).toEqual([
    "get_ms",
    "get_p99_ms",
    "fact_ms",
    "fact_p99_ms",
    "append_p99_ms",
    "facts_a_second",
    "idle_kb",
    "turns_a_second",
    "turn_kb",
    "said_kb",
    "quiet_heap",
    "stopped_heap",
    "rss_mb",
  ]);
});
