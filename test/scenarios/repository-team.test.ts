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
});
