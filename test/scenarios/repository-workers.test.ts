import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { World } from "../../src/repository/testing/world.ts";
import { call, script, startTeam, type TestTeam } from "../../src/testing/index.ts";
import { MeshHouse } from "../mesh/house.ts";
import { skipped } from "../try-sandbox.ts";

/* Whoever has a node works in a clone of its own, whatever kind of worker it is. */

const repo = ({ agent }: TestTeam) => join(agent.log.dir, "repo.git");

/** What the branch has beside the person's files. */
function changed(world: World, team: TestTeam): string[] {
  const { base = "", tip = "" } = team.agent.now.repository ?? {};
  return world.plain(".", "--git-dir", repo(team), "diff", "--name-status", base, tip).split("\n");
}

describe.skipIf(skipped)(`kinds of workers in a repository ${skipped}`, () => {
  test("any program: it begins in its clone, with git, and the files it speaks by are in no commit", async () => {
    await using world = await World.open();
    const command = `grep -q 'Say hello' _task.md && git log --oneline | wc -l > commits.txt && test -z "$(git status --short | grep _task)" &&
      printf 'TO: coordinator\\nI begin.\\n---\\n' >> _outbox.md; echo 'hello();' > src/main.js; echo 'It says hello.'`;
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      env: { PATH: process.env.PATH },
      config: { programs: { plain: { kind: "autonomous", command: ["bash", "-c", command] } } },
      coordinator: script(
        call("spawn_worker", { name: "Paul", type: "autonomous", program: "plain" }),
        call("create_work_node", { task: "Say hello in main.js", deliverables: ["src/main.js"], worker: "Paul" }),
        call("finish", { summary: "done" }).after("I begin.", "node-1 completed"),
      ),
    });

    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

    expect(changed(world, team)).toEqual(["A\tcommits.txt", "M\tsrc/main.js"]);
    const folder = join(team.agent.log.dir, "runs/run-1/nodes/node-1/published");
    expect(readFileSync(join(folder, "stdout.txt"), "utf8")).toBe("It says hello.\n");
  });

  test("a person: they are told where their clone is, and what they change there is committed", async () => {
    await using world = await World.open();
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        call("create_work_node", { task: "Say hello in main.js", worker: "human" }),
        call("finish", { summary: "done" }).after("node-1 completed"),
      ),
    });
    await team.until(({ questions }) => Object.keys(questions.open).length > 0);
    const [question] = Object.values(team.agent.now.questions.open);
    const [, clone = ""] = /Change the repository in (\S+):/.exec(question?.text ?? "") ?? [];
    writeFileSync(join(clone, "src/main.js"), "hello();\n");
    await team.agent.respond("done", question?.id);

    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

    expect(changed(world, team)).toEqual(["M\tsrc/main.js"]);
  });

  test("a person to whom finished work is given again has a clone before they are told where", async () => {
    await using world = await World.open();
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        call("create_work_node", { task: "Say hello in main.js" }),
        call("finish", { summary: "one" }).after("node-1 failed"),
        call("finish", { summary: "two" }).after("node-2 completed"),
      ),
      workers: { Alice: script(call("give_up", { reason: "I cannot." })) },
    });
    await team.agent.idle();
    const said = await team.agent.assign("node-1", "human");
    const [, clone = ""] = /Change the files in its clone, (\S+), then/.exec(said) ?? [];
    expect(readFileSync(join(clone, "src/main.js"), "utf8")).toBe("main();\n");
    writeFileSync(join(clone, "src/main.js"), "hello();\n");
    await team.agent.publish("node-2", "It says hello.");

    expect(await team.outcome()).toEqual({ kind: "finished", summary: "two" });

    expect(changed(world, team)).toEqual(["M\tsrc/main.js"]);
  });

  test("a mesh: its agents work in the clone of the node, whatever they are, and what they changed is committed together", async () => {
    const writer = script(
      call("read_file", { path: "src/main.js" }),
      call("write_file", { path: "project/src/main.js", content: "hello();\n" }).after("main();"),
      call("write_file", { path: "output/notes.md", content: "I said hello.\n" }),
      call("bash", { command: "pwd && git status --short && ls $SCRATCH" }),
      call("tx_done", { summary: "It says hello." }).after("/repo", " M src/main.js", "notes.md"),
    );
    const coordinator = script(
      call("spawn_worker", { name: "Clara", program: "mesh/pair" }),
      call("create_work_node", { task: "Say hello in main.js", deliverables: ["src/main.js"], worker: "Clara" }),
      call("finish", { summary: "done" }).after("node-1 completed", "It is in the branch"),
    );
    await using house = await new MeshHouse({
      meshes: [{ mesh: "pair", type: "persistent", agents: ["x/writer", "x/critic"], workflow: ["writer", "critic"] }],
      agents: {
        writer: { options: { model: "scripted/writer" } },
        critic: { options: { program: "mine", runs: "headless" } },
      },
      config: {
        programs: {
          mine: {
            kind: "autonomous",
            command: [
              "sh",
              "-c",
              'cd "$TX_REPO" && grep -q hello src/main.js && git diff --stat > review.txt; echo Good.',
            ],
          },
        },
      },
      minds: { "scripted/writer": writer, "scripted/coordinator": coordinator },
    }).open();
    const git = (...args: string[]) => execFileSync("git", args, { cwd: house.project, encoding: "utf8" }).trim();
    mkdirSync(join(house.project, "src"));
    writeFileSync(join(house.project, "src/main.js"), "main();\n");
    git("init", "-q", "-b", "main");
    git("config", "user.name", "Pat");
    git("config", "user.email", "pat@example.com");
    git("add", "-A");
    git("commit", "-qm", "Begin");
    await house.trust();

    const agent = await house.runtime.create({
      ...{ goal: "g", model: "scripted/coordinator", project: house.project, write: {} },
    });
    await agent.idle();

    expect(agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", summary: "Good." });
    const { base = "", tip = "" } = agent.now.repository ?? {};
    const bare = join(agent.log.dir, "repo.git");
    expect(git("--git-dir", bare, "diff", "--name-status", base, tip).split("\n")).toEqual([
      "A\treview.txt",
      "M\tsrc/main.js",
    ]);
    expect(readFileSync(join(agent.log.dir, "runs/run-1/nodes/node-1/published/notes.md"), "utf8")).toBe(
      "I said hello.\n",
    );
    expect(readFileSync(join(house.project, "src/main.js"), "utf8")).toBe("main();\n");
  });
});
