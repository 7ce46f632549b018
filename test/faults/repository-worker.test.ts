import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createScrubber } from "../../src/boundary/scrubber.ts";
import { World } from "../../src/repository/testing/world.ts";
import { SandboxedScripts } from "../../src/runtime/repository/sandboxed-scripts.ts";
import { openSandbox } from "../../src/sandbox/index.ts";
import { cloneDir } from "../../src/store/paths.ts";
import { both, call, script, startTeam } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";
import { anyhow, Traps } from "./repository-traps.ts";

/**
 * A worker makes everything of its clone that git could be told to run, and the team's work goes its whole way: commit,
 * merge, checks, diff, comment, delivery, restoring. No git outside the sandbox is started where a worker could write, and
 * nothing of it runs. The same clone, looked at with plain git, runs all of it.
 */
const ACTOR = { kind: "human", via: "terminal" } as const;
const HOOKS = [
  "pre-commit",
  "commit-msg",
  "post-commit",
  "reference-transaction",
  "post-checkout",
  "post-index-change",
];
/** What plain git runs of such a clone, and by which command. */
const PLAIN: Record<string, string> = {
  hook: "git -c core.fsmonitor= commit -q --allow-empty --no-gpg-sign -m x",
  fsmonitor: "git status",
  clean: "echo changed >> readme.md; git add readme.md",
  smudge: "rm -f src/main.js; git checkout -- src/main.js",
  textconv: "git blame readme.md",
  command: "echo changed >> src/main.js; git -c diff.external= diff -- src",
  external: "mv .gitattributes aside; git diff -- src; mv aside .gitattributes",
  ssh: "git fetch ssh://nowhere.invalid/x",
  upload: "git fetch origin",
  signs: "git commit -q --allow-empty -m x",
  editor: "git commit --allow-empty --no-gpg-sign",
  included: "git included",
};

/** As a shell in the clone would write it. */
function hostile(traps: Traps): string {
  const trap = (name: string) => `${traps.command(name)} 2>/dev/null`;
  const set = (name: string, value: string) => `git config ${name} '${value}'`;
  return [
    ...HOOKS.map((hook) => `printf '#!/bin/sh\\n${trap("hook")}; true\\n' > .git/hooks/${hook}`),
    "chmod +x .git/hooks/*",
    set("core.fsmonitor", `${trap("fsmonitor")}; false`),
    set("core.sshCommand", `${trap("ssh")}; false`),
    set("core.editor", `${trap("editor")}; false`),
    set("filter.evil.clean", `${trap("clean")}; cat`),
    set("filter.evil.smudge", `${trap("smudge")}; cat`),
    set("diff.evil.textconv", `${trap("textconv")}; cat`),
    set("diff.evil.command", `${trap("command")}; true`),
    set("diff.external", `${trap("external")}; true`),
    set("merge.evil.driver", `${trap("merge")}; false`),
    set("remote.origin.uploadpack", `${trap("upload")}; git-upload-pack`),
    set("commit.gpgSign", "true"),
    `printf '#!/bin/sh\\n${trap("signs")}; false\\n' > .git/signs; chmod +x .git/signs`,
    set("gpg.program", "$PWD/.git/signs").replaceAll("'", '"'),
    `printf '[alias]\\n\\tincluded = !${trap("included")}\\n' > .git/more`,
    set("include.path", "more"),
    "printf '* filter=evil diff=evil merge=evil\\n' > .gitattributes",
    "cp .git/refs/heads/node-1 '.git/refs/heads/$(touch canary)'; cp .git/refs/heads/node-1 .git/refs/heads/-x",
    "echo over",
  ].join("\n");
}

