import { readFile, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import {
  both,
  call,
  fail,
  manualClock,
  say,
  script,
  startProviderServer,
  startTeam,
  temporaryHome,
} from "../../src/testing/index.ts";

test("a worker waits visibly for a long rate limit until it has passed", async () => {
  const clock = manualClock();
  const limited = { status: 429, retryAfterMs: 3_600_000, message: "slow down" };
  await using team = await startTeam({
    goal: "Wait",
    clock,
    coordinator: script(fail("rate_limited", limited), call("finish", { summary: "done" })),
  });
  await clock.sleeping();
  await expect.poll(() => team.agent.now.roster.coordinator).toMatchObject({ status: "waiting", for: "rate_limit" });
  await clock.advance(3_600_000);
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
});

test.each([
  ["shorter than what retrying sits out", 1],
  ["longer than a day", 10 * 86_400_000],
])("a rate limit %s is not waited for: the agent fails and says so", async (_, retryAfterMs) => {
  await using team = await startTeam({
    goal: "Wait",
    coordinator: script(fail("rate_limited", { retryAfterMs, message: "no more" })),
  });
  await team.agent.idle();
  expect(team.agent.now.agent).toMatchObject({ status: "failed", error: "no more" });
});

test("what builds on a failed node fails with it, and the run can end", async () => {
  await using team = await startTeam({
    goal: "Build",
    coordinator: script(
      both(
        call("create_work_node", { task: "Base" }),
        call("create_work_node", { task: "Roof", dependencies: ["node-1"] }),
        call("create_work_node", { task: "Flag", dependencies: ["node-2"] }),
      ),
      call("finish", { summary: "no house" }).after("node-3 failed: It builds on node-2, which failed"),
    ),
    workers: { Alice: script(fail("auth"), fail("auth")) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "no house" });
  expect(team.board().map((node) => node.status)).toEqual(["failed", "failed", "failed"]);
});

test.each(["constructor", "__proto__", "node-0", "node-9", "toString"])(
  "a dependency named %s is refused, and nothing is made",
  async (id) => {
    await using team = await startTeam({
      goal: "Build",
      coordinator: script(
        call("create_work_node", { task: "Roof", dependencies: [id] }),
        call("finish", { summary: "no" }).after(`there is no node "${id}"`),
      ),
    });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "no" });
    expect(team.board()).toEqual([]);
  },
);

test("replies without a call count only in a row, and a reply that was cut is never taken for an answer", async () => {
  await using team = await startTeam({
    goal: "Write",
    coordinator: script(
      say("I will look first."),
      call("list_files"),
      say("Now I will write."),
      call("list_files"),
      say("half a sen").with({ finish: "length" }),
      say("half a sen").with({ finish: "length" }),
      call("finish", { summary: "whole" }),
    ),
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "whole" });
});

test("an answer given again when asked whether it is done is the answer", async () => {
  await using team = await startTeam({ goal: "6 × 7?", coordinator: script(say("42."), say("It is 42.")) });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "It is 42." });
});

test("a stop comes through between the calls of one reply", async () => {
  const calls = Array.from({ length: 40 }, (_, n) => call("write_file", { path: `${n}.md`, content: "x" }));
  await using team = await startTeam({
    goal: "Write",
    coordinator: script(both(...calls, call("finish", { summary: "too late" }))),
  });
  const stopping = Promise.withResolvers<void>();
  team.agent.log.subscribe((fact) => {
    if (fact.type === "tool.result") stopping.resolve(team.agent.stop("human"));
  });
  await stopping.promise;
  expect(team.agent.now.agent.status).toBe("stopped");
  expect((await team.facts()).filter((fact) => fact.type === "tool.result").length).toBeLessThan(40);
});

test("stopping what has ended changes nothing, and what is at work is not started twice", async () => {
  const released = Promise.withResolvers<void>();
  const coordinator = script(call("list_files").until(released.promise), call("finish", { summary: "done" }));
  await using team = await startTeam({ goal: "Go", coordinator });
  await expect(team.agent.start("resumed")).rejects.toThrow("is already at work");
  await team.agent.stop("human");
  released.resolve();
  await team.agent.start("resumed");
  await team.outcome();
  const { seq } = team.agent.now;
  await team.agent.stop("human");
  expect([team.agent.now.seq, team.agent.now.agent.status]).toEqual([seq, "completed"]);
});

