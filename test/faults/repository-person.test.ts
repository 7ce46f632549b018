import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Git } from "../../src/repository/git.ts";
import { AgentRepository, inspectRepository } from "../../src/repository/index.ts";
import { BRANCH, World } from "../../src/repository/testing/world.ts";
import { anyhow, everything, Traps } from "./repository-traps.ts";

/**
 * A person may have unpacked a repository that someone else prepared. Whatever its config and files name: nothing of it
 * runs when we look at it, copy it, merge and deliver. Each row says what runs it with plain git, and that is done last.
 */
interface Trap {
  config?: Record<string, string>;
  /** What else is needed; paths are seen from the world. */
  files?: (world: World, traps: Traps) => void;
  plain: string;
}

const DRIVERS = (world: World) => world.write("person/.gitattributes", "*.md filter=evil diff=evil merge=evil\n");
const CHANGE = "echo changed >> readme.md;";
const TRAPS: Record<string, Trap> = {
  "a file monitor": { config: { "core.fsmonitor": "TRAP" }, plain: "git status" },
  "a hook": {
    files: (_, traps) => {
      for (const hook of ["reference-transaction", "post-index-change", "pre-commit", "post-checkout", "post-merge"])
        traps.script(`person/.git/hooks/${hook}`, "sprung");
    },
    plain: "git update-ref refs/heads/x HEAD",
  },
  "a folder of hooks": {
    config: { "core.hooksPath": "WORLD/hooks" },
    files: (_, traps) => traps.script("hooks/reference-transaction", "sprung"),
    plain: "git update-ref refs/heads/x HEAD",
  },
  "a clean filter": { config: { "filter.evil.clean": "TRAP; cat" }, files: DRIVERS, plain: `${CHANGE} git add -A` },
  "a process filter": { config: { "filter.evil.process": "TRAP" }, files: DRIVERS, plain: `${CHANGE} git add -A` },
  "a smudge filter": {
    config: { "filter.evil.smudge": "TRAP; cat" },
    files: DRIVERS,
    plain: "git checkout HEAD~1 -- . && rm readme.md && git checkout -- readme.md",
  },
  "an external diff": { config: { "diff.external": "TRAP; true" }, plain: `${CHANGE} git diff` },
  "a diff driver": { config: { "diff.evil.command": "TRAP; true" }, files: DRIVERS, plain: `${CHANGE} git diff` },
  "a textconv": { config: { "diff.evil.textconv": "TRAP; cat" }, files: DRIVERS, plain: `${CHANGE} git diff` },
  "a merge driver": {
    config: { "merge.evil.driver": "TRAP" },
    files: DRIVERS,
    plain: `git checkout -qb side; ${CHANGE} git commit -qam side; git checkout -q main; echo other >> readme.md; git commit -qam other; git merge side`,
  },
  "an ssh command": {
    config: { "core.sshCommand": "TRAP; false", "remote.origin.url": "ssh://nowhere.invalid/x" },
    plain: "git fetch origin",
  },
  "a helper of a remote": {
    config: { "remote.origin.url": "ext::WORLD/helper", "protocol.ext.allow": "always" },
    files: (_, traps) => traps.script("helper", "sprung"),
    plain: "git fetch origin",
  },
  "a program that signs": {
    config: { "commit.gpgSign": "true", "gpg.program": "WORLD/signs" },
    files: (_, traps) => traps.script("signs", "sprung"),
    plain: "git commit --allow-empty -m x",
  },
  "an editor": { config: { "core.editor": "TRAP; false" }, plain: "git commit --allow-empty" },
  "a setting in an included file": {
    config: { "include.path": "../included" },
    files: (world, traps) => world.write("person/included", `[core]\n\tfsmonitor = ${traps.command("sprung")}\n`),
    plain: "git status",
  },
  "a setting of the worktree": {
    config: { "extensions.worktreeConfig": "true", "core.repositoryFormatVersion": "1" },
    files: (world, traps) =>
      world.write("person/.git/config.worktree", `[core]\n\tfsmonitor = ${traps.command("sprung")}\n`),
    plain: "git status",
  },
  "a repository within": {
    files: (world, traps) => {
      world.init(join(world.path, "person/inner"));
      world.plain("person/inner", "commit", "-q", "--allow-empty", "-m", "inner");
      world.plain("person", "add", "inner");
      world.plain("person", "commit", "-qm", "inner");
      world.write("person/inner/changed", "x");
      world.plain("person/inner", "config", "core.fsmonitor", traps.command("sprung"));
    },
    plain: "git status",
  },
};

test.each(Object.entries(TRAPS))("%s of the repository never runs; with plain git it does", async (_, trap) => {
  await using world = await World.open();
  const traps = new Traps(world);
  trap.files?.(world, traps);
  if (world.has("person/.gitattributes")) {
    world.plain("person", "add", ".gitattributes");
    world.plain("person", "commit", "-qm", "attributes");
  }
  for (const [name, value] of Object.entries(trap.config ?? {})) {
    const told = value.replace("TRAP", traps.command("sprung")).replace("WORLD", world.path);
    world.plain("person", "config", name, told);
  }
  traps.sprung();
  world.write("person/readme.md", "one\nchanged by the person\nthree\n");
  world.write("person/untracked.md", "untracked\n");

  await everything(world);

  expect(traps.sprung()).toEqual([]);
  anyhow(world, "person", trap.plain);
  expect(traps.sprung()).toEqual(["sprung"]);
});

