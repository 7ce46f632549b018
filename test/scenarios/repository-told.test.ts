import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { World } from "../../src/repository/testing/world.ts";
import { call, script, startTeam } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";

/* What those who work on a repository are told of it. */

const ACTOR = { kind: "human", via: "terminal" } as const;

async function checkedWorld(): Promise<World> {
  const world = await World.open();
  world.write("person/.agiraph/project.json", JSON.stringify({ checks: ["test -e readme.md"] }));
  world.write("person/memory.md", "the project's own\n");
  world.plain("person", "add", "-A");
  world.plain("person", "commit", "-qm", "checks");
  return world;
}

const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });
const published = (summary: string) => call("publish", { summary });

describe.skipIf(skipped)(`words about a repository ${skipped}`, () => {
  test("a worker is told what the repository holds, where its checks and deliverables are, and the project's checks", async () => {
    await using world = await checkedWorld();
    const alice = script(call("write_file", { path: "src/main.js", content: "hello();\n" }), published("hello"));
    const coordinator = script(
      made("Hello", { deliverables: ["src/main.js"], checks: ["grep -q hello src/main.js"] }),
      call("finish", { summary: "done" }).after("its 2 checks passed on it"),
    );
    await using team = await startTeam({
      ...{ goal: "Greet", project: world.person, write: true, coordinator, workers: { Alice: alice } },
    });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

    const { system = "", history = [] } = alice.requests[0] ?? {};
    expect(system).toContain("\nThe repository holds: .agiraph/ (1), memory.md, readme.md, src/ (2).\n");
    expect(system).toContain("publish also runs the project's own checks there: `test -e readme.md`.");
    expect(history[0]?.role === "user" && history[0].content).toBe(
      "Hello\n\n## Deliverables (in the repository; in scratch/ what is no part of it)\n\n- src/main.js\n\n## Checks (publish runs them at the top of the merged repository; all must pass)\n\n- `grep -q hello src/main.js`",
    );
  });

  test("the repository's AGENTS.md is before the coordinator and before each worker, as their clone has it", async () => {
    await using world = await checkedWorld();
    world.write("person/AGENTS.md", "Use tabs.\n");
    world.plain("person", "add", "-A");
    world.plain("person", "commit", "-qm", "how to work here");
    const alice = script(call("write_file", { path: "AGENTS.md", content: "Use two spaces.\n" }), published("spaces"));
    const bob = script(call("write_file", { path: "looked.txt", content: "yes\n" }), published("looked"));
    const coordinator = script(
      made("Other rules", { worker: "Alice" }),
      made("Look", { worker: "Bob" }).after("node-1 completed"),
      call("finish", { summary: "done" }).after("node-2 completed"),
    );
    await using team = await startTeam({
      ...{ goal: "Rules", project: world.person, write: true, coordinator, workers: { Alice: alice, Bob: bob } },
    });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

    const firstWords = [coordinator, alice, bob].map(({ requests: [first] }) => JSON.stringify(first));
    expect(firstWords.map((words) => /Use (?:tabs|two spaces)\./.exec(words)?.[0])).toEqual([
      "Use tabs.",
      "Use tabs.",
      "Use two spaces.",
    ]);
  });

  test("who answers a comment is told the agent's goal, and the coordinator is asked once, when it is answered", async () => {
    await using world = await checkedWorld();
    const bob = script(
      call("bash", { command: "echo 'hi();' > src/main.js && echo over" }),
      published("says hi").after("over"),
    );
    const coordinator = script(
      made("Hello"),
      call("finish", { summary: "done" }).after("node-1 completed"),
      call("finish", { summary: "answered" }),
    );
    await using team = await startTeam({
      goal: "Greet everybody",
      project: world.person,
      write: true,
      coordinator,
      workers: {
        Alice: script(call("write_file", { path: "src/main.js", content: "hello();\n" }), published("hello")),
        Bob: bob,
      },
    });
    await team.agent.idle();
    const { id } = team.agent.log;
    const asked = coordinator.requests.length;

    const comment = {
      do: "comment",
      id,
      node_id: "node-1",
      path: "src/main.js",
      line: 1,
      side: "new",
      text: "Shorter.",
    };
    await team.runtime.execute(comment as never, ACTOR);
    await team.agent.idle();

    expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "answered" });
    const more = coordinator.requests.slice(asked);
    expect(more.length).toBe(1);
    const words = (more[0]?.history ?? []).flatMap((entry) => (entry.role === "user" ? [entry.content] : []));
    expect(words.slice(-2)[0]).toBe(
      "Answer your human's comments on node-1: node-2 on the board does so. When it has ended, see that nothing else must change with it, and finish.",
    );
    expect(words.at(-1)).toMatch(/^node-2 completed by Bob: says hi\n/);
    expect(words.at(-1)).toMatch(
      /\nIt was to answer what your human wrote beside the work of node-1:\n- src\/main\.js:1 \(hello\(\);\): Shorter\.\nStage 1/,
    );
    expect(words.join("\n")).not.toContain("interrupted");
    expect(bob.requests[0]?.system).toContain("The goal of the run: Greet everybody\n");
  });

  test("named tools: who writes can always hand out work, and no prompt names what is not there", async () => {
    await using world = await checkedWorld();
    const alice = script(
      call("bash", { command: "echo 'hi();' > src/main.js && echo over" }),
      published("says hi").after("over"),
    );
    const coordinator = script(made("Hello"), call("finish", { summary: "done" }).after("node-1 completed"));
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      tools: ["read_file", "bash", "memory_write", "memory_search", "list_triggers", "checkpoint"],
      coordinator,
      workers: { Alice: alice },
    });
    expect(await team.outcome()).toMatchObject({ kind: "finished" });

    const offered = ({ requests }: typeof alice) => requests[0]?.tools.map(({ name }) => name) ?? [];
    expect(offered(coordinator)).toEqual([
      ...["read_file", "bash", "bash_output", "memory_write", "memory_search"],
      ...["create_work_node", "check_messages", "finish", "list_triggers"],
    ]);
    expect(offered(alice)).toEqual(["read_file", "bash", "bash_output", "checkpoint", "give_up", "publish"]);
    expect(coordinator.requests[0]?.system).toContain("Hand out what can stand alone (create_work_node).");
    expect(coordinator.requests[0]?.system).not.toMatch(/launch_roles|reconvene/);
    expect(alice.requests[0]?.system).not.toContain("create_work_node");
  });

  test("a person who rejects what later work builds on is told how to have it undone", async () => {
    await using world = await checkedWorld();
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        made("Hello", { worker: "Alice" }),
        made("Hi", { worker: "Bob" }).after("node-1 completed"),
        call("finish", { summary: "done" }).after("node-2 completed"),
      ),
      workers: {
        Alice: script(call("write_file", { path: "src/main.js", content: "hello();\n" }), published("hello")),
        Bob: script(call("bash", { command: "echo 'hi();' > src/main.js; echo over" }), published("hi").after("over")),
      },
    });
    await team.agent.idle();
    const { log, now } = team.agent;
    const order = { do: "reject", id: log.id, node_id: "node-1", reason: "not wanted" };

    await expect(team.runtime.execute(order as never, ACTOR)).rejects.toThrow(
      `Have it undone by a node of its own: agiraph send ${now.agent.created.name} "Undo the work of node-1: …"`,
    );

    const at = ["--git-dir", `${log.dir}/repo.git`, "show", `${now.repository?.tip}:src/main.js`];
    expect(execFileSync("git", at, { encoding: "utf8" })).toBe("hi();\n");
  });
});
