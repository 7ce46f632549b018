import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { World } from "../../src/repository/testing/world.ts";
import { cloneDir, transitDir } from "../../src/store/paths.ts";
import { call, script, startTeam, type TestTeam } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";

const ACTOR = { kind: "human", via: "terminal" } as const;
const wrote = (path: string, content: string) => call("write_file", { path, content });
const published = (summary: string) => call("publish", { summary });

/** The first check does not pass when the team begins. */
const CHECKS = [
  "test ! -e broken",
  "! grep -q wrong src/main.js",
  "grep -q main src/main.js || test -e src/other.js || test -e src/third.js",
];

async function checkedWorld(): Promise<World> {
  const world = await World.open();
  world.write("person/.agiraph/project.json", JSON.stringify({ checks: CHECKS }));
  world.write("person/broken", "red before\n");
  world.plain("person", "add", "-A");
  world.plain("person", "commit", "-qm", "checks");
  return world;
}

function inAgent(team: TestTeam, ...args: string[]): string {
  return execFileSync("git", ["--git-dir", `${team.agent.log.dir}/repo.git`, ...args], { encoding: "utf8" }).trim();
}

function commander(team: TestTeam) {
  const { id } = team.agent.log;
  return (command: object) => team.runtime.execute({ id, ...command } as never, ACTOR) as Promise<{ detail: string }>;
}

async function checksOf(team: TestTeam) {
  const facts = (await team.facts()).filter(({ type }) => type === "check.finished");
  return facts.map(({ data }) => data as { command: string; ok: boolean; red_before?: true });
}

