import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { World } from "../../src/repository/testing/world.ts";
import { both, call, type ScriptedModel, script, startTeam, type TestTeam } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";

/* Work that conflicts or fails its checks: what its worker and the human are told, and what is left of it in the history. */

const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });
const wrote = (path: string, content: string) => call("write_file", { path, content });
const published = (summary: string) => call("publish", { summary });

function inAgent(team: TestTeam, ...args: string[]): string {
  return execFileSync("git", ["--git-dir", `${team.agent.log.dir}/repo.git`, ...args], { encoding: "utf8" }).trim();
}

function toHuman(team: TestTeam): string[] {
  const queued = Object.values(team.agent.now.letters.queued);
  return queued.filter(({ reader }) => reader === "human").map(({ text }) => text);
}

/** What its calls were answered, the oldest first. */
function resultsIn({ requests }: ScriptedModel): string[] {
  return (requests.at(-1)?.history ?? []).flatMap((entry) => (entry.role === "tool" ? [entry.content] : []));
}

describe.skipIf(skipped)(`refused work ${skipped}`, () => {
  test("a conflict is begun in the clone as it is shown; resolved, it is one commit, which can be taken out again", async () => {
    await using world = await World.open();
    const held = Promise.withResolvers<void>();
    const bob = script(
      wrote("src/main.js", "bye();\n"),
      published("bye").until(held.promise),
      call("bash", { command: "sed -n '/^<<<<<<</,/^>>>>>>>/p' src/main.js && git status | sed -n 2,3p" }).after(
        "Not published: your work conflicts",
        "the merge has begun in your clone",
      ),
      published("too early").after("You have unmerged paths."),
      call("bash", { command: "printf 'hello();\\nbye();\\n' > src/main.js && git add -A && echo resolved" }).after(
        "Resolve the conflicts in: src/main.js",
      ),
      published("Say bye too\n\nAfter hello.").after("resolved"),
    );
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        both(made("Hello", { worker: "Alice" }), made("Bye", { worker: "Bob" })),
        call("revert_node", { node_id: "node-2", reason: "not wanted" }).after("node-1 completed", "node-2 completed"),
        call("finish", { summary: "done" }).after("The work of node-2 is no longer in the branch."),
      ),
      workers: { Alice: script(wrote("src/main.js", "hello();\n"), published("hello")), Bob: bob },
    });
    await team.until(({ repository }) => repository?.nodes["node-1"]?.state === "merged");
    held.resolve();

    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

    const results = resultsIn(bob);
    const [, refused = "", inClone = ""] = results;
    const { branch, tip, nodes } = team.agent.now.repository ?? { branch: "", tip: "" };
    const shown = /<<<<<<<[\s\S]*?>>>>>>> .*/.exec(refused)?.[0] ?? "";
    expect(shown.split("\n").filter((line) => /^[<>]{7}|;$/.test(line))).toEqual([
      "<<<<<<< HEAD",
      "bye();",
      "main();",
      "hello();",
      `>>>>>>> origin/${branch}`,
    ]);
    expect(inClone.startsWith(`${shown}\n`)).toBe(true);
    const merged = nodes?.["node-2"]?.commit?.merged ?? "";
    expect(inAgent(team, "log", "--format=%B", `${merged}^!`)).toBe(
      "Say bye too\n\nAfter hello.\n\nAgiraph-Node: node-2",
    );
    expect(inAgent(team, "show", `${merged}:src/main.js`)).toBe("hello();\nbye();");
    expect(inAgent(team, "log", "--format=%s", `${merged}`, `^${nodes?.["node-2"]?.clone_at}`)).toBe(
      "Say bye too\nhello",
    );
    expect(inAgent(team, "show", `${tip}:src/main.js`)).toBe("hello();");
    expect(nodes?.["node-2"]?.snapshots).toEqual([]);
  });

  test("no commit whose checks failed gets into the branch; it stays reachable, and the human is told in a few lines", async () => {
    await using world = await World.open();
    const noise = 'for n in $(seq 600); do echo "ok $n - passed $n"; done';
    const check = `echo 'not ok 0 - first'; ${noise}; cat src/main.js; grep -q right src/main.js`;
    const alice = script(
      ...["one", "two", "three"].flatMap((word) => [
        wrote("src/main.js", `${word}(wrong);\n`),
        published(`It says ${word}`),
      ]),
      call("read_file", { path: "nodes/node-1/_check.txt" }).after("Your human has been told. Go on fixing"),
      wrote("src/main.js", "main(right);\n").after("ok 150 - passed 150"),
      published("It is right"),
    );
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        made("Hello", { checks: [check] }),
        call("finish", { summary: "done" }).after("node-1 completed"),
      ),
      workers: { Alice: alice },
    });

    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

    const { base = "", tip = "", nodes } = team.agent.now.repository ?? {};
    expect(inAgent(team, "log", "--format=%s", tip, `^${base}`)).toBe("It is right");
    const refused = (await team.facts()).flatMap((fact) => (fact.type === "merge.refused" ? [fact.data.commit] : []));
    const reachable = inAgent(team, "rev-list", "--all").split("\n");
    expect([refused.length, refused.every((commit) => reachable.includes(commit))]).toEqual([3, true]);
    expect(nodes?.["node-1"]?.snapshots).toEqual([]);
    const results = resultsIn(alice);
    const said = results.find((text) => text.startsWith("Not published")) ?? "";
    for (const kept of ["not ok 0 - first", "one(wrong);", "nodes/node-1/_check.txt"]) expect(said).toContain(kept);
    expect(said.length).toBeLessThan(9000);
    const [told = "", ...more] = toHuman(team);
    expect([more, told.split("\n", 1)]).toEqual([
      [],
      ["node-1 did not get into the branch (checks failed 3 times), so you may want to look."],
    ]);
    expect(told.split("\n").length).toBeLessThan(30);
  });
});
