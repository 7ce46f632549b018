import { describe, expect, test } from "vitest";
import { World } from "../../src/repository/testing/world.ts";
import { call, script, startTeam, type TestTeam } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";

const ACTOR = { kind: "human", via: "terminal" } as const;
const made = (task: string, worker: string, more: object = {}) => call("create_work_node", { task, worker, ...more });
const wrote = (path: string, content: string) => call("write_file", { path, content });
const published = (summary: string) => call("publish", { summary });
const finished = call("finish", { summary: "done" });

/** The project has these checks. */
function checksAre(world: World, ...checks: string[]): void {
  world.write("person/.agiraph/project.json", JSON.stringify({ checks }));
  world.plain("person", "add", "-A");
  world.plain("person", "commit", "-qm", "checks");
}

const give = (team: TestTeam, command: object) =>
  team.runtime.execute({ id: team.agent.log.id, ...command } as never, ACTOR) as Promise<{ detail: string }>;

describe.skipIf(skipped)(`how the checks of a branch ended ${skipped}`, () => {
  test("what a check printed is kept, also where it passed", async () => {
    await using world = await World.open();
    checksAre(world, "echo 12 passed");
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(made("Hello", "Alice"), finished.after("node-1 completed")),
      workers: { Alice: script(wrote("src/main.js", "hello();\n"), published("hello")) },
    });
    await team.outcome();
    expect(team.agent.now.repository?.nodes["node-1"]?.checks["echo 12 passed"]?.output).toBe("12 passed");
  });

  test("the checks of what a revert and a rebase lead to are on record, as those of the branch", async () => {
    await using world = await World.open();
    checksAre(world, "echo fine", "exit 1");
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(made("Hello", "Alice"), finished.after("node-1 completed"), finished.after("I reject")),
      workers: { Alice: script(wrote("src/hello.js", "hello();\n"), published("hello")) },
    });
    await team.agent.idle();
    const ofBranch = async () => {
      const { checks, tip } = await team.runtime.repositoryReader(team.agent.now, team.agent.log.dir).view();
      return checks.map(({ commit, ms: _, ...check }) => ({ ...check, isTip: commit === tip }));
    };
    const expected = [
      { command: "echo fine", ok: true, output: "fine", isTip: true },
      { command: "exit 1", ok: false, red_before: true, isTip: true },
    ];
    expect(await ofBranch()).toEqual(expected);

    world.write("person/src/theirs.js", "theirs();\n");
    world.plain("person", "add", "-A");
    world.plain("person", "commit", "-qm", "theirs");
    await give(team, { do: "rebase" });
    expect(await ofBranch()).toEqual(expected);

    await give(team, { do: "reject", node_id: "node-1", reason: "No." });
    expect(await ofBranch()).toEqual(expected);
    await team.agent.idle();
    const moves = (await team.facts()).flatMap((fact) => (fact.type === "branch.moved" ? [fact.data] : []));
    expect(moves.map(({ why, checks }) => [why, checks?.length])).toEqual([
      ["node", undefined],
      ["rebase", 2],
      ["revert", 2],
    ]);
  });
});
