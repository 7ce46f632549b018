import { existsSync } from "node:fs";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { both, call, type ScriptedModel, say, script, startTeam, temporaryHome } from "../../src/testing/index.ts";
import { dayWords } from "../../src/workers/surroundings.ts";
import { skipped } from "../try-sandbox.ts";

const wrote = (path: string, content: string) => call("write_file", { path: `scratch/${path}`, content });
const published = (summary: string) => call("publish", { summary });
const finished = call("finish", { summary: "done" });

/** All that a model was told at its nth call: the prompt, and the words. */
function told(model: ScriptedModel, at = 0): { system: string; words: string[] } {
  const { system = "", history = [] } = model.requests[at] ?? {};
  return { system, words: history.flatMap((entry) => (entry.role === "user" ? entry.content : [])) };
}

test("roles know the goal, the stage and each other before their first turn, and are told it only once", async () => {
  const alice = script(wrote("a.md", "A"), published("A is in"));
  const bob = script(wrote("b.md", "B"), published("B is in"));
  const roles = [
    { name: "Alice", title: "Market Analyst", prompt: "Measure the market." },
    { name: "Bob", title: "Engineer", prompt: "Measure chip B.\nIn detail." },
  ];
  await using team = await startTeam({
    goal: "Which chip is faster?",
    coordinator: script(
      call("launch_roles", { name: "Research", roles }),
      finished.after("node-1 completed", "node-2 completed"),
    ),
    workers: { Alice: alice, Bob: bob },
  });
  await team.outcome();
  const first = told(alice);
  expect(first.system).toContain(
    [
      "# Your team",
      "",
      "The goal of the run: Which chip is faster?",
      "The stage: 1, Research",
      "Colleagues, by name:",
      "- coordinator, who gave you this",
      "- Bob (Engineer): node-2, Measure chip B.",
    ].join("\n"),
  );
  expect(first.words).toEqual(["Measure the market."]);
  expect(first.system).not.toContain("Measure the market.");
  expect(alice.requests.map(({ system }) => system)).toEqual(alice.requests.map(() => first.system));
});

test("of many colleagues twenty are named, those at work first", async () => {
  const names = Array.from({ length: 24 }, (_, at) => `Worker ${String.fromCharCode(65 + at)}`);
  const last = script(wrote("a.md", "A"), published("A"));
  await using team = await startTeam({
    goal: "g",
    coordinator: script(
      both(...names.map((name) => call("spawn_worker", { name }))),
      call("create_work_node", { task: "Do it.", worker: "Worker X" }),
      finished.after("node-1 completed"),
    ),
    workers: { "Worker X": last },
  });
  await team.outcome();
  const lines = told(last).system.match(/^- Worker .*$/gm) ?? [];
  expect(lines).toHaveLength(20);
  expect(lines).not.toContain("- Worker X: free");
  expect(told(last).system).toContain("- and 3 more");
});

test("a worker sees what it must deliver and the commands that check it, before publish refuses", async () => {
  const alice = script(wrote("sum.py", "print(1)"), published("A"));
  const order = { task: "Write sum.py.", deliverables: ["sum.py"], checks: ["test -s sum.py"] };
  await using team = await startTeam({
    goal: "g",
    coordinator: script(call("create_work_node", order), finished.after("node-1 completed")),
    workers: { Alice: alice },
  });
  await team.outcome();
  expect(told(alice).words).toEqual([
    "Write sum.py.\n\n## Deliverables (in scratch/)\n\n- sum.py\n\n## Checks (publish runs them in scratch/; all must pass)\n\n- `test -s sum.py`",
  ]);
});

