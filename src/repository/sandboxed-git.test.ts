import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkoutScript, cloneScript, commitScript, snapshotScript } from "./sandboxed-git.ts";
import { BRANCH, World } from "./testing/world.ts";

test("a clone is on the node's branch, knows the agent's branches and fetches without a network", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const node = new Node(world, agent.dir, base);

  expect(node.clone()).toBe(`READY ${base}`);

  expect(world.plain("node", "symbolic-ref", "HEAD")).toBe("refs/heads/node-1");
  expect(world.plain("node", "status", "--porcelain")).toBe("");
  expect(world.plain("node", "rev-parse", `origin/${BRANCH}`)).toBe(base);
  expect(world.plain("node", "config", "user.name")).toBe("O'Hara");
  expect(world.plain("node", "count-objects")).toBe("0 objects, 0 kilobytes");
  const next = await agent.commitTree((await agent.stats(base, base)).tree, [base], "next", { name: "Bob" }, 1);
  await agent.moveBranch(BRANCH, base, next);
  world.plain("node", "fetch", "-q", "origin");
  expect(world.plain("node", "rev-parse", `origin/${BRANCH}`)).toBe(next);
});

test("a clone that was killed half-way is made again; one that is ready is left as it is (CLONE-1)", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const node = new Node(world, agent.dir, base);
  world.write("node/.agiraph-unfinished-clone", "");
  world.write("node/.git/HEAD", "half of what");
  world.write("node/src/main.js", "half");

  expect(node.clone()).toBe(`READY ${base}`);
  expect(world.plain("node", "status", "--porcelain")).toBe("");
  world.write("node/src/main.js", "changed by the worker\n");
  expect(node.clone()).toBe(`READY ${base}`);
  expect(world.read("node/src/main.js")).toBe("changed by the worker\n");
});

test("a clone goes on with the agent's repository where that is now, with everything of the worker's", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  new Node(world, agent.dir, base).clone();
  world.write("node/src/main.js", "changed by the worker\n");
  const moved = `${agent.dir}-moved`;
  renameSync(agent.dir, moved);

  expect(new Node(world, moved, base).clone()).toBe(`READY ${base}`);

  expect(world.plain("node", "status", "--porcelain")).toBe("M src/main.js");
  world.plain("node", "fetch", "-q", "origin");
  expect(world.plain("node", "rev-parse", `origin/${BRANCH}`)).toBe(base);
});

test("a checkout has exactly the commit's files", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  mkdirSync(join(world.path, "fresh"));

  const script = checkoutScript({ repository: agent.dir, folder: join(world.path, "fresh"), commit: base });

  expect(run(script)).toBe(`READY ${base}`);
  expect(readdirSync(join(world.path, "fresh")).sort()).toEqual([".git", "readme.md", "src"]);
  expect(world.plain("fresh", "status", "--porcelain")).toBe("");
});

test("what is not committed is committed by the worker, and the bundle has all of its commits", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const node = new Node(world, agent.dir, base);
  node.clone();
  expect(node.commit()).toBe("NOTHING");
  world.write("node/a.txt", "a\n");
  world.plain("node", "add", "-A");
  world.plain("node", "commit", "-qm", "by hand");
  world.write("node/b '\" name\n.txt", "b\n");
  world.write("node/.gitignore", "ignored\n");
  world.write("node/ignored", "x\n");

  const said = node.commit();
  const commit = world.plain("node", "rev-parse", "HEAD");

  expect(said).toBe(`HEAD ${commit}`);
  expect(await agent.receive(node.bundle, "node-1")).toEqual({ ok: true, refs: { HEAD: commit } });
  expect((await agent.stats(base, commit)).files).toBe(3);
  const [last, first] = await agent.commits(base, commit, 10);
  expect([last?.author, last?.subject, first?.subject]).toEqual(["O'Hara", "It's done", "by hand"]);
});