test("a worker whose notes were replaced by a link goes on without them, and nothing behind the link is told", async () => {
  const alice = script(
    call("write_file", { path: "scratch/a.md", content: "a" }),
    call("publish", { summary: "a" }),
    call("write_file", { path: "scratch/b.md", content: "b" }),
    call("publish", { summary: "b" }),
  );
  const replaced = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Two things",
    config: { max_concurrent: 1 },
    coordinator: script(
      call("create_work_node", { task: "A" }),
      call("create_work_node", { task: "B" }).after("node-1 completed").until(replaced.promise),
      call("finish", { summary: "done" }).after("node-2 completed"),
    ),
    workers: { Alice: alice },
  });
  const first = Promise.withResolvers<void>();
  team.agent.log.subscribe((fact) => fact.type === "worker.idle" && first.resolve());
  await first.promise;
  const notes = join(team.agent.log.dir, "runs/run-1/workers/alice/notebook.md");
  await unlink(notes);
  await symlink("/etc/passwd", notes);
  replaced.resolve();
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  const prompt = alice.requests.at(-1)?.system ?? "";
  expect([prompt.includes("root:"), prompt.includes("notebook.md cannot be read")]).toEqual([false, true]);
});

test("the trace of a node holds every fact about it, from the first", async () => {
  await using team = await startTeam({
    goal: "One thing",
    coordinator: script(
      call("create_work_node", { task: "A" }),
      call("finish", { summary: "done" }).after("node-1 completed"),
    ),
    workers: {
      Alice: script(call("write_file", { path: "scratch/a.md", content: "a" }), call("publish", { summary: "a" })),
    },
  });
  await team.outcome();
  const about = (await team.facts()).filter((fact) => "node_id" in fact.data && fact.data.node_id === "node-1");
  const trace = await readFile(join(team.agent.log.dir, "runs/run-1/nodes/node-1/log.jsonl"), "utf8");
  expect(
    trace
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual(about);
});

test("a model without tools is taken up again after a stop, whatever its tags were before", async () => {
  await using home = await temporaryHome();
  await using provider = await startProviderServer({
    turns: [
      { calls: [{ name: "write_file", args: { path: "a.md", content: "a" } }] },
      { hold: "second", calls: [{ name: "finish", args: { summary: "done" } }] },
    ],
  });
  const settings = {
    home: home.path,
    env: {},
    config: { providers: { words: { base_url: provider.url, native_tools: false } } },
  };
  const first = await openRuntime(settings);
  const agent = await first.create({ goal: "Write", model: "openai-compatible/words/m" });
  await provider.reached("second");
  await agent.stop("human");
  const { id } = agent.log;
  await first.close();
  provider.release("second");
  const second = await openRuntime(settings);
  const again = await second.agent(id);
  await again.start("resumed");
  await again.idle();
  expect(again.now.agent).toMatchObject({ status: "completed", summary: "done" });
  await second.close();
});

test("a key that is missing at resume fails the agent with what to do, and it can be resumed again", async () => {
  await using home = await temporaryHome();
  await using provider = await startProviderServer({
    turns: [{ hold: "first", calls: [{ name: "finish", args: { summary: "done" } }] }],
  });
  const order = { goal: "Go", model: "anthropic/claude-sonnet-4-5" };
  const first = await openRuntime({ home: home.path, env: provider.env, config: {} });
  const agent = await first.create(order);
  await provider.reached("first");
  await agent.stop("human");
  const { id } = agent.log;
  await first.close();
  provider.release("first");

  const keyless = await resumed({});
  expect(keyless).toMatchObject({ status: "failed", error: expect.stringContaining("ANTHROPIC_API_KEY") });
  expect(await resumed(provider.env)).toMatchObject({ status: "completed", summary: "done" });

  async function resumed(env: Readonly<Record<string, string>>): Promise<Agent["now"]["agent"]> {
    const runtime = await openRuntime({ home: home.path, env, config: {} });
    const opened = await runtime.agent(id);
    await opened.start("resumed");
    await opened.idle();
    await runtime.close();
    return opened.now.agent;
  }
});

test("a budget is refused where no price is known, and a spent one can be raised", async () => {
  await using home = await temporaryHome();
  await using provider = await startProviderServer({ respond: () => ({ text: "." }) });
  const runtime = await openRuntime({
    home: home.path,
    env: {},
    config: { providers: { local: { base_url: provider.url } } },
  });
  await expect(runtime.create({ goal: "Go", model: "openai-compatible/local/m", budget_usd: 1 })).rejects.toThrow(
    "No price is known for openai-compatible/local/m",
  );
  expect(await runtime.store.agents()).toEqual([]);
  await runtime.close();

  await using team = await startTeam({
    goal: "Spend",
    budget_usd: 1,
    coordinator: script(call("list_files").with({ cost_usd: 1 }), call("finish", { summary: "done" })),
  });
  await team.agent.idle();
  expect(team.agent.now.agent.status).toBe("failed");
  await team.agent.start("resumed", { budget_usd: 2 });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
});

test("a pause rests the whole team, and resume goes on where everyone was", async () => {
  const released = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Go",
    coordinator: script(
      call("create_work_node", { task: "Long" }),
      call("finish", { summary: "done" }).after("node-1 completed"),
    ),
    workers: {
      Alice: script(
        call("write_file", { path: "scratch/a.md", content: "a" }),
        call("publish", { summary: "a" }).until(released.promise),
      ),
    },
  });
  const written = Promise.withResolvers<void>();
  team.agent.log.subscribe(
    (fact) => fact.type === "tool.result" && fact.data.tool === "write_file" && written.resolve(),
  );
  await written.promise;
  await team.agent.pause("human");
  expect([team.agent.now.agent.status, team.board().map((node) => node.status)]).toEqual(["paused", ["running"]]);
  released.resolve();
  await team.agent.start("resumed");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
});