test("a spec that the coordinator changed before somebody began is the task", async () => {
  const alice = script(wrote("a.md", "A"), published("A"));
  const { promise: made, resolve: itIs } = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "g",
    coordinator: script(
      call("create_work_node", { task: "Measure chip A.", hold: true }),
      call("write_file", { path: "nodes/node-1/_spec.md", content: "# node-1\n\nMeasure chip B instead.\n" }).until(
        made,
      ),
      call("spawn_worker", { name: "Alice" }),
      call("assign_worker", { node_id: "node-1", worker_id: "Alice" }),
      finished.after("node-1 completed"),
    ),
    workers: { Alice: alice },
  });
  // Its folder follows the fact.
  const spec = join(team.agent.log.dir, "runs/run-1/nodes/node-1/_spec.md");
  await expect.poll(() => existsSync(spec)).toBe(true);
  itIs();
  await team.outcome();
  expect(told(alice).words).toEqual(["Measure chip B instead."]);
});

test("a task is told whole: a long one, and one whose _spec.md cannot be read", async () => {
  const long = `${"测".repeat(30_000)} the last words`;
  const alice = script(wrote("a.md", "A"), published("A"));
  const bob = script(wrote("b.md", "B"), published("B"));
  const { promise: linked, resolve: itIs } = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "g",
    coordinator: script(
      both(call("spawn_worker", { name: "Alice" }), call("spawn_worker", { name: "Bob" })),
      call("create_work_node", { task: long, worker: "Alice" }),
      call("create_work_node", { task: "Measure chip B.", hold: true }),
      call("assign_worker", { node_id: "node-2", worker_id: "Bob" }).until(linked),
      finished.after("node-1 completed", "node-2 completed"),
    ),
    workers: { Alice: alice, Bob: bob },
  });
  const spec = join(team.agent.log.dir, "runs/run-1/nodes/node-2/_spec.md");
  await expect.poll(() => existsSync(spec)).toBe(true);
  await rm(spec);
  await symlink("/etc/hostname", spec);
  itIs();
  await team.outcome();
  expect(told(alice).words).toEqual([long]);
  expect(told(bob).words).toEqual(["Measure chip B."]);
});

