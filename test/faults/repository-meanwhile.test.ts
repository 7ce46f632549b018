import { renameSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { World } from "../../src/repository/testing/world.ts";
import { call, script, startTeam, type TestTeam } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";

/**
 * While a team is at work the person rebases, force-pushes, deletes the delivered branch, prunes, begins their history
 * anew, and moves the repository. The team does not notice; what it means is said, and the work comes whole.
 */
const ACTOR = { kind: "human", via: "terminal" } as const;

function commander({ agent, runtime }: TestTeam) {
  return (command: object) =>
    runtime.execute({ id: agent.log.id, ...command } as never, ACTOR) as Promise<{ detail: string }>;
}

test.skipIf(skipped)(
  `what the person does to their repository meanwhile is said, and nothing of the work is lost ${skipped}`,
  async () => {
    await using world = await World.open();
    world.init(join(world.path, "remote.git"), "--bare");
    world.plain("person", "remote", "add", "origin", join(world.path, "remote.git"));
    world.plain("person", "push", "-q", "origin", "main");
    const held = Promise.withResolvers<void>();
    const edit = (file: string) => call("bash", { command: `echo '${file}' > ${file}.txt; echo over` });
    await using team = await startTeam({
      goal: "Write",
      project: world.person,
      write: true,
      coordinator: script(
        call("create_work_node", { task: "First", worker: "Alice" }),
        call("create_work_node", { task: "Second", worker: "Bob" }).after("node-1 completed"),
        call("finish", { summary: "done" }).after("node-2 completed"),
        call("finish", { summary: "seen" }).after("Take my new commits into"),
      ),
      workers: {
        Alice: script(edit("first"), call("publish", { summary: "first" }).after("over")),
        Bob: script(edit("second"), call("publish", { summary: "second" }).until(held.promise)),
      },
    });
    const give = commander(team);
    await team.until(({ repository }) => repository?.nodes["node-2"] !== undefined);
    const { branch = "", base = "" } = team.agent.now.repository ?? {};
    await give({ do: "accept" });

    // Their last commit is another one, here and there, and nothing of the old one is left; nor of our branch.
    world.write("person/src/other.js", "otherwise();\n");
    world.plain("person", "commit", "-qa", "--amend", "-m", "second, otherwise");
    world.plain("person", "push", "-qf", "origin", "main");
    world.plain("person", "branch", "-D", branch);
    prune(world, "person");
    expect(() => world.plain("person", "cat-file", "-e", base)).toThrow();
    held.resolve();

    await team.agent.idle();
    expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "done" });
    await give({ do: "accept" });
    expect(world.plain("person", "log", "--format=%s", "--first-parent", branch).split("\n")).toEqual(
      expect.arrayContaining(["second", "first"]),
    );
    expect(filesOf(world, "person", branch)).toEqual([
      "first.txt",
      "readme.md",
      "second.txt",
      "src/main.js",
      "src/other.js",
    ]);
    // Both sides added src/other.js since the commit that they have in common.
    world.plain("person", "fsck", "--full", "--strict");
    const rebased = await give({ do: "rebase" });
    expect(rebased.detail).toContain("main cannot be merged as it is: both changed src/other.js");
    await team.agent.idle();

    world.plain("person", "checkout", "-q", "--orphan", "anew");
    world.plain("person", "commit", "-qm", "all anew");
    world.plain("person", "branch", "-M", "anew", "main");
    world.plain("person", "branch", "-D", branch);
    prune(world, "person");
    await expect(give({ do: "rebase" })).rejects.toThrow(`main has no commit in common with ${branch}`);
    await give({ do: "accept" });
    expect(filesOf(world, "person", branch)).toEqual([
      "first.txt",
      "readme.md",
      "second.txt",
      "src/main.js",
      "src/other.js",
    ]);

    renameSync(world.person, join(world.path, "moved"));
    for (const command of [{ do: "accept" }, { do: "rebase" }, { do: "restore_work", ref: base }])
      await expect(give(command)).rejects.toThrow(`${world.person} does not exist. If it was moved, name the folder`);
    expect(world.has("person")).toBe(false);
    world.plain("moved", "branch", "-D", branch);
    await give({ do: "accept", into: join(world.path, "moved") });
    expect(filesOf(world, "moved", branch)).toContain("second.txt");
    await give({ do: "restore_work", ref: base, into: join(world.path, "moved") });
    expect(world.plain("moved", "show", `agiraph/restored/${base.slice(0, 12)}:src/other.js`)).toBe("other();");
    world.plain("moved", "fsck", "--full", "--strict");
  },
  120_000,
);

function prune(world: World, folder: string): void {
  world.plain(folder, "reflog", "expire", "--expire=now", "--all");
  world.plain(folder, "gc", "-q", "--prune=now");
}

function filesOf(world: World, folder: string, branch: string): string[] {
  return world.plain(folder, "ls-tree", "-r", "--name-only", branch).split("\n");
}