test.each(["pause", "stop"] as const)("a %s stands, also when the model fails in the same moment", async (what) => {
  const down = Promise.withResolvers<void>();
  const coordinator = script(fail("server").until(down.promise), call("finish", { summary: "done" }));
  await using team = await startTeam({ goal: "Go", coordinator });
  await team.until(() => coordinator.requests.length === 1);
  const resting = team.agent[what]("human");
  down.resolve(); // before the word is on disk
  await resting;
  expect(team.agent.now.agent.status).toBe(what === "pause" ? "paused" : "stopped");
  await team.agent.start("resumed");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
});

test("where a person approves stages, reconvening waits for their resume and is done once", async () => {
  await using team = await startTeam({
    goal: "Go",
    config: { approve_stages: true },
    coordinator: script(
      call("create_work_node", { task: "One" }),
      call("reconvene", { assessment: "One is done." }).after("Stage 1 is done"),
      call("finish", { summary: "approved" }).after("Stage 1 is closed"),
    ),
    workers: {
      Alice: script(call("write_file", { path: "scratch/a.md", content: "a" }), call("publish", { summary: "a" })),
    },
  });
  await team.agent.idle();
  expect(team.agent.now.agent.status).toBe("paused");
  await team.agent.start("resumed");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "approved" });
  expect((await team.facts()).filter((fact) => fact.type === "stage.reconvened").length).toBe(1);
});

test("a budget of tokens ends the run before the next call", async () => {
  await using team = await startTeam({
    goal: "Spend",
    budget_tokens: 1000,
    coordinator: script(call("list_files").with({ usage: { input: 900, output: 100 } })),
  });
  expect(await team.outcome()).toEqual({ kind: "budget_exhausted", spent_usd: 0, spent_tokens: 1000 });
  expect(team.agent.now.agent.error).toBe("The budget of tokens is spent (1,000 tokens).");
});