test.skipIf(skipped)(
  `what a worker makes of its clone runs in the sandbox alone, on the whole way of its work ${skipped}`,
  async () => {
    await using world = await World.open();
    const traps = new Traps(world);
    const gits = new RecordedGits(world);
    const held = Promise.withResolvers<void>();
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      env: { PATH: gits.path },
      coordinator: script(
        both(
          call("create_work_node", { task: "Hello", worker: "Alice", checks: ["git log -1 && git status"] }),
          call("create_work_node", { task: "Bye", worker: "Bob" }),
        ),
        call("finish", { summary: "one" }).after("node-1 completed", "node-2 completed"),
        call("finish", { summary: "two" }).after("node-3 completed"),
      ),
      workers: {
        Alice: script(
          call("bash", { command: `echo 'hello();' > src/main.js\nmkdir -p .git/hooks\n${hostile(traps)}` }),
          call("bash", { command: "ln -s /etc/passwd linked; echo over" }).until(held.promise),
          call("publish", { summary: "linked" }).after("over"),
          call("bash", {
            command:
              "rm linked; printf '[submodule \"x\"]\\n\\tpath=x\\n\\turl=-uevil\\n' > .gitmodules; git reset -q --soft HEAD~1; echo over",
          }).after("Not published: It has a symbolic link that leads out of the repository: linked"),
          call("publish", { summary: "with a submodule" }).after("over"),
          call("bash", { command: "git reset -q --soft HEAD~1; rm .gitmodules; echo over" }).after(
            "Not published: git refuses it",
            "gitmodulesUrl",
            "Your earlier commits count too.",
          ),
          call("publish", { summary: "hello" }).after("over"),
        ),
        Bob: script(
          call("bash", { command: "printf 'one\\ntwo\\nthree\\nfour\\n' > readme.md; echo over" }),
          call("publish", { summary: "bye" }).after("over"),
        ),
        Carol: script(
          call("bash", { command: "echo 'HELLO();' > src/main.js; echo over" }),
          call("publish", { summary: "louder" }).after("over"),
        ),
      },
    });
    await team.until(({ repository }) => repository?.nodes["node-2"]?.state === "merged");
    const clone = cloneDir(team.agent.log.dir, "run-1", "node-1");
    await expect.poll(() => existsSync(join(clone, ".git/refs/heads/-x")), { timeout: 60_000 }).toBe(true);
    cpSync(clone, join(world.path, "copied"), { recursive: true });
    held.resolve();
    await team.agent.idle();
    const { id, dir } = team.agent.log;
    const give = (command: object) => team.runtime.execute({ id, ...command } as never, ACTOR);
    const reader = team.runtime.repositoryReader(team.agent.now, dir);
    await reader.view();
    await reader.diff({ context: 3 });
    await reader.patch("node-1");
    await give({ do: "comment", node_id: "node-1", path: "src/main.js", line: 1, text: "Louder." });
    await team.agent.idle();
    await give({ do: "accept", how: "merge" });
    const commit = team.agent.now.repository?.nodes["node-1"]?.commit?.commit ?? "";
    await give({ do: "restore_work", ref: commit });
    await give({ do: "reject", node_id: "node-2", reason: "No." });
    await team.agent.idle();

    expect(world.read("person/src/main.js")).toBe("HELLO();\n");
    expect(traps.sprung()).toEqual([]);
    expect(gits.in(dir)).toEqual([]);
    expect(gits.count).toBeGreaterThan(50);
    expect(world.has("canary") || world.has("person/canary")).toBe(false);
    // The controls: plain git in a copy of that clone runs each of them, and a git there would have been recorded.
    const env = { GIT_AUTHOR_NAME: "x", GIT_AUTHOR_EMAIL: "x", GIT_COMMITTER_NAME: "x", GIT_COMMITTER_EMAIL: "x" };
    for (const [name, command] of Object.entries(PLAIN)) {
      anyhow(world, "copied", command, env);
      expect([name, traps.sprung()]).toEqual([name, expect.arrayContaining([name])]);
    }
    mkdirSync(clone, { recursive: true });
    anyhow(world, "", `cd '${clone}' && git --version && cd / && git -C '${clone}' --version`, { PATH: gits.path });
    expect(gits.in(dir).length).toBe(2);
  },
  120_000,
);

