import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { both, call, type ScriptedModel, say, script, startTeam, type TestTeam } from "../../src/testing/index.ts";
import { type Play, scriptedPrograms } from "../../src/testing/scripted-program.ts";

const wrote = (path: string, content: string) => call("write_file", { path: `scratch/${path}`, content });
const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });
const published = (summary: string) => call("publish", { summary });
const finished = call("finish", { summary: "done" });
const works = (name = "a.md") => [wrote(name, "x"), published("ok")];
const firstWords = (model: ScriptedModel, at = 0) => model.requests[at]?.history.at(0)?.content;

async function answersTo(team: TestTeam, tool: string, file?: string): Promise<string[]> {
  const entries = await team.conversation(file);
  return entries.flatMap((entry) => (entry.role === "tool" && entry.tool === tool ? entry.content : []));
}

describe("who does it", () => {
  test("the answer says who has begun, or when somebody will; who began later is told with the next news", async () => {
    const coordinator = script(
      made("One."),
      both(made("Two."), made("Three.", { dependencies: ["node-2"] }), made("Four.", { worker: "Alice" })),
      say("I wait."),
      say("I wait on.").after("node-2 completed by Bob", "node-3: Bob has begun."),
      finished.after("node-1 completed", "node-3 completed", "node-4 completed"),
    );
    const { promise: told, resolve: tell } = Promise.withResolvers<void>();
    await using team = await startTeam({
      goal: "g",
      coordinator,
      workers: {
        Alice: script(wrote("a.md", "x").until(told), published("ok"), ...works()),
        Bob: script(...works(), wrote("b.md", "x").until(told), published("ok")),
      },
    });
    const isTold = () =>
      coordinator.requests.some(({ history }) => JSON.stringify(history).includes("node-3: Bob has begun."));
    await team.until(({ board }) => board.nodes["node-3"]?.status === "running");
    await team.agent.send("How is it?");
    await team.until(() => isTold());
    tell();
    await team.outcome();
    expect(await answersTo(team, "create_work_node")).toEqual([
      "Created node-1: Alice has begun.",
      "Created node-2: Bob has begun.",
      "Created node-3. It begins when node-2 is completed.",
      "Created node-4 for Alice. It begins when Alice is free (now busy).",
    ]);
  });

  test("a beginning wakes nobody who waits", async () => {
    const coordinator = script(
      both(made("One."), made("Two.", { dependencies: ["node-1"] })),
      say("I wait."),
      finished.after("node-1 completed", "node-2 completed"),
    );
    await using team = await startTeam({
      goal: "g",
      config: { contract: { checkpoint_policy: "all_must_complete" } },
      coordinator,
      workers: { Alice: script(...works(), ...works()) },
    });
    await team.outcome();
    const news = (await team.conversation()).flatMap((entry) => (entry.role === "user" ? entry.content : []));
    expect(news.filter((words) => words.startsWith("node-2: "))).toEqual([]);
  });

  test("a worker chooses a model of the team for a part; somebody free with it is taken, else hired", async () => {
    const alice = script(
      wrote("a.md", "x"),
      both(made("Part one.", { model: "scripted/strong" }), made("Part two.", { model: "scripted/strong" })),
      published("all").after("node-2 completed", "node-3 completed"),
    );
    await using team = await startTeam({
      goal: "g",
      coordinator: script(
        both(call("spawn_worker", { name: "Alice" }), call("spawn_worker", { name: "Zoe", model: "scripted/strong" })),
        made("All.", { worker: "Alice" }),
        finished.after("node-1 completed"),
      ),
      workers: { Alice: alice, Zoe: script(...works()), Bob: script(...works()) },
    });
    await team.outcome();
    const { nodes } = team.agent.now.board;
    const who = Object.values(nodes).map((node) => ("worker_id" in node ? node.worker_id : null));
    expect(who).toEqual(["alice", "zoe", "bob"]);
    expect(team.agent.now.roster.bob?.spawned).toMatchObject({ model: "scripted/strong", kind: "harnessed" });
  });

  test("a worker has a program of the team do a part; the second part goes to whoever is free of that kind", async () => {
    const play: Play = async (program) => {
      program.emit({ kind: "begun", session_id: "s-1" });
      await writeFile(`${program.setup.cwd}/p.md`, "p");
      await program.use("publish", { summary: "part" });
    };
    const alice = script(
      both(wrote("a.md", "x"), made("Part one.", { program: "scripted" })),
      made("Part two.", { program: "scripted" }).after("node-2 completed"),
      published("all").after("node-3 completed"),
    );
    await using team = await startTeam({
      goal: "g",
      coordinator: script(made("All."), finished.after("node-1 completed")),
      outside: scriptedPrograms(play, play),
      workers: { Alice: alice },
    });
    expect(await team.outcome()).toMatchObject({ kind: "finished" });
    const { board, roster } = team.agent.now;
    const by = Object.values(board.nodes).map((node) => [node.status, "worker_id" in node ? node.worker_id : null]);
    expect(by).toEqual([
      ["completed", "alice"],
      ["completed", "bob"],
      ["completed", "bob"],
    ]);
    expect(roster.bob?.spawned).toMatchObject({ name: "Bob", program: "scripted" });
  });

  test("a worker may not choose what the team does not have, and is told what it may", async () => {
    const alice = script(
      both(
        wrote("a.md", "x"),
        made("Part.", { model: "scripted/dear" }),
        made("Part.", { program: "gold-plated" }),
        made("Part.", { worker: "node-1" }),
        made("Part.", { worker: "Everyone" }),
      ),
      published("alone"),
    );
    await using team = await startTeam({
      goal: "g",
      coordinator: script(made("All."), finished.after("node-1 completed")),
      workers: { Alice: alice },
    });
    await team.outcome();
    expect(await answersTo(team, "create_work_node", "runs/run-1/workers/alice/conversation.jsonl")).toEqual([
      "Not created: you may choose among the models of this team: scripted/worker, scripted/coordinator. For scripted/dear, ask the coordinator (send_message).",
      expect.stringMatching(/^Not created: you may have .*not "gold-plated"\.$/),
      'Not created: There is nobody named "node-1". Choose from: Alice, coordinator. Name one of them or somebody new, e.g. Alice, or leave worker out.',
      "Not created: Everyone would be read as somebody else. Choose another name.",
    ]);
    expect(team.board()).toHaveLength(1);
  });

  test("the coordinator may have anybody hired with a new node, by name or without", async () => {
    await using team = await startTeam({
      goal: "g",
      coordinator: script(
        both(made("One.", { worker: "Vera", model: "scripted/dear" }), made("Two.", { model: "scripted/dear" })),
        made("Three.", { worker: "Vera", model: "scripted/cheap" }).after("node-1 completed", "node-2 completed"),
        finished.after("Not created: Vera thinks with scripted/dear."),
      ),
      workers: { Vera: script(...works()), Alice: script(...works()) },
    });
    await team.outcome();
    expect(await answersTo(team, "create_work_node")).toEqual([
      "Created node-1: Vera has begun.",
      "Created node-2: Alice has begun.",
      "Not created: Vera thinks with scripted/dear. Leave worker out, and somebody is hired with scripted/cheap.",
    ]);
  });

  test("whoever is named and not there is hired under that name, by the coordinator and by a worker", async () => {
    await using team = await startTeam({
      goal: "g",
      coordinator: script(made("All.", { worker: "Dora" }), finished.after("node-1 completed")),
      workers: {
        Dora: script(
          both(wrote("a.md", "x"), made("Part.", { worker: "Émile" })),
          published("all").after("node-2 completed by Émile"),
        ),
        Émile: script(...works()),
      },
    });
    expect(await team.outcome()).toMatchObject({ kind: "finished" });
    expect(await answersTo(team, "create_work_node")).toEqual(["Created node-1: Dora has begun."]);
    const hired = Object.values(team.agent.now.roster).map(({ spawned: { name, model } }) => [name, model]);
    expect(hired.slice(1)).toEqual([
      ["Dora", "scripted/worker"],
      ["Émile", "scripted/worker"],
    ]);
  });

  test("roles get refs, deliverables and not_by as nodes do, and the answer names their nodes", async () => {
    const role = (name: string, more: object = {}) => ({ name, title: "Analyst", prompt: `Work, ${name}.`, ...more });
    const launched = (name: string, ...roles: object[]) => call("launch_roles", { name, roles });
    const bob = script(wrote("b.md", "x"), published("no"), wrote("review.md", "good"), published("ok"));
    await using team = await startTeam({
      goal: "g",
      coordinator: script(
        both(call("write_file", { path: "notes/plan.md", content: "Be brief." }), launched("First", role("Alice"))),
        both(
          launched("Review", role("Alice", { not_by: ["node-1"] })),
          launched("Review", role("Bob", { refs: { work: "node-9/published" } })),
          launched("Review", role("Bob", { deliverables: ["a whole sentence"] })),
          launched(
            "Review",
            role("Bob", {
              refs: { work: "node-1/published", plan: "notes/plan.md" },
              deliverables: ["review.md"],
              not_by: ["node-1"],
            }),
            role("Carol"),
          ),
        ).after("Stage 1 (First) is done."),
        finished.after("Stage 2 (Review) is done."),
      ),
      workers: { Alice: script(...works()), Bob: bob, Carol: script(...works()) },
    });
    expect(await team.outcome()).toMatchObject({ kind: "finished" });
    expect(await answersTo(team, "launch_roles")).toEqual([
      "Stage 1, First: Alice (node-1) has begun. You will be told when they end.",
      expect.stringMatching(/^Not launched: Alice: Alice worked on node-1/),
      expect.stringMatching(/^Not launched: Bob: ref "work" is "node-9\/published"/),
      expect.stringMatching(/^Not launched: Bob: deliverables are file names/),
      "Stage 2, Review: Bob (node-2), Carol (node-3) have begun. You will be told when they end.",
    ]);
    expect(team.board()[1]?.spec).toMatchObject({
      refs: { work: "node-1/published", plan: "node-2/inputs/plan/plan.md" },
      deliverables: ["review.md"],
      not_by: ["node-1"],
    });
    expect(firstWords(bob)).toContain("Be brief.");
  });

  test("not_by of a role may name somebody of the same launch, whose node then never goes to them", async () => {
    const role = (name: string, not_by: string[] = []) => ({ name, title: "Analyst", prompt: "Work.", not_by });
    const launched = (...roles: object[]) => call("launch_roles", { name: "Review", roles });
    await using team = await startTeam({
      goal: "g",
      coordinator: script(
        both(launched(role("Alice"), role("Bob", ["Bob"])), launched(role("Alice"), role("Bob", ["Dave"]))),
        both(
          launched(role("Alice"), role("Bob", ["Alice"])),
          call("assign_worker", { node_id: "node-2", worker_id: "Alice" }),
        ),
        finished.after("Stage 1 (Review) is done."),
      ),
      workers: { Alice: script(...works()), Bob: script(...works()) },
    });
    expect(await team.outcome()).toMatchObject({ kind: "finished" });
    expect(await answersTo(team, "launch_roles")).toEqual([
      expect.stringMatching(/^Not launched: Bob: bob is in not_by/),
      'Not launched: Bob: not_by names nodes or workers, and "Dave" is neither. The board is empty. People: Coordinator, Alice, Bob.',
      "Stage 1, Review: Alice (node-1), Bob (node-2) have begun. You will be told when they end.",
    ]);
    expect(team.board()[1]?.spec.not_by).toEqual(["alice"]);
    expect(await answersTo(team, "assign_worker")).toEqual([expect.stringMatching(/^Alice is in not_by/)]);
  });

  test("roles that are launched in the stage that reconvening announced are that stage", async () => {
    const roles = [{ name: "Bob", title: "Writer", prompt: "Write." }];
    await using team = await startTeam({
      goal: "g",
      config: { max_stages: 2 },
      coordinator: script(
        made("One."),
        both(
          call("reconvene", { assessment: "Good.", next: "Writing" }),
          call("launch_roles", { name: "Draft", roles }),
        ).after("node-1 completed"),
        finished.after("Stage 2 (Draft) is done."),
      ),
      workers: { Alice: script(...works()), Bob: script(...works()) },
    });
    expect(await team.outcome()).toMatchObject({ kind: "finished" });
    expect(team.agent.now.stages.map(({ number, name, nodes }) => [number, name, nodes])).toEqual([
      [1, "Stage 1", ["node-1"]],
      [2, "Draft", ["node-2"]],
    ]);
    expect(await answersTo(team, "launch_roles")).toEqual([
      "Stage 2, Draft: Bob (node-2) has begun. You will be told when they end.",
    ]);
    // What was said when a stage ended is in the plan that everybody reads.
    await team.agent.idle();
    const plan = await readFile(join(team.agent.log.dir, "runs/run-1/_plan.md"), "utf8");
    expect(plan).toContain("## Stages that have ended\n\n- Stage 1: Good.\n");
  });

  test("a review goes to somebody else than the authors, who is hired where nobody else is there", async () => {
    const review = (more: object) => made("Review it.", { refs: { work: "node-1/published" }, ...more });
    await using team = await startTeam({
      goal: "g",
      coordinator: script(
        made("Write it."),
        review({ not_by: ["node-1"] }).after("node-1 completed"),
        both(
          review({ not_by: ["node-1", "Bob"] }),
          review({ not_by: ["node-1"], worker: "Alice" }),
          review({ not_by: ["node-7"] }),
        ).after("node-2 completed"),
        finished.after("node-3 completed"),
      ),
      workers: { Alice: script(...works()), Bob: script(...works()), Carol: script(...works()) },
    });
    await team.outcome();
    expect(await answersTo(team, "create_work_node")).toEqual([
      "Created node-1: Alice has begun.",
      "Created node-2: Bob has begun.",
      "Created node-3: Carol has begun.",
      "Not created: Alice worked on node-1, so it is to be done by somebody else. Name another worker, or nobody.",
      'Not created: not_by names nodes or workers, and "node-7" is neither. Choose from: node-1, node-2, node-3. People: Coordinator, Alice, Bob, Carol.',
    ]);
  });

  test("a person may have the author review it all the same, and the author gets it", async () => {
    await using team = await startTeam({
      goal: "g",
      coordinator: script(
        made("Write it."),
        made("Review it.", { not_by: ["node-1"], hold: true }).after("node-1 completed"),
        finished.after("node-2 completed by Alice"),
      ),
      workers: { Alice: script(...works(), ...works()) },
    });
    await team.until(({ board }) => board.nodes["node-2"] !== undefined);
    expect(await team.agent.assign("node-2", "Alice")).toBe("node-2 is Alice's, who begins at once.");
    await team.outcome();
  });

  test("a message reaches every colleague by the name that the others were told", async () => {
    const names = ["Anna Maria", "Zoë", "Иван", "O'Neil", "Jean-Luc"];
    const alice = script(
      both(wrote("a.md", "x"), ...names.map((to) => call("send_message", { to, content: `Hello, ${to}!` }))),
      published("said"),
    );
    const waits = () =>
      script(call("check_messages", { wait: true }), wrote("a.md", "x").after("Hello, "), published("ok"));
    const roles = [...names, "Alice"].map((name) => ({ name, title: "Analyst", prompt: `You do ${name}'s part.` }));
    await using team = await startTeam({
      goal: "g",
      config: { max_concurrent: 10 },
      coordinator: script(
        call("launch_roles", { name: "Hello", roles }),
        finished.after(...roles.map((_, at) => `node-${at + 1} completed`)),
      ),
      workers: { Alice: alice, ...Object.fromEntries(names.map((name) => [name, waits()])) },
    });
    await team.outcome();
    for (const name of names) expect(alice.requests[0]?.system).toContain(`- ${name} (Analyst): node-`);
  });
});
