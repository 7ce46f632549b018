import { execFileSync } from "node:child_process";
import { chmodSync, readdirSync, renameSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { AgentRepository } from "./agent-repository.ts";
import { Git } from "./git.ts";
import { BRANCH, World } from "./testing/world.ts";

test("an agent's repository has what the base reaches, and nothing else of the person's", async () => {
  await using world = await World.open();
  world.write("person/secret.txt", "a key\n");
  world.plain("person", "stash", "push", "-q", "-u");
  const stash = world.plain("person", "rev-parse", "stash@{0}");

  const { agent, base } = await world.created();

  expect(base).toBe(world.plain("person", "rev-parse", "HEAD"));
  expect(await agent.tip(BRANCH)).toBe(base);
  expect(await agent.commitOf(stash)).toBeUndefined();
  const all = world.plain("agent/repo.git", "cat-file", "--batch-all-objects", "--batch-check=%(objectname)");
  const reached = world.plain("person", "rev-list", "--objects", "--no-object-names", "HEAD");
  expect(all.split("\n").sort()).toEqual(reached.split("\n").sort());
  expect(readdirSync(join(agent.dir, "objects/info"))).toEqual([]);
});

test("what a killed creation has left is removed, and a second creation changes nothing", async () => {
  await using world = await World.open();
  world.write("agent/repo.git.part/objects/junk", "half");

  const { agent, base } = await world.created();
  world.write("person/new.txt", "new");
  world.plain("person", "add", "-A");
  world.plain("person", "commit", "-qm", "third");
  const person = await world.inspect();

  expect(await agent.create(person, person.head, BRANCH)).toEqual({ base, left: [] });
  expect(readdirSync(join(world.path, "agent"))).toEqual(["repo.git"]);
});

test("what killed processes have left unfinished in it is removed by the next, once, and nothing else", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  // To another process, which has not seen it yet.
  renameSync(agent.dir, join(world.path, "elsewhere.git"));
  const files = ["pack/tmp_pack_x", "pack/tmp_idx_x", "pack/.tmp-7-pack-x", "aa/tmp_obj_x", "tmp_objdir-incoming-x/a"];
  for (const file of files) world.write(`elsewhere.git/objects/${file}`, "half");
  world.write("elsewhere.git/incoming/node-1/pack/tmp_pack_x", "half");
  world.write("elsewhere.git/outgoing/pack", "half");
  const before = world.state("elsewhere.git");
  const next = AgentRepository.open(join(world.path, "elsewhere.git"), world.git);
  const person = await world.inspect();

  expect(await next.create(person, person.head, BRANCH)).toEqual({ base, left: [] });

  const after = world.state("elsewhere.git");
  const gone = Object.keys(before).filter((name) => !(name in after) && !before[name]?.startsWith("folder"));
  expect(gone.sort()).toEqual(
    [...files.map((file) => `objects/${file}`), "incoming/node-1/pack/tmp_pack_x", "outgoing/pack"].sort(),
  );
  world.write("elsewhere.git/objects/pack/tmp_pack_y", "of a git at work");
  await next.create(person, person.head, BRANCH);
  expect(world.has("elsewhere.git/objects/pack/tmp_pack_y")).toBe(true);
});

test("a worker's bundle is taken, merged and moved to", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  world.clone("alice");
  world.write("alice/src/alice.js", "alice();\n");
  const alice = world.commit("alice", "Add alice");
  world.clone("bob");
  world.write("bob/src/bob.js", "bob();\n");
  const bob = world.commit("bob", "Add bob");

  expect(await agent.receive(alice.bundle, "node-1")).toEqual({ ok: true, refs: { HEAD: alice.commit } });
  expect(await agent.receive(bob.bundle, "node-2")).toEqual({ ok: true, refs: { HEAD: bob.commit } });
  expect(await agent.moveBranch(BRANCH, base, alice.commit)).toBe(true);
  expect(await agent.moveBranch(BRANCH, base, bob.commit)).toBe(false);
  const merged = await agent.merge(alice.commit, bob.commit);
  if (merged.kind !== "clean") throw new Error(merged.text);
  const author = { name: "Bob", email: "bob@example.com" };
  const make = () => agent.commitTree(merged.tree, [alice.commit, bob.commit], "Merge bob\n", author, 1_700_000_000);
  const commit = await make();
  expect(await make()).toBe(commit);
  expect(await agent.moveBranch(BRANCH, alice.commit, commit)).toBe(true);

  expect(await agent.tip(BRANCH)).toBe(commit);
  expect(await agent.isAncestor(bob.commit, commit)).toBe(true);
  expect(await agent.isAncestor(commit, bob.commit)).toBe(false);
  expect(await agent.stats(base, commit)).toEqual({
    commit,
    tree: merged.tree,
    parent: base,
    files: 2,
    insertions: 2,
    deletions: 0,
  });
  expect(await agent.commits(base, commit, 1)).toEqual([
    { commit, author: "Bob", ts: 1_700_000_000, subject: "Merge bob" },
  ]);
  expect((await agent.fileAt(commit, "src/bob.js", 100))?.toString()).toBe("bob();\n");
  expect(await agent.fileAt(commit, "src/bob.js", 3)).toBeUndefined();
  expect(await agent.fileAt(commit, "src", 100)).toBeUndefined();
  expect(await agent.fileAt(commit, "none", 100)).toBeUndefined();
});