test.skipIf(skipped)(
  `a worker reaches neither the person's repository nor the agent's but to read its branch ${skipped}`,
  async () => {
    await using world = await World.open();
    const before = world.state("person");
    const tries = [
      `git -C ${world.person} log --oneline 2>&1 | grep -q second && echo read`,
      `echo x >> ${world.person}/.git/config && echo written`,
      `touch ${world.person}/x && echo written`,
      `GIT_DIR=${world.person}/.git git log --oneline 2>&1 | grep -q second && echo read`,
      `git push -q origin HEAD:refs/heads/evil && echo written`,
      `touch "$(git config remote.origin.url)/x" && echo written`,
      `git worktree add -q ../elsewhere && test -d ../elsewhere && ls ${world.person}`,
    ];
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      coordinator: script(
        call("create_work_node", { task: "Hello" }),
        call("finish", { summary: "one" }).after("node-1 completed"),
      ),
      workers: {
        Alice: script(
          call("bash", {
            command: `for n in 1; do\n${tries.map((each) => `( ${each} ) 2>/dev/null`).join("\n")}\ndone > said; cat said; echo "over $(grep -c . said)"`,
          }),
          call("bash", { command: "rm said; echo 'hello();' > src/main.js" }).after("over"),
          call("publish", { summary: "hello" }),
        ),
      },
    });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "one" });

    const said = (await team.conversation("runs/run-1/workers/alice/conversation.jsonl")).filter(
      ({ role }) => role === "tool",
    );
    expect(said.map((entry) => ("content" in entry ? entry.content : ""))[0]).toContain("over 0");
    expect(world.state("person")).toEqual(before);
    expect(world.plain("", "--git-dir", join(team.agent.log.dir, "repo.git"), "for-each-ref", "refs/heads/evil")).toBe(
      "",
    );
    expect(existsSync(join(team.agent.log.dir, "repo.git/x"))).toBe(false);
    // The control: with the rights of the person each of them succeeds.
    const repository = join(team.agent.log.dir, "repo.git");
    world.sh("", `git clone -q --shared '${repository}' control`);
    const done = tries.map((each) => anyhow(world, "control", `( ${each} ) 2>/dev/null`).trim());
    expect(done.filter((words) => words === "")).toEqual([]);
  },
);

test("without a sandbox nothing runs in a clone, and that is said (SCRIPTS-1)", async () => {
  await using world = await World.open();
  const mark = join(world.path, "mark");
  const run = (options: object) =>
    new SandboxedScripts(() => openSandbox(options), createScrubber([])).run(
      `touch ${mark}`,
      { cwd: world.path, write: [world.path], read: [] },
      new AbortController().signal,
    );

  await expect(run({ platform: "sunos" })).rejects.toThrow("A team that writes needs a sandbox, and there is none");
  expect(existsSync(mark)).toBe(false);
  // The control: where the person chose to have none, it runs.
  expect((await run({ unsafe: true })).ok).toBe(true);
  expect(existsSync(mark)).toBe(true);
});

/** A git at the front of the search path that writes down where it was started and with what, outside the sandbox. */
class RecordedGits {
  readonly #log: string;
  readonly path: string;

  constructor(world: World) {
    this.#log = join(world.path, "gits.log");
    const real = world.sh("", "command -v git");
    world.write(
      "wrapped/git",
      `#!/bin/sh\n{ printf '%s|%s\\n' "$PWD" "$*" >> '${this.#log}'; } 2>/dev/null\nexec ${real} "$@"\n`,
    );
    world.sh("", "chmod +x wrapped/git");
    this.path = `${join(world.path, "wrapped")}:${process.env.PATH ?? ""}`;
  }

  get #lines(): string[] {
    return readFileSync(this.#log, "utf8").trim().split("\n");
  }

  get count(): number {
    return this.#lines.length;
  }

  /** Those that were started in, or told of, what the agent's workers can write. */
  in(agentDir: string): string[] {
    return this.#lines.filter((line) => line.includes(join(agentDir, "runs")));
  }
}