test("an object that a promisor is said to have is not fetched; plain git runs the promisor's program", async () => {
  await using world = await World.open();
  const traps = new Traps(world);
  const { agent } = await world.created();
  const known = await world.inspect();
  const gone = "1234567890123456789012345678901234567890";
  for (const [name, value] of [
    ["core.repositoryFormatVersion", "1"],
    ["extensions.partialClone", "origin"],
    ["remote.origin.promisor", "true"],
    ["remote.origin.url", world.path],
    ["remote.origin.uploadpack", `${traps.command("sprung")}; false`],
  ] as const)
    world.plain("person", "config", name, value);

  expect(await world.reasonAgainst()).toContain("is a partial clone");
  await expect(agent.fetchFrom(known, gone)).rejects.toThrow(`no commit named "${gone}"`);
  world.write("person/.git/refs/heads/promised", `${gone}\n`);
  await expect(agent.fetchFrom(known, "promised")).rejects.toThrow('no commit named "promised"');

  expect(traps.sprung()).toEqual([]);
  anyhow(world, "person", `git cat-file -t ${gone}`);
  expect(traps.sprung()).toEqual(["sprung"]);
});

test("variables of the environment, and a git in the current folder, reach no git of ours", async () => {
  await using world = await World.open();
  const traps = new Traps(world);
  world.write("person/readme.md", "one\nchanged\nthree\n");
  const env = {
    GIT_TRACE: join(world.path, "marks/trace"),
    GIT_EXTERNAL_DIFF: traps.script("external", "external"),
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "core.fsmonitor",
    GIT_CONFIG_VALUE_0: traps.command("config"),
    GIT_CONFIG_GLOBAL: join(world.path, "global"),
    GIT_TEMPLATE_DIR: join(world.path, "template"),
    GIT_DIR: join(world.path, "nowhere"),
    GIT_ALTERNATE_OBJECT_DIRECTORIES: join(world.path, "nowhere"),
    HOME: join(world.path, "home"),
  };
  world.write("global", `[core]\n\tsshCommand = ${traps.command("global")}\n`);
  world.write("template/hooks/reference-transaction", `#!/bin/sh\n${traps.command("template")}\n`);
  world.sh("", "chmod +x template/hooks/reference-transaction");
  traps.script("person/git", "relative");
  const path = `.:${process.env.PATH}`;
  const git = new Git({ env: { ...env, PATH: path }, temporary: join(world.path, "temporary") });

  const found = await inspectRepository(world.person, git);
  if (!found.ok) throw new Error(found.reason);
  const agent = AgentRepository.open(join(world.path, "agent/repo.git"), git);
  const { base } = await agent.create(found.repository, found.repository.head, BRANCH, { dirty: true });
  await agent.diff(found.repository.head, base);

  expect(traps.sprung()).toEqual([]);
  const { GIT_DIR: _, ...others } = env;
  anyhow(world, "person", "/usr/bin/env git --exec-path >/dev/null", { PATH: path });
  const control = { ...others, GIT_ALTERNATE_OBJECT_DIRECTORIES: "" };
  anyhow(world, "person", "git status; git diff; git fetch ssh://nowhere.invalid/x; git init -q ../new", control);
  anyhow(world, "new", "git -c user.name=x -c user.email=x commit -q --allow-empty -m x", { GIT_TEMPLATE_DIR: "" });
  expect(traps.sprung()).toEqual(["config", "external", "global", "relative", "template", "trace"]);
});

test("grafts and replaced objects of the person's are not believed; plain git shows what they say", async () => {
  await using world = await World.open();
  const told = world.sh("person", "echo 'a lie' | git hash-object -w --stdin");
  const truth = world.plain("person", "rev-parse", "HEAD:readme.md");
  const [first = ""] = world.plain("person", "rev-list", "--max-parents=0", "HEAD").split("\n");
  const head = world.plain("person", "rev-parse", "HEAD");
  world.plain("person", "replace", truth, told);
  world.write("person/.git/info/grafts", `${head}\n`);

  const { agent, base } = await world.created();

  expect(base).toBe(head);
  expect((await agent.fileAt(base, "readme.md", 100))?.toString()).toBe("one\ntwo\nthree\n");
  expect(await agent.isAncestor(first, base)).toBe(true);
  // The control, beside our own copy, where neither was taken along.
  expect(world.plain("person", "show", "HEAD:readme.md")).toBe("a lie");
  expect(world.plain("person", "rev-list", "--count", "HEAD")).toBe("1");
  expect(execFileSync("git", ["--git-dir", agent.dir, "rev-list", "--count", BRANCH]).toString()).toBe("2\n");
});