test("a conflict names the files and shows the lines", async () => {
  await using world = await World.open();
  const { agent } = await world.created();
  const commits: string[] = [];
  for (const name of ["alice", "bob"]) {
    world.clone(name);
    world.write(`${name}/readme.md`, `one\n${name} was here\nthree\n`);
    const { bundle, commit } = world.commit(name, name);
    await agent.receive(bundle, name);
    commits.push(commit);
  }

  const merged = await agent.merge(commits[0] ?? "", commits[1] ?? "");

  expect(merged).toEqual({ kind: "conflict", files: ["readme.md"], text: expect.any(String) });
  if (merged.kind !== "conflict") return;
  expect(merged.text).toContain("CONFLICT (content): Merge conflict in readme.md");
  expect(merged.text).toContain("<<<<<<< the branch\nalice was here\n");
  expect(merged.text).toContain("=======\nbob was here\n>>>>>>> this work");
});

test("what has no commit in common cannot be merged, and is said to", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  world.clone("alice");
  world.plain("alice", "checkout", "-q", "--orphan", "new");
  const { bundle, commit } = world.commit("alice", "from nothing");
  await agent.receive(bundle, "node-1");

  expect(await agent.merge(base, commit)).toEqual({
    kind: "conflict",
    files: [],
    text: "The two have no commit in common, so there is nothing to merge them by.",
  });
});

test("a commit and a merge are undone on top of what came later", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  world.clone("alice");
  world.write("alice/readme.md", "ONE\ntwo\nthree\n");
  const first = world.commit("alice", "shout");
  await agent.receive(first.bundle, "node-1");
  const side = await agent.commitTree((await agent.stats(base, base)).tree, [base], "side", { name: "Bob" }, 1);
  const tree = (await agent.stats(base, first.commit)).tree;
  const merge = await agent.commitTree(tree, [side, first.commit], "merge", { name: "Bob" }, 2);
  const own = await agent.commitTree(tree, [first.commit, side], "own", { name: "Bob" }, 2);
  world.plain("alice", "fetch", "-q", agent.dir, `+refs/agiraph/*:refs/x/*`);
  world.write("alice/later.txt", "later\n");
  const later = world.commit("alice", "later");
  await agent.receive(later.bundle, "node-2");

  const undone = [
    { commit: first.commit, parent: base },
    { commit: merge, parent: side },
    // As a worker merges: its own commit comes first, the branch second.
    { commit: own, parent: side },
  ];
  for (const each of undone) {
    const reverted = await agent.revert(later.commit, each);
    if (reverted.kind !== "clean") throw new Error(reverted.text);
    const commit = await agent.commitTree(reverted.tree, [later.commit], "undo", { name: "Bob" }, 3);
    expect((await agent.fileAt(commit, "readme.md", 100))?.toString()).toBe("one\ntwo\nthree\n");
    expect((await agent.fileAt(commit, "later.txt", 100))?.toString()).toBe("later\n");
  }
});

test("a lock that a killed git has left does not stop a ref from moving (REFS-2)", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const next = await agent.commitTree((await agent.stats(base, base)).tree, [base], "next", { name: "Bob" }, 1);
  world.write(`agent/repo.git/refs/heads/${BRANCH}.lock`, "");
  expect(() => world.plain("agent/repo.git", "update-ref", `refs/heads/${BRANCH}`, next)).toThrow("File exists");

  expect(await agent.moveBranch(BRANCH, base, next)).toBe(true);
  world.write("agent/repo.git/refs/agiraph/nodes/node-1.lock", "");
  await agent.keep("refs/agiraph/nodes/node-1", next);

  expect(await agent.commitOf("refs/agiraph/nodes/node-1")).toBe(next);
});

