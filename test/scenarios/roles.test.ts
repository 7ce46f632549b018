import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { both, call, script, startTeam, type TestTeam } from "../../src/testing/index.ts";

const written = (path: string, content: string) => call("write_file", { path: `scratch/${path}`, content });
const shown = (path: string) => call("read_file", { path });
const done = (summary: string) => call("publish", { summary, learned: summary });
const inRun = (team: TestTeam, path: string) => readFile(join(team.agent.log.dir, "runs/run-1", path), "utf8");

/** Seed 000 §7, the whole example. Bob is a scripted worker in place of a coding agent. */
test("three analysts research, one stays and a writer comes, and the coordinator concludes", async () => {
  const SONNET = "anthropic/claude-sonnet-4-5";
  const GPT = "openai/gpt-4o";
  const GOAL =
    "Analyze the competitive landscape of AI chip companies and produce a report with market data, " +
    "technical comparisons, and investment recommendations.";
  const { promise: bobListens, resolve: bobDoes } = Promise.withResolvers<void>();
  const { promise: aliceIsDone, resolve: sheIs } = Promise.withResolvers<void>();

  const alice = script(
    // Stage 1
    shown("_plan.md"),
    written("market_analysis.md", "NVIDIA has 80% of training."),
    call("send_message", {
      to: "Bob",
      content: "I found NVIDIA has 80% training market share. Can you validate from a technical specs angle?",
    }).until(bobListens),
    call("check_messages", { wait: true }),
    written("market_analysis.md", "NVIDIA has 80% of training; memory bandwidth is why.").after(
      "[Message from Bob]: Confirmed, H100/B200 dominate on memory bandwidth.",
    ),
    done("Completed market analysis for NVIDIA, AMD, Intel"),
    // Stage 2
    both(shown("nodes/node-2/published/benchmarks.md"), shown("nodes/node-3/published/financial_report.md")).after(
      "Cross-reference your market data with the technical and financial findings",
    ),
    written("cross_reference.md", "Bandwidth, revenue and share agree.").after("H100 leads.", "R&D is up."),
    call("send_message", { to: "Dave", content: "Cross-reference is ready at cross_reference.md" }),
    done("Completed cross-referencing"),
  ).with({ id: SONNET });
  const bob = script(
    call("check_messages", { wait: true }),
    written("benchmarks.md", "H100 leads.").after("[Message from Alice]: I found NVIDIA has 80%"),
    written("src/analysis.py", "print('H100')\n"),
    call("send_message", {
      to: "Alice",
      content: "Confirmed, H100/B200 dominate on memory bandwidth. See benchmarks.md",
    }),
    done("Benchmarks are in"),
  );
  const carol = script(written("financial_report.md", "R&D is up."), done("Completed financial analysis")).with({
    id: GPT,
  });
  const dave = script(
    call("check_messages", { wait: true }),
    both(
      shown("nodes/node-1/published/market_analysis.md"),
      shown("nodes/node-2/published/benchmarks.md"),
      shown("nodes/node-3/published/financial_report.md"),
    ).after("[Message from Alice]: Cross-reference is ready"),
    written("draft_report.md", "Buy NVIDIA.").after("memory bandwidth is why", "H100 leads.", "R&D is up."),
    call("send_message", { to: "Alice", content: "Draft is ready, can you review the market section?" }).until(
      aliceIsDone,
    ),
    done("Draft report complete").after("Alice has no work now; the coordinator got it."),
  ).with({ id: SONNET });

  await using team = await startTeam({
    goal: GOAL,
    workers: { Alice: alice, Bob: bob, Carol: carol, Dave: dave },
    coordinator: script(
      call("launch_roles", {
        name: "Research",
        roles: [
          { name: "Alice", title: "Market Analyst", model: SONNET, prompt: "Research the market positioning." },
          { name: "Bob", title: "Technical Analyst", prompt: "Research the architecture and benchmarks." },
          { name: "Carol", title: "Financial Analyst", model: GPT, prompt: "Analyze R&D spending and revenue." },
        ],
      }),
      // Sees all three have published, reads their outputs.
      call("check_stage_status").after("node-1 completed", "node-2 completed", "node-3 completed"),
      both(
        shown("nodes/node-1/published/market_analysis.md"),
        shown("nodes/node-2/published/benchmarks.md"),
        shown("nodes/node-3/published/financial_report.md"),
      ).after("Stage 1, Research (all_must_complete) is done"),
      // "Research is solid. Stage 2: bring in a writer. Keep Alice to cross-reference. Retire Bob and Carol."
      call("reconvene", {
        assessment: "Research is solid. Stage 2: bring in a writer.",
        retire: ["Bob", "Carol"],
        briefs: { Alice: "Market Analyst who cross-references." },
      }).after("R&D is up."),
      call("launch_roles", {
        name: "Synthesis",
        roles: [
          {
            name: "Alice",
            title: "Market Analyst",
            prompt: "Cross-reference your market data with the technical and financial findings of Bob and Carol.",
          },
          { name: "Dave", title: "Report Writer", model: SONNET, prompt: "Write the report." },
        ],
      }).after("Stage 1 is closed"),
      shown("nodes/node-5/published/draft_report.md").after(
        "[Message from Dave for Alice, who has no work now]: Draft is ready, can you review the market section?",
        "Stage 2 (Synthesis) is done.",
      ),
      call("conclude", { output: "Buy NVIDIA, for its bandwidth." }).after("Buy NVIDIA."),
    ),
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "worker.waiting" && fact.data.worker_id === "bob") bobDoes();
    if (fact.type === "node.completed" && fact.data.node_id === "node-4") sheIs();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Buy NVIDIA, for its bandwidth." });

  expect(
    team
      .board()
      .map((node) => [
        node.spec.role,
        node.status,
        "worker_id" in node && node.worker_id,
        "summary" in node && node.summary,
        "files" in node && node.files.map((file) => file.path),
      ]),
  ).toEqual([
    [
      "Market Analyst",
      "completed",
      "alice",
      "Completed market analysis for NVIDIA, AMD, Intel",
      ["market_analysis.md"],
    ],
    ["Technical Analyst", "completed", "bob", "Benchmarks are in", ["benchmarks.md", "src/analysis.py"]],
    ["Financial Analyst", "completed", "carol", "Completed financial analysis", ["financial_report.md"]],
    ["Market Analyst", "completed", "alice", "Completed cross-referencing", ["cross_reference.md"]],
    ["Report Writer", "completed", "dave", "Draft report complete", ["draft_report.md"]],
  ]);
  expect(
    team.agent.now.stages.map(({ name, nodes, status, assessment }) => ({ name, nodes, status, assessment })),
  ).toEqual([
    {
      name: "Research",
      nodes: ["node-1", "node-2", "node-3"],
      status: "completed",
      assessment: "Research is solid. Stage 2: bring in a writer.",
    },
    { name: "Synthesis", nodes: ["node-4", "node-5"], status: "completed", assessment: null },
  ]);
  expect(Object.values(team.agent.now.roster).map(({ id, spawned, status }) => [id, spawned.model, status])).toEqual([
    ["coordinator", "scripted/coordinator", "idle"],
    ["alice", SONNET, "idle"],
    ["bob", "scripted/worker", "retired"],
    ["carol", GPT, "retired"],
    ["dave", SONNET, "idle"],
  ]);

  // The message log, and who saw each message: Dave's to Alice reached the coordinator.
  expect(await readdir(join(team.agent.log.dir, "runs/run-1/_messages"))).toEqual([
    "0001_alice_to_bob.md",
    "0002_bob_to_alice.md",
    "0003_alice_to_dave.md",
    "0004_dave_to_alice.md",
  ]);
  expect(team.agent.now.letters.settled.map(({ from, to, reader, status }) => [from, to, reader, status])).toEqual([
    ["alice", "bob", "bob", "seen"],
    ["bob", "alice", "alice", "seen"],
    ["alice", "dave", "dave", "seen"],
    ["dave", "alice", "coordinator", "seen"],
  ]);

  // Alice, who stayed, remembers what she did in the first stage; Dave, who is new, has nothing to remember.
  const memoryIn = (system = "") => /# Your memory.*?\n\n---/s.exec(system)?.[0] ?? "";
  expect(memoryIn(alice.requests.at(-1)?.system)).toContain("Completed market analysis for NVIDIA, AMD, Intel");
  expect(memoryIn(dave.requests.at(-1)?.system)).toBe("");

  expect(await inRun(team, "_plan.md")).toContain("Cross-reference your market data");
  expect(await inRun(team, "_output.md")).toMatch(
    /^# Output\n\nGoal: .*\n\nOutcome: finished\n\nBuy NVIDIA, for its bandwidth.\n/,
  );
});

/** Seed 000 §8. */
const paradigms = [
  {
    shape: "diverse: different specialists",
    roles: [
      { name: "Alice", title: "Market Analyst", prompt: "Look at the market." },
      { name: "Bob", title: "Engineer", prompt: "Look at the machines." },
      { name: "Carol", title: "Financial Analyst", prompt: "Look at the money." },
      { name: "Dave", title: "Writer", prompt: "Look at the words." },
    ],
  },
  {
    shape: "homogeneous: the same role with different shares",
    roles: [
      { name: "Alice", title: "Researcher", prompt: "Research NVIDIA and AMD." },
      { name: "Bob", title: "Researcher", prompt: "Research Intel and Qualcomm." },
      { name: "Carol", title: "Researcher", prompt: "Research Google TPU and Amazon Trainium." },
    ],
  },
  {
    shape: "single: one who handles everything",
    roles: [{ name: "Alice", title: "General Analyst", prompt: "Handle everything solo." }],
  },
];

test.each(paradigms)("a team may be $shape", async ({ roles }) => {
  const minds = roles.map(({ name, prompt }) => {
    const mind = script(written("result.md", `${name}: ${prompt}`).after(prompt), done(`${prompt} Done.`));
    return [name, mind] as const;
  });
  await using team = await startTeam({
    goal: "Understand AI chips",
    workers: Object.fromEntries(minds),
    coordinator: script(
      call("launch_roles", { name: "Work", roles }),
      call("conclude", { output: "Understood." }).after("Stage 1 (Work) is done."),
    ),
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Understood." });
  expect(
    team
      .board()
      .map((node) => [
        "worker_id" in node && node.worker_id,
        node.spec.role,
        node.status,
        "summary" in node && node.summary,
      ]),
  ).toEqual(roles.map(({ name, title, prompt }) => [name.toLowerCase(), title, "completed", `${prompt} Done.`]));
  for (const [at, { name, title, prompt }] of roles.entries()) {
    expect(await inRun(team, `nodes/node-${at + 1}/published/result.md`)).toBe(`${name}: ${prompt}`);
    expect(minds[at]?.[1].requests[0]?.system).toContain(`You are ${name}. ${title}.`);
  }
});

test("a role that wrote no file leaves its words as its result", async () => {
  await using team = await startTeam({
    goal: "Decide",
    workers: { Alice: script(done("Yes, do it.")) },
    coordinator: script(
      call("launch_roles", { name: "Decision", roles: [{ name: "Alice", title: "Judge", prompt: "Decide." }] }),
      call("conclude", { output: "Yes." }).after("node-1 completed by Alice: Yes, do it."),
    ),
  });
  await team.outcome();
  expect(await inRun(team, "nodes/node-1/published/summary.md")).toBe("Yes, do it.\n");
});

test("launching leaves nobody behind: who is not named again is retired, and a stage under way is not cut off", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const role = (name: string) => ({ name, title: "Worker", prompt: "Work." });
  await using team = await startTeam({
    goal: "Work in stages",
    workers: {
      Alice: script(done("one").until(released), done("two")),
      Bob: script(done("one").until(released)),
    },
    coordinator: script(
      call("launch_roles", { name: "First", roles: [role("Alice"), role("Bob")] }),
      call("launch_roles", { name: "Second", roles: [role("Alice")] }),
      call("launch_roles", { name: "Second", roles: [role("Alice")] }).after("Stage 1 (First) is done."),
      call("launch_roles", { name: "Third", roles: [role("Bob")] }).after("Stage 2 (Second) is done."),
      call("conclude", { output: "Done." }).after("Not launched: Bob is taken (retired); names are unique in a run."),
    ),
  });
  const { promise: refused, resolve: itWas } = Promise.withResolvers<void>();
  team.agent.log.subscribe((fact) => {
    if (fact.type === "tool.result" && !fact.data.ok) itWas();
  });
  await refused;
  release();
  await team.outcome();
  expect(team.agent.now.stages.map(({ name, nodes }) => [name, nodes])).toEqual([
    ["First", ["node-1", "node-2"]],
    ["Second", ["node-3"]],
  ]);
  expect(Object.values(team.agent.now.roster).map(({ id, status }) => [id, status])).toEqual([
    ["coordinator", "idle"],
    ["alice", "idle"],
    ["bob", "retired"],
  ]);
});