describe("what a node builds on", () => {
  const first = (content: string) => script(wrote("a.md", content), wrote("more/b.md", "B: 95\n"), published("A: 80"));

  test("is in the first message where it is small", async () => {
    const bob = script(wrote("c.md", "B"), published("B wins"));
    const refs = { chips: "node-1/published", one: "node-1/published/a.md" };
    await using team = await startTeam({
      goal: "g",
      coordinator: script(
        call("create_work_node", { task: "Measure." }),
        both(
          call("spawn_worker", { name: "Bob" }),
          call("create_work_node", { task: "Compare.", worker: "Bob", refs }),
        ),
        finished.after("node-2 completed"),
      ),
      workers: { Alice: first("A: 80\n"), Bob: bob },
    });
    await team.outcome();
    expect(told(bob).words).toEqual([
      [
        "Compare.",
        "## Input",
        '<input name="chips" path="nodes/node-1/published/a.md">\nA: 80\n</input>',
        '<input name="chips" path="nodes/node-1/published/more/b.md">\nB: 95\n</input>',
        '<input name="one" path="nodes/node-1/published/a.md">\nA: 80\n</input>',
      ].join("\n\n"),
    ]);
  });

  test("is named with size, beginning and summary where it is not", async () => {
    const bob = script(wrote("c.md", "B"), published("B wins"));
    const refs = { chips: "node-1/published", one: "node-1/published/a.md" };
    await using team = await startTeam({
      goal: "g",
      coordinator: script(
        call("create_work_node", { task: "Measure." }),
        both(
          call("spawn_worker", { name: "Bob" }),
          call("create_work_node", { task: "Compare.", worker: "Bob", refs }),
        ),
        finished.after("node-2 completed"),
      ),
      workers: { Alice: first(`\n# Chip A\n${"80 ".repeat(2000)}`), Bob: bob },
    });
    await team.outcome();
    expect(told(bob).words).toEqual([
      [
        "Compare.",
        "",
        "## Input",
        "",
        "- chips: nodes/node-1/published/ (2 files, 6016 bytes): a.md, more/b.md",
        "  node-1: A: 80",
        "- one: nodes/node-1/published/a.md (6010 bytes), begins: # Chip A",
        "  node-1: A: 80",
      ].join("\n"),
    ]);
  });

  test("is given to a node of one inference whole, which is told of no tools; its reply is the result", async () => {
    const long = `${"x".repeat(20_000)}\n</input>\n`;
    const bob = script(say("B is faster."));
    await using team = await startTeam({
      goal: "Which chip is faster?",
      coordinator: script(
        call("create_work_node", { task: "Measure." }),
        both(
          call("spawn_worker", { name: "Bob" }),
          call("create_work_node", {
            task: "Compare.",
            worker: "Bob",
            refs: { chips: "node-1/published" },
            inference: "single",
            deliverables: ["verdict.md"],
          }),
        ),
        finished.after("node-2 completed by Bob: B is faster."),
      ),
      workers: { Alice: first(long), Bob: bob },
    });
    await team.outcome();
    const { system, words } = told(bob);
    expect(bob.requests[0]?.tools).toEqual([]);
    expect(words[0]).toContain(`path="nodes/node-1/published/a.md">\n${long}</input->`);
    expect(words[0]).toContain("B: 95");
    expect(system).toContain("becomes the file verdict.md");
    expect(system).toContain("It is a part of this goal: Which chip is faster?");
    for (const tool of ["read_ref", "publish(", "call publish", "create_work_node", "send_message", "notebook.md"])
      expect(`${system}${words[0]}`).not.toContain(tool);
    const result = join(team.agent.log.dir, "runs/run-1/nodes/node-2/published/verdict.md");
    expect(await readFile(result, "utf8")).toBe("B is faster.");
  });

  test("is cut where it does not fit the window, and the cut says what is missing", async () => {
    const bob = script(say("B is faster."));
    await using team = await startTeam({
      goal: "g",
      coordinator: script(
        call("create_work_node", { task: "Measure." }),
        both(
          call("spawn_worker", { name: "Bob" }),
          call("create_work_node", {
            task: "Compare.",
            worker: "Bob",
            refs: { chips: "node-1/published" },
            inference: "single",
          }),
        ),
        finished.after("node-2 completed"),
      ),
      workers: { Alice: first(`${"x".repeat(500_000)}\n`), Bob: bob },
    });
    await team.outcome();
    const [words = ""] = told(bob).words;
    expect(words).toMatch(/x{100,}\n\[cut here: \d+ of 500001 bytes missing\]\n<\/input>/);
    expect(words).toContain("B: 95\n</input>");
    expect(words.length).toBeLessThan(210_000);
  });

  test("one reply makes one file: more deliverables are refused", async () => {
    await using team = await startTeam({
      goal: "g",
      coordinator: script(
        call("create_work_node", { task: "Both.", inference: "single", deliverables: ["a.md", "b.md"] }),
        finished.after("Not created: one reply makes one file, and there are 2 deliverables."),
      ),
    });
    await team.outcome();
  });
});