test("refs that somebody's gc has packed are found, and move on (REFS-1)", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const next = await agent.commitTree((await agent.stats(base, base)).tree, [base], "next", { name: "Bob" }, 1);
  await agent.keep("refs/agiraph/nodes/node-1", base);
  world.plain("agent/repo.git", "pack-refs", "--all");
  expect(world.has(`agent/repo.git/refs/heads/${BRANCH}`)).toBe(false);

  expect(await agent.tip(BRANCH)).toBe(base);
  expect(await agent.moveBranch(BRANCH, next, base)).toBe(false);
  expect(await agent.moveBranch(BRANCH, base, next)).toBe(true);
  await agent.keep("refs/agiraph/nodes/node-1", next);
  expect([await agent.tip(BRANCH), await agent.commitsIn("refs/agiraph/nodes")]).toEqual([next, [next]]);
  expect(await agent.tip("agiraph/no-such")).toBeUndefined();
});

test("names that git would take for options or other refs are refused", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();

  expect(await agent.commitOf("--all")).toBeUndefined();
  await expect(agent.keep("refs/heads/main", base)).rejects.toThrow("refs/agiraph/");
  await expect(agent.keep("refs/agiraph/../heads/x", base)).rejects.toThrow("refs/agiraph/");
  await expect(agent.keep("refs/agiraph/a.lock", base)).rejects.toThrow("refs/agiraph/");
  expect(() => agent.diff("--output=/tmp/x", base)).toThrow("not the full name");
});

test("snapshots are listed, and nothing that was kept is ever removed", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const commit = await agent.commitTree(
    (await agent.stats(base, base)).tree,
    [base],
    "saved\n\nmore",
    { name: "Bob" },
    7,
  );
  await agent.keep("refs/agiraph/snapshots/node-1/1", commit);

  expect(await agent.snapshots()).toEqual([
    { ref: "refs/agiraph/snapshots/node-1/1", commit, ts: 7, subject: "saved" },
  ]);
});

test("the person's new commits are fetched, also while they belong to no branch any more", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  world.write("person/new.txt", "new\n");
  world.plain("person", "add", "-A");
  world.plain("person", "commit", "-qm", "third");
  const third = world.plain("person", "rev-parse", "HEAD");

  expect(await agent.fetchFrom(await world.inspect(), "main")).toBe(third);
  world.plain("person", "reset", "-q", "--hard", base);
  world.plain("person", "reflog", "expire", "--expire=now", "--all");
  world.plain("person", "gc", "-q", "--prune=now");

  expect((await agent.fileAt(third, "new.txt", 100))?.toString()).toBe("new\n");
  await expect(agent.fetchFrom(await world.inspect(), "none")).rejects.toThrow('no commit named "none"');
  execFileSync("git", ["--git-dir", agent.dir, "fsck", "--full", "--strict"], { stdio: "pipe" });
});

test("a path that leads out of a tree, or is written from a folder, names nothing in it", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  for (const path of ["../src/main.js", "./src/main.js", "..", ".", "/src/main.js", "src/../src/main.js", "a\nb", ""])
    expect([path, await agent.fileAt(base, path, 1000), await agent.has(base, path)]).toEqual([path, undefined, false]);
  expect((await agent.fileAt(base, "src/main.js", 1000))?.toString()).toBe("main();\n");
  expect(await agent.has(base, "src")).toBe(true);
});

test("a file that is added and too large for the memory of git: the others are shown, it is listed, the rest says it is cut", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const worker = world.clone("worker");
  world.write("worker/aaa.txt", "before\n");
  world.write("worker/big", "");
  truncateSync(join(worker, "big"), 96 * 1024 * 1024);
  world.write("worker/zzz.txt", "after\n");
  const { bundle, commit } = world.commit("worker", "big");
  expect(await agent.receive(bundle, "node-1")).toMatchObject({ ok: true });
  // As a file of 10 GB is for the limit that git has.
  world.write(
    "bin/git",
    `#!/bin/sh\ncase "$*" in *diff-tree*) ulimit -v 92160 ;; esac\nexec /usr/bin/env PATH='${process.env.PATH}' git "$@"\n`,
  );
  chmodSync(join(world.path, "bin/git"), 0o755);
  const limited = AgentRepository.open(
    agent.dir,
    new Git({ env: world.env, temporary: join(world.path, "temporary") }),
  );

  const { files, files_total } = await limited.diff(base, commit);
  const patch = (await limited.patch(base, commit)).toString();

  expect(files_total).toBe(3);
  expect(files.map(({ path, binary, bytes, hunks, cut }) => [path, binary, bytes, hunks.length, cut])).toEqual([
    ["aaa.txt", false, undefined, 1, undefined],
    ["big", true, 96 * 1024 * 1024, 0, undefined],
    ["zzz.txt", false, undefined, 0, true],
  ]);
  expect(patch).toContain("+before");
  expect(patch).toContain("The patch ends here: a file of it is too large to be read.");
});
