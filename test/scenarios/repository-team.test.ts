import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { World } from "../../src/repository/testing/world.ts";
import { both, call, script, startTeam, type TestTeam } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";

const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });
const wrote = (path: string, content: string) => call("write_file", { path, content });
const published = (summary: string) => call("publish", { summary });

/** What the agent's branch has at this path. */
function onBranch(team: TestTeam, path: string): string {
  const { branch } = team.agent.now.repository ?? { branch: "" };
  return execFileSync("git", ["--git-dir", `${team.agent.log.dir}/repo.git`, "show", `${branch}:${path}`], {
    encoding: "utf8",
  });
}

describe.skipIf(skipped)(`a team that writes ${skipped}`, () => {
  test("works in clones of its own, and what it publishes is merged into its branch; the person's repository stays as it was", async () => {
    await using world = await World.open();
    world.write("person/notes.txt", "not committed\n");
    const before = world.state("person");
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        both(made("Say hello in main.js"), made("Say bye in bye.js")),
        call("finish", { summary: "done" }).after("node-1 completed", "node-2 completed"),
      ),
      workers: {
        Alice: script(
          call("read_file", { path: "src/main.js" }),
          wrote("src/main.js", "hello();\n").after("main();"),
          call("bash", { command: "git status --short && pwd" }),
          published("says hello").after(" M src/main.js", "/repo"),
        ),
        Bob: script(
          call("bash", {
            command:
              "echo 'bye();' > src/bye.js && git add -A && git commit -qm 'Say bye' && git log --oneline | wc -l",
          }),
          published("says bye").after("3"),
        ),
      },
    });

    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

    expect(onBranch(team, "src/main.js")).toBe("hello();\n");
    expect(onBranch(team, "src/bye.js")).toBe("bye();\n");
    expect(world.state("person")).toEqual(before);
    const { nodes, branch, uncommitted } = team.agent.now.repository ?? {};
    expect([branch, uncommitted]).toEqual([`agiraph/${team.agent.log.id}`, 1]);
    expect(Object.values(nodes ?? {}).map(({ state, commit }) => [state, commit?.files, commit?.insertions])).toEqual([
      ["merged", 1, 1],
      ["merged", 1, 1],
    ]);
  });

  test("a conflict goes back to its worker with both sides; a third one is told to the human too", async () => {
    await using world = await World.open();
    const held = Promise.withResolvers<void>();
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        both(made("Hello", { worker: "Alice" }), made("Bye", { worker: "Bob" })),
        call("finish", { summary: "done" }).after("node-1 completed", "node-2 completed"),
      ),
      workers: {
        Alice: script(
          call("read_file", { path: "src/main.js" }),
          wrote("src/main.js", "hello();\n"),
          published("hello"),
        ),
        Bob: script(
          wrote("src/main.js", "bye();\n"),
          published("bye").until(held.promise),
          ...[1, 2].flatMap(() => [
            call("bash", { command: "git merge --abort && echo aborted" }).after(
              "Not published: your work conflicts",
              "<<<<<<<",
              "hello();",
              "bye();",
            ),
            published("bye").after("aborted"),
          ]),
          call("bash", {
            command: "printf 'hello();\\nbye();\\n' > src/main.js && git add -A && echo resolved",
          }).after("Your human has been told."),
          published("both").after("resolved"),
        ),
      },
    });
    await team.until(({ repository }) => repository?.nodes["node-1"]?.state === "merged");
    held.resolve();

    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

    expect(onBranch(team, "src/main.js")).toBe("hello();\nbye();\n");
    const refused = (await team.facts()).filter(({ type }) => type === "merge.refused").map(({ data }) => data);
    expect(refused).toMatchObject(Array(3).fill({ node_id: "node-2", why: "conflict", files: ["src/main.js"] }));
    const told = Object.values(team.agent.now.letters.queued).filter(({ reader }) => reader === "human");
    expect(told.map(({ from, text }) => [from, text.split("\n", 1)[0]])).toEqual([
      ["bob", "node-2 did not get into the branch (in conflict 3 times), so you may want to look."],
    ]);
  });

  test("checks run on the commit in a fresh checkout, merged with what others have published meanwhile", async () => {
    await using world = await World.open();
    const held = Promise.withResolvers<void>();
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        both(
          made("Hello", { worker: "Alice" }),
          made("Bye", { worker: "Bob", checks: ["test -e src/hello.js", "! grep -q wrong src/bye.js"] }),
        ),
        call("finish", { summary: "done" }).after("node-1 completed", "node-2 completed"),
      ),
      workers: {
        Alice: script(wrote("src/hello.js", "hello();\n"), published("hello")),
        Bob: script(
          wrote(".gitignore", "src/ignored.js\n"),
          // Only in its clone: the check would pass there.
          wrote("src/ignored.js", ""),
          wrote("src/bye.js", "wrong();\n"),
          published("bye").until(held.promise),
          wrote("src/bye.js", "bye();\n").after(
            "Not published: in a fresh checkout of your work",
            "`! grep -q wrong src/bye.js` did not pass",
          ),
          published("bye"),
        ),
      },
    });
    await team.until(({ repository }) => repository?.nodes["node-1"]?.state === "merged");
    held.resolve();

    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

    const { nodes, tip } = team.agent.now.repository ?? {};
    const node = nodes?.["node-2"];
    expect(Object.values(node?.checks ?? {}).map(({ command, ok, commit }) => [command, ok, commit === tip])).toEqual([
      ["test -e src/hello.js", true, true],
      ["! grep -q wrong src/bye.js", true, true],
    ]);
    expect(node?.refusals).toEqual([]);
    expect(onBranch(team, "src/hello.js")).toBe("hello();\n");
  });

  test("what a failed node leaves in its clone is kept, and can be restored", async () => {
    await using world = await World.open();
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(made("Hello"), call("finish", { summary: "given up" }).after("node-1 failed")),
      workers: {
        Alice: script(
          call("bash", {
            command: "echo 'half();' > src/main.js && git commit -qam half && echo 'more();' > src/more.js",
          }),
          call("give_up", { reason: "too hard" }),
        ),
      },
    });

    expect(await team.outcome()).toMatchObject({ kind: "finished" });

    const [snapshot] = team.agent.now.repository?.nodes["node-1"]?.snapshots ?? [];
    const shown = (path: string) =>
      execFileSync("git", ["--git-dir", `${team.agent.log.dir}/repo.git`, "show", `${snapshot?.ref}:${path}`], {
        encoding: "utf8",
      });
    expect([shown("src/main.js"), shown("src/more.js")]).toEqual(["half();\n", "more();\n"]);
    expect(onBranch(team, "src/main.js")).toBe("main();\n");
  });
});
