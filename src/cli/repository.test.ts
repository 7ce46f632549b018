import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { skipped } from "../../test/try-sandbox.ts";
import type { ProviderTurn } from "../testing/provider-turn.ts";
import { CliProcess } from "./testing/cli-process.ts";
import { jsonLines } from "./testing/json-lines.ts";
import { finish, scriptedAgent } from "./testing/scripted-agent.ts";

const { scripted, options, call } = scriptedAgent();

const LONG = { timeout: 180_000 };
const made = (task: string, more: object = {}): ProviderTurn => ({
  calls: [{ name: "create_work_node", args: { task, ...more } }],
});
const wrote = (path: string, content: string): ProviderTurn => ({
  calls: [{ name: "write_file", args: { path, content } }],
});
const published = (summary: string): ProviderTurn => ({ calls: [{ name: "publish", args: { summary } }] });
const waits: ProviderTurn = { text: "I wait." };

const person = () => join(options().folder, "site");

function git(...args: string[]): string {
  const env = { PATH: process.env.PATH, HOME: options().folder };
  return execFileSync("git", args, { cwd: person(), env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}

/** With two commits, on main. */
function personRepository(): void {
  mkdirSync(join(person(), "src"), { recursive: true });
  git("init", "-q", "-b", "main");
  git("config", "user.name", "Pat");
  git("config", "user.email", "pat@example.com");
  writeFileSync(join(person(), "src/main.js"), "one();\ntwo();\nthree();\n");
  git("add", "-A");
  git("commit", "-qm", "Begin");
}

const begin = (goal: string, ...more: string[]) =>
  call("run", goal, "--name", "site", "--model", "ollama/test", "--project", person(), ...more);

describe.skipIf(skipped)(`the terminal and a repository ${skipped}`, () => {
  test("run --write, diff, a comment that is answered, accept, and accept --merge", LONG, async () => {
    await scripted({
      "Greet people": [made("Say hello in main.js"), waits, finish("It says hello."), waits, finish("It shouts.")],
      "Say hello in main.js": [wrote("src/main.js", "one();\nhello();\nthree();\n"), published("Says hello.")],
      "Answer the comments on node-1: Say": [
        wrote("src/main.js", "one();\nHELLO();\nthree();\n"),
        published("Shouts."),
      ],
    });
    personRepository();
    writeFileSync(join(person(), "notes.txt"), "not committed\n");
    const run = await begin("Greet people", "--write");
    expect([run.code, run.stderr]).toEqual([0, expect.stringContaining("The team works on the branch agiraph/agent-")]);
    expect(run.stderr).toContain("It does not see what you have not committed (1 file).");
    const branch = /the branch (agiraph\/agent-\w{8}),/.exec(run.stderr)?.[1] ?? "";

    const [, id = ""] = /agiraph\/(agent-\w{8})/.exec(branch) ?? [];
    expect(run.stderr.trimEnd().split("\n").at(-1)).toBe(
      `The branch ${branch} has the work of 1 node. Review it: agiraph diff ${id}. Take it: agiraph accept ${id}`,
    );

    const base = git("rev-parse", "HEAD").slice(0, 10);
    const shown = (await call("show", "site")).stdout;
    expect(shown).toContain(`Branch   ${branch} on main ${base}: 1 node merged, not accepted yet\n`);
    expect(shown).toContain(`Review\nLook at it: agiraph diff ${id}\nTake it: agiraph accept ${id}\n`);
    const board = (await call("board", "site")).stdout.split("\n");
    expect(board.slice(0, 2)).toEqual([
      "NODE    STATUS     WORKER  BRANCH        TASK",
      "node-1  completed  Alice   merged +1 −1  Say hello in main.js — Says hello.",
    ]);

    const first = await call("diff", "site");
    expect(first.stdout.split("\n").slice(-5)).toEqual([" one();", "-two();", "+hello();", " three();", ""]);
    const commented = await call("comment", "site", "node-1", "src/main.js:2", "Louder, please.");
    expect([commented.code, commented.stderr]).toEqual([0, expect.stringContaining("node-2 answers it")]);
    const second = await call("diff", "site");
    expect(second.stdout).toContain("-two();\n+HELLO();\n");
    expect((await call("diff", "site", "node-2")).stdout).toContain("-hello();\n+HELLO();\n");
    expect((await call("diff", "site", "--stat")).stdout).toBe("src/main.js  +1 −1  +−\n1 file changed, +1 −1\n");
    expect(jsonLines((await call("diff", "site", "--json")).stdout)).toEqual([
      expect.objectContaining({ files_total: 1, insertions: 1, deletions: 1 }),
    ]);

    const head = git("rev-parse", "HEAD");
    const accepted = await call("accept", "site");
    expect([accepted.code, accepted.stderr]).toEqual([0, expect.stringContaining(`git merge ${branch}`)]);
    expect(git("show", `${branch}:src/main.js`)).toContain("HELLO();");
    expect([git("rev-parse", "HEAD"), git("status", "--short")]).toEqual([head, "?? notes.txt"]);

    const merged = await call("accept", "site", "--merge");
    expect([merged.code, merged.stderr]).toEqual([0, expect.stringContaining("is merged into main")]);
    expect(readFileSync(join(person(), "src/main.js"), "utf8")).toBe("one();\nHELLO();\nthree();\n");
    expect(git("status", "--short")).toBe("?? notes.txt");
  });

  test("a folder that cannot be worked on is refused before anything is made, with what to do", LONG, async () => {
    await scripted([]);
    mkdirSync(person());
    const plain = await begin("Greet people", "--write");
    expect([plain.code, plain.stderr]).toEqual([
      1,
      expect.stringContaining(`✗ ${person()} is not a git repository. Make it one (git init && git add -A`),
    ]);
    const inBackground = await begin("Greet people", "--write", "--detach");
    expect([inBackground.code, inBackground.stderr]).toEqual([1, expect.stringContaining("is not a git repository")]);
    personRepository();
    writeFileSync(join(person(), ".git/MERGE_HEAD"), `${git("rev-parse", "HEAD")}\n`);
    expect((await begin("Greet people", "--write")).stderr).toContain("is in the middle of a merge. End it first: git");
    rmSync(join(person(), ".git/MERGE_HEAD"));
    const usage = async (...more: string[]) => {
      const { code, stderr } = await begin("Greet people", ...more);
      return [code, stderr.split("\n").find((line) => line.startsWith("✗"))];
    };
    expect(await usage("--base", "main")).toEqual([
      2,
      "✗ --base is for agents that change your repository. Add --write.",
    ]);
    expect(await usage("--deliver", "branch")).toEqual([
      2,
      expect.stringMatching(/^✗ --deliver is for .* Add --write/),
    ]);
    expect(await usage("--write", "--base", "mian")).toEqual([
      2,
      `✗ --base: ${person()} has no branch, tag or commit named "mian". Did you mean "main"?`,
    ]);
    expect(await usage("--write", "--dirty", "includ")).toEqual([
      2,
      expect.stringContaining('Did you mean "include"?'),
    ]);
    expect(await usage("--write", "--base", "main", "--dirty", "include")).toEqual([
      2,
      expect.stringMatching(/^✗ --dirty: Uncommitted changes belong to HEAD/),
    ]);
    expect((await call("ls", "--json")).stdout).toBe("");
  });

  test(
    "one that works in the background is looked at meanwhile; log and restore have what was rejected; unknown names are refused with the nearest",
    LONG,
    async () => {
      const provider = await scripted({
        "Greet people": [made("Say hello in main.js"), { hold: "merged", ...waits }, finish("Hello."), finish("Well.")],
        "Say hello in main.js": [wrote("src/main.js", "one();\nhello();\nthree();\n"), published("Says hello.")],
      });
      personRepository();
      const started = await begin("Greet people", "--write", "--deliver", "branch", "--detach");
      expect([started.code, started.stderr]).toEqual([
        0,
        expect.stringContaining("works on the branch agiraph/agent-"),
      ]);
      const [, agent = ""] = /agiraph\/(agent-\w{8})/.exec(started.stderr) ?? [];
      const following = new CliProcess(["logs", "site", "-f"], options());
      await following.saw("node.completed");
      await provider.reached("merged");
      const meanwhile = await call("diff", "site");
      expect([meanwhile.code, meanwhile.stdout]).toEqual([0, expect.stringContaining("+hello();\n")]);
      const refused = async (...words: string[]) => {
        const { code, stderr } = await call(...words);
        return [code, stderr.split("\n")[0]];
      };
      expect(await refused("diff", "site", "node-x")).toEqual([
        2,
        '✗ There is no node "node-x". Did you mean node-1? Choose from: node-1.',
      ]);
      expect(await refused("reject", "site", "node-x", "No.")).toEqual([
        1,
        '✗ site has no node "node-x". Did you mean "node-1"? Choose from: node-1.',
      ]);
      expect(await refused("diff", "siet")).toEqual([1, expect.stringContaining('Did you mean "site"?')]);
      expect(await refused("rebase", "site", "mian")).toEqual([1, expect.stringContaining('Did you mean "main"?')]);
      expect(await refused("comment", "site", "node-1", "src/main.js", "Why?")).toEqual([
        2,
        '✗ "src/main.js" names no line. Write the file and the line, counted from 1: src/main.js:12',
      ]);
      expect(await refused("comment", "site", "node-1", "src/main.js:99", "Why?")).toEqual([
        1,
        expect.stringContaining("src/main.js has 3 lines, and no line 99."),
      ]);
      expect((await refused("git", "show", "site"))[0]).toBe(2);
      provider.release("merged");
      await following.saw("agent.completed");
      following.signal("SIGINT");
      const [, own = ""] = /the branch (agiraph\/agent-\w{8}),/.exec(started.stderr) ?? [];
      expect(git("show", `${own}:src/main.js`)).toContain("hello();");

      const reason = `Not like that. ${"It greets people who are not there; ".repeat(4)}and then it ends.`;
      const rejected = await call("reject", "site", "node-1", reason);
      expect([rejected.code, rejected.stderr]).toEqual([
        0,
        expect.stringContaining("The work of node-1 is no longer in"),
      ]);
      const log = jsonLines((await call("git", "log", "site", "--json")).stdout);
      expect(log.map(({ subject, node_id, about }) => [subject, node_id, about])).toEqual([
        [
          "Revert node-1: Not like that. It greets people who are not there; It greets people who are not…",
          ...[null, "what you last accepted"],
        ],
        ["Says hello.", "node-1", "reverted since"],
      ]);
      const commit = String(log[1]?.commit).slice(0, 10);
      expect((await call("git", "log", "site")).stdout).toMatch(
        new RegExp(
          `^agiraph/agent-\\w{8}\n.*\n${commit} .* node-1 +Says hello\\. · reverted since\n\\w{10}  the base: main of `,
        ),
      );
      const slip = `${commit.slice(0, -1)}${commit.endsWith("0") ? "1" : "0"}`;
      expect(await refused("git", "restore", "site", slip)).toEqual([
        1,
        `✗ site has no commit "${slip}". Did you mean "${commit}"? List them: agiraph git log ${agent}`,
      ]);
      const restored = await call("git", "restore", "site", commit);
      const [, branch = ""] = /It is now the branch (\S+) of /.exec(restored.stderr) ?? [];
      expect(git("show", `${branch}:src/main.js`)).toContain("hello();");
    },
  );
});