test("hooks, signing, monitors and odd settings of the clone do not stop a commit (CLONE-2)", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const node = new Node(world, agent.dir, base);
  node.clone();
  world.write("node/a.txt", "a\n");
  world.write("node/.git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
  world.sh("node", "chmod +x .git/hooks/pre-commit");
  for (const [name, value] of [
    ["commit.gpgSign", "true"],
    ["gpg.program", "false"],
    ["core.fsmonitor", "false; exit 1"],
    ["core.worktree", "/nonexistent"],
    ["core.bare", "true"],
    ["diff.external", "false"],
    ["core.editor", "false"],
  ] as const) {
    world.sh("node", `git config -f .git/config ${name} '${value}'`);
  }
  // The control: plain git cannot even look.
  expect(spawnSync("git", ["commit", "-qam", "x"], { cwd: join(world.path, "node"), env: world.env }).status).not.toBe(
    0,
  );

  expect(node.commit()).toMatch(/^HEAD [0-9a-f]{40}$/);
  for (const lock of ["index.lock", "refs/heads/node-1.lock", "packed-refs.lock"]) world.write(`node/.git/${lock}`, "");
  world.write("node.bundle.part.lock", "");
  world.write("node/b.txt", "b\n");
  expect(node.commit()).toMatch(/^HEAD [0-9a-f]{40}$/);
});

test("conflicts, an unfinished rebase and repositories within are refused with what to do", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const node = new Node(world, agent.dir, base);
  node.clone();
  world.plain("node", "checkout", "-qb", "other");
  world.write("node/readme.md", "one\nother\nthree\n");
  world.plain("node", "commit", "-qam", "other");
  world.plain("node", "checkout", "-q", "node-1");
  world.write("node/readme.md", "one\nmine\nthree\n");
  world.plain("node", "commit", "-qam", "mine");
  spawnSync("git", ["merge", "-q", "other"], { cwd: join(world.path, "node"), env: world.env });

  expect(node.commit()).toBe("REFUSED Resolve the conflicts in: readme.md (then git add them).");
  world.plain("node", "merge", "--abort");
  spawnSync("git", ["rebase", "-q", "other"], { cwd: join(world.path, "node"), env: world.env });
  expect(node.commit()).toMatch(/^REFUSED A rebase is not finished/);
  world.plain("node", "rebase", "--abort");
  world.init(join(world.path, "node/inner"));
  world.write("node/inner/file", "x\n");
  world.plain("node/inner", "add", "-A");
  world.plain("node/inner", "commit", "-qm", "inner");
  expect(node.commit()).toMatch(/^REFUSED These folders are repositories of their own.*: inner /);
});

test("a snapshot has the files, every branch, stash and reflog entry, and changes nothing (CLONE-4)", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const node = new Node(world, agent.dir, base);
  node.clone();
  expect(node.snapshot()).toBe("NOTHING");
  const made: string[] = [];
  for (const name of ["reset away", "on a branch"]) {
    world.write("node/readme.md", `${name}\n`);
    world.plain("node", "commit", "-qam", name);
    made.push(world.plain("node", "rev-parse", "HEAD"));
    if (name === "on a branch") world.plain("node", "branch", "side");
    world.plain("node", "reset", "-q", "--hard", base);
  }
  world.write("node/stashed.txt", "stashed\n");
  world.plain("node", "stash", "push", "-q", "-u");
  made.push(world.plain("node", "rev-parse", "stash@{0}"), world.plain("node", "rev-parse", "stash@{0}^3"));
  world.write("node/staged.txt", "staged\n");
  world.plain("node", "add", "-A");
  world.write("node/new file.txt", "new\n");
  world.init(join(world.path, "node/inner"));
  world.write("node/inner/deep/file", "inner\n");
  const before = world.state("node");

  const [, snapshot = ""] = node.snapshot().split(" ");

  const after = world.state("node");
  expect(changedNames(before, after)).toEqual([]);
  expect(await agent.receive(node.bundle, "node-1")).toEqual({
    ok: true,
    refs: { "refs/agiraph/snapshot": snapshot },
  });
  for (const commit of made) expect([commit, await agent.isAncestor(commit, snapshot)]).toEqual([commit, true]);
  expect((await agent.fileAt(snapshot, "staged.txt", 100))?.toString()).toBe("staged\n");
  expect((await agent.fileAt(snapshot, "new file.txt", 100))?.toString()).toBe("new\n");
  expect((await agent.fileAt(snapshot, "inner/deep/file", 100))?.toString()).toBe("inner\n");
});