describe.skipIf(skipped)(`what comes into the branch ${skipped}`, () => {
  test("a check that is red already does not hide another that the work makes red (BRANCH-2)", async () => {
    await using world = await checkedWorld();
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        call("create_work_node", { task: "Hello" }),
        call("finish", { summary: "done" }).after("node-1 completed"),
      ),
      workers: {
        Alice: script(
          wrote("src/main.js", "main(wrong);\n"),
          published("wrong"),
          wrote("src/main.js", "main(right);\n").after("Not published", "`! grep -q wrong src/main.js` did not pass"),
          published("right"),
        ),
      },
    });

    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

    const { branch, tip } = team.agent.now.repository ?? { branch: "", tip: "" };
    expect(inAgent(team, "show", `${branch}:src/main.js`)).toBe("main(right);");
    const checks = (await checksOf(team)).map(({ command, ok, red_before }) => [command, ok, red_before]);
    expect(checks).toEqual([
      [CHECKS[0], false, true],
      [CHECKS[1], false, undefined],
      [CHECKS[0], false, true],
      [CHECKS[1], true, undefined],
      [CHECKS[2], true, undefined],
    ]);
    expect(inAgent(team, "rev-parse", branch)).toBe(tip);
  });

  test("a person's new commits are taken in only if all checks pass with them that pass without the team's work", async () => {
    await using world = await checkedWorld();
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        call("create_work_node", { task: "Hello" }),
        call("finish", { summary: "done" }).after("node-1 completed"),
        call("finish", { summary: "seen" }).after("the checks do not pass with them"),
      ),
      // Without the word main; another check asks for src/other.js then.
      workers: { Alice: script(wrote("src/main.js", "greet();\n"), published("greets")) },
    });
    await team.agent.idle();
    const { tip } = team.agent.now.repository ?? {};
    world.plain("person", "rm", "-q", "src/other.js");
    world.plain("person", "commit", "-qm", "without other.js");

    const said = await commander(team)({ do: "rebase" });

    expect(said.detail).toContain("main cannot be merged as it is: the checks do not pass with it");
    expect(team.agent.now.repository?.tip).toBe(tip);
    await team.agent.idle();
  });

  test("work that other work builds on is not taken out: the checks would fail without it", async () => {
    await using world = await checkedWorld();
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        call("create_work_node", { task: "Add a third", worker: "Alice" }),
        call("create_work_node", { task: "Build on it", worker: "Bob" }).after("node-1 completed"),
        call("revert_node", { node_id: "node-1", reason: "not wanted" }).after("node-2 completed"),
        call("finish", { summary: "done" }).after(
          "node-1 cannot be taken out by itself: without it the check `grep -q main",
        ),
      ),
      workers: {
        Alice: script(wrote("src/third.js", "third();\n"), published("third")),
        Bob: script(
          call("bash", { command: "printf 'third();\\n' > src/main.js; git rm -q src/other.js; echo over" }),
          published("built on it").after("over"),
        ),
      },
    });

    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

    const { nodes, tip } = team.agent.now.repository ?? {};
    expect(nodes?.["node-1"]?.state).toBe("merged");
    expect(inAgent(team, "ls-tree", "--name-only", `${tip}:src`).split("\n")).toEqual(["main.js", "third.js"]);
  });

  test("what cannot be saved when its node ends stays, and the human is told; the next start saves it (TEAM-REPOSITORY-4)", async () => {
    await using world = await World.open();
    world.write("person/.agiraph/project.json", JSON.stringify({ limits: { file_mb: 1 } }));
    world.plain("person", "add", "-A");
    world.plain("person", "commit", "-qm", "limits");
    const plan = {
      goal: "Greet",
      project: world.person,
      write: true as const,
      coordinator: script(
        call("create_work_node", { task: "Hello" }),
        call("finish", { summary: "given up" }).after("node-1 failed"),
        call("finish", { summary: "seen" }),
      ),
      workers: {
        Alice: script(
          call("bash", {
            command: "head -c 2000000 /dev/urandom > large; git add large; git commit -qm large; echo over",
          }),
          call("give_up", { reason: "too hard" }).after("over"),
        ),
      },
      config: {},
    };
    await using first = await startTeam(plan);
    await first.agent.idle();
    const { dir, id } = first.agent.log;
    const clone = cloneDir(dir, "run-1", "node-1");
    const told = Object.values(first.agent.now.letters.queued).filter(({ reader }) => reader === "human");
    expect(told.map(({ text }) => text)).toEqual([
      `What node-1 has left in its clone is not saved, so its clone stays. ${clone}: It has a file of 2 MiB; at most 1 are taken.`,
    ]);
    expect(existsSync(join(clone, "large"))).toBe(true);
    // As a kill may leave it.
    for (const name of ["node-1", "node-1-checks"]) mkdirSync(join(transitDir(dir), name), { recursive: true });
    plan.config = { projects: { [world.person]: { limits: { file_mb: 10 } } } };

    const team = await first.restart();
    await team.runtime.execute({ do: "send", id, message: "Look again." } as never, ACTOR);
    await team.agent.idle();

    const [kept] = team.agent.now.repository?.nodes["node-1"]?.snapshots ?? [];
    expect(inAgent(team, "cat-file", "-s", `${kept?.ref}:large`)).toBe("2000000");
    expect(existsSync(clone)).toBe(false);
    expect(readdirSync(transitDir(dir))).toEqual([]);
    await team.runtime.close();
  });

  test("no repository of its own, no work: where it is gone nobody begins, and that is said (TEAM-REPOSITORY-1)", async () => {
    await using world = await World.open();
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(call("finish", { summary: "nothing to do" })),
    });
    await team.agent.idle();
    const { id, dir } = team.agent.log;
    const repository = join(dir, "repo.git");
    renameSync(repository, join(world.path, "aside.git"));
    const before = (await team.facts()).filter(({ type }) => type === "model.called").length;

    await expect(team.runtime.execute({ do: "send", id, message: "Begin." } as never, ACTOR)).rejects.toThrow(
      `The repository of ${id} is missing: ${repository}. Restore it from a backup.`,
    );

    expect((await team.facts()).filter(({ type }) => type === "model.called").length).toBe(before);
  });
});
