import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { both, call, script, startTeam } from "../../src/testing/index.ts";

/** Seed 002 §0, "How the Graph Grows", times 0 to 4: six nodes that nobody planned. */
test("a graph grows as work happens: each piece is made for what the ones before it found", async () => {
  const { promise: nodeEisThere, resolve: nodeEisMade } = Promise.withResolvers<void>();
  const study = (task: string, file: string) => call("create_work_node", { task, deliverables: [file] });
  const coordinator = script(
    // Time 0: "Hmm, I need to research this first."
    study("Research the topic", "areas.md"),
    // Time 1: reads node A, finds three sub-areas and goes deeper, in parallel.
    call("read_file", { path: "nodes/node-1/published/areas.md" }).after("node-1 completed by Alice: three areas"),
    both(study("Study area B", "b.md"), study("Study area C", "c.md"), study("Study area D", "d.md")).after(
      "The areas are B, C and D.",
    ),
    // Time 2: C's worker suggests X. "Good idea."
    study("Look at X", "x.md").after("Bob suggests: look at X, it changes the picture"),
    // Time 3: all are back. "I need one more node to synthesize."
    call("reconvene", { assessment: "D is thin. X is a new angle. One more node to synthesise." }).after(
      "node-2 completed",
      "node-3 completed",
      "node-4 completed",
      "node-5 completed",
      "Stage 1 is done.",
    ),
    call("create_work_node", {
      task: "Synthesise all findings",
      deliverables: ["report.md"],
      refs: {
        topic: "node-1/published/areas.md",
        b: "node-2/published/b.md",
        c: "node-3/published/c.md",
        d: "node-4/published/d.md",
        x: "node-5/published/x.md",
      },
    }).after("Stage 1 is closed"),
    // Time 4: node F completes, the coordinator finishes.
    call("finish", { summary: "The report is in nodes/node-6/published/report.md." }).after("node-6 completed"),
  );
  const written = (path: string, content: string) => call("write_file", { path: `scratch/${path}`, content });
  await using team = await startTeam({
    goal: "Understand the topic",
    coordinator,
    workers: {
      Alice: script(
        written("areas.md", "The areas are B, C and D."),
        call("publish", { summary: "three areas" }),
        written("b.md", "B holds.").after("Study area B").until(nodeEisThere),
        call("publish", { summary: "B holds" }),
        both(...["topic", "b", "c", "d", "x"].map((ref_name) => call("read_ref", { ref_name }))).after(
          "Synthesise all findings",
        ),
        written("report.md", "B holds, C bends, D is thin, X decides.").after(
          "The areas are B, C and D.",
          "B holds.",
          "C bends.",
          "D is thin.",
          "X decides.",
        ),
        call("publish", { summary: "all of it" }),
      ),
      Bob: script(
        call("suggest_next", { suggestion: "look at X, it changes the picture" }),
        written("c.md", "C bends.").until(nodeEisThere),
        call("publish", { summary: "C bends" }),
      ),
      Carol: script(written("d.md", "D is thin.").until(nodeEisThere), call("publish", { summary: "D is thin" })),
      David: script(written("x.md", "X decides."), call("publish", { summary: "X decides" })),
    },
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "node.created" && fact.data.node_id === "node-5") nodeEisMade();
  });

  expect(await team.outcome()).toEqual({
    kind: "finished",
    summary: "The report is in nodes/node-6/published/report.md.",
  });

  // Six nodes, who did them, and what each of them builds on.
  expect(
    team
      .board()
      .map(({ spec, ...node }) => [
        spec.task,
        node.status,
        "worker_id" in node && node.worker_id,
        "files" in node && node.files.map((file) => file.path),
        [spec.created_by, spec.parent_node_id],
        Object.values(spec.refs),
      ]),
  ).toEqual([
    ["Research the topic", "completed", "alice", ["areas.md"], ["coordinator", null], []],
    ["Study area B", "completed", "alice", ["b.md"], ["coordinator", null], []],
    ["Study area C", "completed", "bob", ["c.md"], ["coordinator", null], []],
    ["Study area D", "completed", "carol", ["d.md"], ["coordinator", null], []],
    ["Look at X", "completed", "david", ["x.md"], ["coordinator", null], []],
    [
      "Synthesise all findings",
      "completed",
      "alice",
      ["report.md"],
      ["coordinator", null],
      [
        "node-1/published/areas.md",
        "node-2/published/b.md",
        "node-3/published/c.md",
        "node-4/published/d.md",
        "node-5/published/x.md",
      ],
    ],
  ]);
  expect(
    team.agent.now.stages.map(({ number, nodes, status, assessment }) => [number, nodes, status, assessment]),
  ).toEqual([
    [
      1,
      ["node-1", "node-2", "node-3", "node-4", "node-5"],
      "completed",
      "D is thin. X is a new angle. One more node to synthesise.",
    ],
    [2, ["node-6"], "completed", null],
  ]);

  // The order of what matters. B, C, D and E end in any order, so they are asked about apart.
  const told = (await team.facts()).flatMap((fact) => {
    if (fact.type === "suggestion.made") return [`${fact.data.worker_id} suggests`];
    if (fact.type === "stage.reconvened") return [`reconvened ${fact.data.stage}`];
    if (fact.type === "node.created" || fact.type === "node.started" || fact.type === "node.completed")
      return [`${fact.data.node_id} ${fact.type.slice("node.".length)}`];
    return [];
  });
  const middle = (line: string) => /node-[2-5] (started|completed)/.test(line);
  expect(told.filter((line) => !middle(line))).toEqual([
    "node-1 created",
    "node-1 started",
    "node-1 completed",
    "node-2 created",
    "node-3 created",
    "node-4 created",
    "bob suggests",
    "node-5 created",
    "reconvened 1",
    "node-6 created",
    "node-6 started",
    "node-6 completed",
  ]);
  // B, C and D ran side by side, and E was made while they did.
  const endings = [2, 3, 4, 5].map((number) => told.indexOf(`node-${number} completed`));
  const beginnings = [2, 3, 4].map((number) => told.indexOf(`node-${number} started`));
  expect(Math.max(...beginnings)).toBeLessThan(Math.min(...endings));
  expect(told.indexOf("node-5 created")).toBeLessThan(Math.min(...endings));
  expect(told.indexOf("reconvened 1")).toBeGreaterThan(Math.max(...endings));

  const inRun = (path: string) => readFile(join(team.agent.log.dir, "runs/run-1", path), "utf8");
  expect(await inRun("nodes/node-6/published/report.md")).toBe("B holds, C bends, D is thin, X decides.");
  expect((await inRun("_output.md")).replace(/\n<!-- Written by Agiraph .*\n$/, "")).toBe(
    [
      "# Output",
      "Goal: Understand the topic",
      "Outcome: finished",
      "The report is in nodes/node-6/published/report.md.",
      "## Published files",
      "- nodes/node-1/published/areas.md\n- nodes/node-2/published/b.md\n- nodes/node-3/published/c.md\n" +
        "- nodes/node-4/published/d.md\n- nodes/node-5/published/x.md\n- nodes/node-6/published/report.md\n",
    ].join("\n\n"),
  );
});