test("a worker's name is in the settings of its clone as it is, whatever it has", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const node = new Node(world, agent.dir, base);
  const name = `An\n"odd" \\ na'me ; # $(id) [core]`;

  node.clone(name);

  expect(world.plain("node", "config", "user.name")).toBe(name);
  expect(world.plain("node", "config", "user.email")).toBe("o@example.com");
});

test("a file that is changed in the second in which it was checked out is committed (CLONE-8)", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const node = new Node(world, agent.dir, base);
  letSecondsPass(world);
  const times = (path: string) => statSync(join(world.path, "node", path));

  let isSameSecond = false;
  while (!isSameSecond) {
    node.begin();
    node.clone();
    // In place, and as long as before: for git, which compares seconds, it is the same file.
    writeFileSync(join(world.path, "node/readme.md"), "ONE\ntwo\nthree\n");
    isSameSecond = secondOf(times("readme.md").ctimeMs) === secondOf(times(".git/index").mtimeMs);
  }
  // At the very moment of the note that everything is checked out.
  const changedAt = statSync(join(world.path, "node/readme.md"), { bigint: true }).ctimeNs;
  const at = `@${changedAt / 1_000_000_000n}.${String(changedAt % 1_000_000_000n).padStart(9, "0")}`;
  world.sh("node", `touch -d "${at}" .git/agiraph-checked-out`);

  expect(node.commit()).toMatch(/^HEAD /);
  expect(world.plain("node", "show", "HEAD:readme.md")).toBe("ONE\ntwo\nthree");
});

test.runIf(process.platform === "linux")("files that nobody changed since are not read again (CLONE-8)", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const node = new Node(world, agent.dir, base);
  node.clone();
  const { mtimeMs } = statSync(join(world.path, "node/.git/index"));
  letSecondsPass(world);

  expect(node.commit()).toBe("NOTHING");

  const settled = (secondOf(mtimeMs) + 1) * 1000;
  expect(statSync(join(world.path, "node/.git/index")).mtimeMs).toBe(settled);
});

/** The scripts believe that it is a few seconds later. */
function letSecondsPass(world: World): void {
  world.write("bin/date", `#!/bin/sh\necho $(($(PATH=/usr/bin:/bin date "$@") + 5))\n`);
  chmodSync(join(world.path, "bin/date"), 0o755);
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1000);
}

class Node {
  readonly bundle: string;
  readonly #world: World;
  readonly #repository: string;
  readonly #base: string;
  readonly #folder: string;

  constructor(world: World, repository: string, base: string) {
    this.#world = world;
    this.#repository = repository;
    this.#base = base;
    this.#folder = join(world.path, "node");
    this.bundle = join(world.path, "node.bundle");
    mkdirSync(this.#folder, { recursive: true });
  }

  begin(): void {
    rmSync(this.#folder, { recursive: true });
    mkdirSync(this.#folder);
  }

  clone(name = "O'Hara"): string {
    const [repository, folder, commit] = [this.#repository, this.#folder, this.#base];
    return run(cloneScript({ repository, folder, branch: "node-1", commit, name, email: "o@example.com" }));
  }

  commit(): string {
    const { bundle } = this;
    return run(commitScript({ folder: this.#folder, message: "It's done", bundle, base: this.#base }), this.#world);
  }

  snapshot(): string {
    const { bundle } = this;
    return run(snapshotScript({ folder: this.#folder, message: "saved", bundle, base: this.#base }), this.#world);
  }
}

function run(script: string, world?: World): string {
  const env = world?.env ?? { PATH: process.env.PATH };
  const said = execFileSync("/bin/sh", ["-c", script], { env, stdio: ["ignore", "pipe", "pipe"] }).toString();
  return said.trim().split("\n").at(-1) ?? "";
}

/** Objects are added by a snapshot; nothing else is. */
function changedNames(before: Record<string, string>, after: Record<string, string>): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.filter((name) => !/^\.git\/objects\//.test(name) && before[name] !== after[name]);
}
