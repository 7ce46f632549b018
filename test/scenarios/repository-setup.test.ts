import { describe, expect, test } from "vitest";
import type { Fact, FactType } from "../../src/protocol/index.ts";
import { World } from "../../src/repository/testing/world.ts";
import { both, call, script, startTeam, type TestTeam } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";

const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });
const ran = (command: string) => call("bash", { command });
const published = (summary: string) => call("publish", { summary });

async function factsOf<T extends FactType>(team: TestTeam, type: T) {
  return (await team.facts()).filter((fact) => fact.type === type) as Extract<Fact, { type: T }>[];
}

/** With what the project says of itself, committed. */
async function worldWith(project: object, files: Record<string, string> = {}): Promise<World> {
  const world = await World.open();
  const all = { ".agiraph/project.json": JSON.stringify(project), ...files };
  for (const [path, content] of Object.entries(all)) world.write(`person/${path}`, content);
  world.plain("person", "add", "-A");
  world.plain("person", "commit", "-qm", "how to work here");
  return world;
}

describe.skipIf(skipped)(`a clone is made ready ${skipped}`, () => {
  test("setup runs again only when what it depends on changed; ignored files that .worktreeinclude names are there as they are now, and in no commit", async () => {
    await using world = await worldWith(
      {
        setup: "mkdir -p deps && cp package-lock.json deps/lock",
        checks: ["cmp package-lock.json deps/lock && test -s .env"],
      },
      {
        ".gitignore": "deps/\n.env\nbuild/\n",
        ".worktreeinclude": ".env\n*.md\n",
        "package-lock.json": "one\n",
      },
    );
    world.write("person/.env", "KEY=1\n");
    world.write("person/build/out.js", "built\n");
    const look = ran("cat deps/lock .env; ls; git status --short");
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        made("one"),
        made("two").after("node-1 completed"),
        made("three").after("node-2 completed"),
        call("finish", { summary: "done" }).after("node-3 completed"),
      ),
      workers: {
        Alice: script(
          look,
          // The person changes theirs meanwhile; the next clone has it.
          ran("echo changed > src/main.js && git add -A && echo done").after("one\nKEY=1\ndeps\n"),
          published("one").after("done"),
          look,
          ran("echo two > package-lock.json").after("one\nKEY=2\n"),
          ran("cp package-lock.json deps/lock; echo copied"),
          published("two").after("copied"),
          look,
          ran('echo seen > "$SCRATCH/seen.md" && echo noted').after("two\nKEY=2\n"),
          published("three").after("noted"),
        ),
      },
    });
    await team.until(({ repository }) => repository?.nodes["node-1"]?.state === "working");
    world.write("person/.env", "KEY=2\n");

    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

    const setups = (await factsOf(team, "setup.finished")).map(({ data }) => [data.node_id, data.ok, data.cached]);
    expect(setups).toEqual([
      ["node-1", true, false],
      ["node-2", true, true],
      // The check of node-2's work has made what the new lock file needs.
      ["node-3", true, true],
    ]);
    const cloned = await factsOf(team, "node.cloned");
    expect(cloned.map(({ data }) => data.included)).toEqual(Array(3).fill({ files: 1, left: [] }));
    const { tip = "", branch = "" } = team.agent.now.repository ?? {};
    const bare = `${team.agent.log.dir}/repo.git`;
    const files = world.plain(".", "--git-dir", bare, "ls-tree", "-r", "--name-only", tip).split("\n");
    expect([files.includes(".env"), files.includes("package-lock.json"), branch]).toEqual([
      false,
      true,
      expect.any(String),
    ]);
  });

  test("a setup that fails stops its node, with what it printed", async () => {
    await using world = await worldWith({ setup: "echo no such package: left-pad; exit 3" });
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        made("one"),
        call("finish", { summary: "no" }).after("node-1 failed", "no such package: left-pad"),
      ),
      workers: { Alice: script() },
    });

    expect(await team.outcome()).toEqual({ kind: "finished", summary: "no" });

    expect((await factsOf(team, "setup.finished"))[0]?.data).toMatchObject({
      ok: false,
      output: expect.stringContaining("no such package: left-pad"),
    });
  });

  test("a red check of the project keeps work out, unless the coordinator allows it for the node; one that was red before keeps nobody out", async () => {
    await using world = await worldWith({ checks: ["test ! -e broken", "test -e never"] });
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        both(made("breaks it"), made("may break it", { allow_red: true })),
        call("finish", { summary: "done" }).after("node-1 completed", "node-2 completed", "It is in the branch"),
      ),
      workers: {
        Alice: script(
          ran("touch broken && echo made"),
          published("broken").after("made"),
          ran("rm broken && echo 'x();' > src/x.js && echo mended").after("`test ! -e broken` did not pass"),
          published("mended").after("mended"),
        ),
        Bob: script(ran("touch broken-too && echo 'y();' > src/y.js && echo made"), published("made").after("made")),
      },
    });

    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

    const checks = (await factsOf(team, "check.finished")).map(({ data }) => [
      data.node_id,
      data.command,
      data.ok,
      data.red_before ?? false,
    ]);
    expect(checks).toContainEqual(["node-1", "test ! -e broken", false, false]);
    expect(checks).toContainEqual(["node-1", "test -e never", false, true]);
    expect(team.agent.now.board.nodes["node-2"]?.spec.allow_red).toBe(true);
  });
});