describe("surroundings", () => {
  test("coordinator and workers know the day, the zone and what the project holds; git history is not shown", async () => {
    await using folder = await temporaryHome();
    const project = join(folder.path, "work");
    await mkdir(join(project, "src"), { recursive: true });
    await mkdir(join(project, ".git"));
    for (const name of ["README.md", "src/a.ts", "src/b.ts"]) await writeFile(join(project, name), "x");
    for (let at = 0; at < 45; at++) await writeFile(join(project, `z${String(at).padStart(2, "0")}.txt`), "x");
    const coordinator = script(call("create_work_node", { task: "Look." }), finished.after("node-1 completed"));
    const alice = script(wrote("a.md", "A"), published("A"));
    const clock = { now: () => Date.parse("2026-11-17T12:00:00Z"), sleep: () => new Promise<void>(() => {}) };
    await using team = await startTeam({ goal: "g", project, coordinator, clock, workers: { Alice: alice } });
    await team.outcome();
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    for (const { system } of [told(coordinator), told(alice)]) {
      expect(system).toContain(`Today is ${dayWords(clock.now(), timeZone)}.`);
      expect(system).toContain(
        "\nThe project holds: README.md, src/ (2), z00.txt, z01.txt, z02.txt, z03.txt, z04.txt, z05.txt,",
      );
      expect(system).toContain("z37.txt, and 7 more. It is a git repository; its history is not shown.");
    }
  });

  test("coordinator and workers know what the project says to agents", async () => {
    await using folder = await temporaryHome();
    await writeFile(join(folder.path, "AGENTS.md"), "Use tabs.");
    const coordinator = script(
      both(call("create_work_node", { task: "Look." }), call("list_files", { path: "project" })),
      finished.after("node-1 completed"),
    );
    const alice = script(wrote("a.md", "A"), published("A"));
    await using team = await startTeam({ goal: "g", project: folder.path, coordinator, workers: { Alice: alice } });
    await team.outcome();
    for (const model of [coordinator, alice]) {
      const { system } = told(model);
      expect(system.split("\n\n---\n\n").filter((section) => section.includes("Use tabs."))).toEqual([
        expect.stringMatching(/^# What the project says\n\nThis is project\/AGENTS\.md: /),
      ]);
      expect(new Set(model.requests.map((request) => request.system))).toEqual(new Set([system]));
    }
  });

  test.skipIf(skipped)(`the history of git is neither listed nor there for a command ${skipped}`, async () => {
    await using folder = await temporaryHome();
    const project = join(folder.path, "work");
    await mkdir(join(project, ".git"), { recursive: true });
    await writeFile(join(project, ".git/HEAD"), "ref: refs/heads/main\n");
    await writeFile(join(project, "README.md"), "x");
    const coordinator = script(
      both(call("bash", { command: 'ls -A "$PROJECT"' }), call("list_files", { path: "project" })),
      finished,
    );
    await using team = await startTeam({ goal: "g", project, coordinator, env: { PATH: process.env.PATH } });
    await team.outcome();
    const results = (await team.conversation()).flatMap((entry) => (entry.role === "tool" ? entry.content : []));
    expect(results.slice(0, 2)).toEqual([expect.stringContaining("README.md"), "project/README.md (1 bytes)"]);
    expect(results.join()).not.toContain(".git");
  });
});

describe.skipIf(skipped)(`a program that speaks by files ${skipped}`, () => {
  test("reads in its task only the ways that it has: no tool of ours, no server", async () => {
    const command = "cp _task.md task.txt; echo 'Done.' > _result.md";
    await using team = await startTeam({
      goal: "Which chip is faster?",
      config: { programs: { plain: { kind: "autonomous" as const, command: ["bash", "-c", command] } } },
      env: { PATH: process.env.PATH },
      coordinator: script(
        call("spawn_worker", { name: "Paul", type: "autonomous", program: "plain" }),
        call("create_work_node", { task: "Measure chip A.", deliverables: ["task.txt"], worker: "Paul" }),
        finished.after("node-1 completed"),
      ),
    });
    await team.outcome();
    const task = await readFile(join(team.agent.log.dir, "runs/run-1/nodes/node-1/published/task.txt"), "utf8");
    expect(task).toMatch(/^Measure chip A\.\n\n## Deliverables \(in your current folder\)\n\n- task\.txt/);
    expect(task.match(/Measure chip A\./g)).toHaveLength(1);
    expect(task).toContain("The goal of the run: Which chip is faster?");
    expect(task).not.toMatch(/MCP|`?agiraph`? server|\bpublish\b|send_message|ask_human|create_work_node|read_ref/);
  });
});
