import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import type { Fact, FactType } from "../../src/protocol/index.ts";
import { World } from "../../src/repository/testing/world.ts";
import { call, say, script, startTeam, type TestTeam } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";

const ACTOR = { kind: "human", via: "terminal" } as const;
const wrote = (path: string, content: string) => call("write_file", { path, content });
const published = (summary: string) => call("publish", { summary });

async function factsOf<T extends FactType>(team: TestTeam, type: T): Promise<Extract<Fact, { type: T }>[]> {
  return (await team.facts()).filter((fact) => fact.type === type) as Extract<Fact, { type: T }>[];
}

describe.skipIf(skipped)(`what a person does with the work on their repository ${skipped}`, () => {
  test("accept puts the branch into their repository, merge moves theirs; a comment on a line is answered by a new commit; reject takes work out", async () => {
    await using world = await World.open();
    const coordinator = script(
      call("create_work_node", { task: "Say hello in main.js" }),
      call("finish", { summary: "one" }).after("node-1 completed"),
      // The run that answers the comment.
      call("finish", { summary: "two" }).after("node-2 completed"),
      // The run after the work was rejected.
      call("finish", { summary: "three" }).after("I reject the work of node-1"),
    );
    const workers = {
      Alice: script(wrote("src/main.js", "hello();\n"), published("says hello")),
      // A run later nobody of the first is there any more.
      Bob: script(
        call("read_file", { path: "src/main.js" }).after("src/main.js:1", "Say it louder."),
        wrote("src/main.js", "HELLO();\n").after("hello();"),
        published("louder"),
      ),
    };
    await using team = await startTeam({ goal: "Greet", project: world.person, write: true, coordinator, workers });
    await team.agent.idle();
    const { id } = team.agent.log;
    const give = (command: object) =>
      team.runtime.execute({ id, ...command } as never, ACTOR) as Promise<{ detail: string }>;
    const branch = `agiraph/${id}`;

    const accepted = await give({ do: "accept" });
    expect(accepted.detail).toContain(`git merge ${branch}`);
    expect(world.plain("person", "show", `${branch}:src/main.js`)).toBe("hello();");
    expect(world.read("person/src/main.js")).toBe("main();\n");

    const answered = await give({
      do: "comment",
      node_id: "node-1",
      path: "src/main.js",
      line: 1,
      text: "Say it louder.",
    });
    expect(answered.detail).toMatch(/^node-2 answers it/);
    await team.agent.idle();
    const comment = team.agent.now.repository?.nodes["node-1"]?.comments[0];
    expect([comment?.quote, comment?.answered_by]).toEqual([
      "1→hello();",
      team.agent.now.repository?.nodes["node-2"]?.commit?.commit,
    ]);

    const merged = await give({ do: "accept", how: "merge" });
    expect(merged.detail).toContain("is merged into main");
    expect(world.read("person/src/main.js")).toBe("HELLO();\n");

    const first = team.agent.now.repository?.nodes["node-1"]?.commit?.commit ?? "";
    await give({ do: "restore_work", ref: first });
    expect(world.plain("person", "show", `agiraph/restored/${first.slice(0, 12)}:src/main.js`)).toBe("hello();");

    world.write("person/new.txt", "theirs\n");
    world.plain("person", "add", "-A");
    world.plain("person", "commit", "-qm", "theirs");
    expect((await give({ do: "rebase" })).detail).toContain(`${branch} now contains main`);
    expect((await give({ do: "rebase" })).detail).toContain("already");

    await expect(give({ do: "reject", node_id: "node-1", reason: "No." })).rejects.toThrow(
      "later work changed the same lines, in src/main.js",
    );
    const reason =
      "Too loud: nobody who reads this in the morning wants to be shouted at by a program until the last line.";
    const rejected = await give({ do: "reject", node_id: "node-2", reason });
    expect(rejected.detail).toContain("The work of node-2 is no longer in the branch.");
    const { tip = "" } = team.agent.now.repository ?? {};
    const said = ["--git-dir", `${team.agent.log.dir}/repo.git`, "show", "-s", "--format=%B", tip];
    expect(execFileSync("git", said, { encoding: "utf8" }).trim()).toBe(
      `Revert node-2: Too loud: nobody who reads this in the morning wants to be shouted at by a program…\n\n${reason}`,
    );
    await team.agent.idle();
    expect((await factsOf(team, "branch.moved")).map(({ data }) => [data.why, data.node_id])).toEqual([
      ["node", "node-1"],
      ["node", "node-2"],
      ["rebase", undefined],
      ["revert", "node-2"],
    ]);
    for (const type of ["review.commented", "review.rejected", "branch.delivered"] as const)
      for (const fact of await factsOf(team, type)) expect([type, fact.actor]).toEqual([type, ACTOR]);
  });

  test("what was ordered with deliver is in their repository when the run ends; where it cannot be, they are told and the work stays", async () => {
    await using world = await World.open();
    const held = Promise.withResolvers<void>();
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: { deliver: "branch" },
      coordinator: script(
        call("create_work_node", { task: "Say hello" }),
        call("finish", { summary: "one" }).after("node-1 completed"),
        call("create_work_node", { task: "Say bye" }).after("And bye."),
        call("finish", { summary: "two" }).after("node-2 completed").until(held.promise),
      ),
      workers: {
        Alice: script(wrote("src/hello.js", "hello();\n"), published("hello")),
        Bob: script(wrote("src/bye.js", "bye();\n"), published("bye")),
      },
    });
    await team.agent.idle();
    const branch = `agiraph/${team.agent.log.id}`;
    expect(world.plain("person", "show", `${branch}:src/hello.js`)).toBe("hello();");
    expect((await factsOf(team, "branch.delivered")).map(({ data, actor }) => [data.how, actor])).toEqual([
      ["branch", undefined],
    ]);

    await team.agent.send("And bye.");
    await team.until(({ repository }) => repository?.nodes["node-2"]?.state === "merged");
    world.sh(
      "person",
      `git update-ref refs/heads/${branch} HEAD && git checkout -q ${branch} && git commit -qm own --allow-empty`,
    );
    held.resolve();
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "two" });
    const told = Object.values(team.agent.now.letters.queued).filter(({ reader }) => reader === "human");
    expect(told.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^The branch agiraph\/\S+ could not be put into your repository\. [\s\S]*agiraph accept /),
    ]);
    expect(team.agent.now.repository?.nodes["node-2"]?.state).toBe("merged");
  });

  test("a comment on work that goes on as a node which nobody has begun is added to its task", async () => {
    await using world = await World.open();
    const held = Promise.withResolvers<void>();
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      config: { max_concurrent: 1 },
      coordinator: script(
        call("create_work_node", { task: "Say hello", worker: "Alice" }),
        call("create_work_node", { task: "Something else", worker: "Bob" }).after("node-1 completed"),
        call("finish", { summary: "all" }).after("node-2 completed", "node-3 completed"),
      ),
      workers: {
        Alice: script(
          wrote("src/hello.js", "hello();\n"),
          published("hello"),
          wrote("src/hello.js", "HELLO();\n").after("Say it louder.", "Use no semicolons."),
          published("louder"),
        ),
        Bob: script(wrote("src/else.js", "else\n").until(held.promise), published("else")),
      },
    });
    await team.until(({ board }) => board.nodes["node-2"]?.status === "running");
    const { id } = team.agent.log;
    const comment = (text: string) =>
      team.runtime.execute(
        { id, do: "comment", node_id: "node-1", path: "src/hello.js", line: 1, text } as never,
        ACTOR,
      ) as Promise<{ detail: string }>;
    expect((await comment("Say it louder.")).detail).toMatch(/^node-3 answers it, on the work of node-1/);
    expect((await comment("Use no semicolons.")).detail).toBe("node-3 answers it: the comment is in its task.");
    held.resolve();
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "all" });
    const { comments } = team.agent.now.repository?.nodes["node-1"] ?? {};
    const commit = team.agent.now.repository?.nodes["node-3"]?.commit?.commit;
    expect(comments?.map(({ text, answered_by }) => [text, answered_by])).toEqual([
      ["Say it louder.", commit],
      ["Use no semicolons.", commit],
    ]);
  });

  test("two comments that come at once are answered by one node, which has both", async () => {
    await using world = await World.open();
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        call("create_work_node", { task: "Say hello" }),
        call("finish", { summary: "one" }).after("node-1 completed"),
        call("finish", { summary: "two" }).after("node-2 completed"),
      ),
      workers: {
        Alice: script(wrote("src/hello.js", "hello();\n"), published("hello")),
        Bob: script(
          wrote("src/hello.js", "HELLO();\n").after("Say it louder.", "Use no semicolons."),
          published("louder"),
        ),
      },
    });
    await team.agent.idle();
    const { id } = team.agent.log;
    const comment = { id, do: "comment", node_id: "node-1", path: "src/hello.js", line: 1 };
    await Promise.all(
      ["Say it louder.", "Use no semicolons."].map((text) =>
        team.runtime.execute({ ...comment, text } as never, ACTOR),
      ),
    );
    await team.agent.idle();
    expect(Object.keys(team.agent.now.board.nodes)).toEqual(["node-1", "node-2"]);
  });

  test("an agent that only reads has nothing to accept, and says how to have one that writes", async () => {
    await using team = await startTeam({
      goal: "Read",
      coordinator: script(say("…"), call("finish", { summary: "read" })),
    });
    const { id } = team.agent.log;
    for (const command of [
      { do: "accept" },
      { do: "rebase" },
      { do: "restore_work", ref: "x" },
      { do: "reject", node_id: "node-1", reason: "x" },
      { do: "comment", node_id: "node-1", path: "a", line: 1, text: "x" },
    ])
      await expect(team.runtime.execute({ id, ...command } as never, ACTOR)).rejects.toThrow('agiraph run "…" --write');
  });

  test("config.json makes writing the default for a folder, and an order can say no to it", async () => {
    await using world = await World.open();
    const config = { projects: { [world.person]: { write: true } } };
    for (const [write, expected] of [
      [undefined, {}],
      [false, undefined],
    ] as const) {
      const coordinator = script(call("finish", { summary: "read" }));
      const plan = { goal: "Read", project: world.person, coordinator, config, ...(write === false && { write }) };
      await using team = await startTeam(plan);
      await team.outcome();
      expect(team.agent.now.agent.created.write).toEqual(expected);
      expect(team.agent.now.repository === undefined).toBe(expected === undefined);
    }
  });
});
