import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AgentRepository } from "../../src/repository/agent-repository.ts";
import { deliverBranch, mergeIntoCheckedOut } from "../../src/repository/deliver.ts";
import { inspectRepository } from "../../src/repository/person-repository.ts";
import { BRANCH, World } from "../../src/repository/testing/world.ts";

/**
 * Nothing that we do changes a byte of a person's repository but refs/heads/agiraph and added packs: not their files,
 * index, HEAD, refs, config, hooks, stash or reflogs, and no time of a file. And what they do to it meanwhile loses
 * nothing of the agent's, and is said in words.
 */
test("looking, copying (also what is not committed), fetching and delivering leave every byte as it was", async () => {
  await using world = await World.open();
  fill(world);
  let before = world.state("person");
  const unchanged = (when: string, mayBeOurs = false) => {
    const now = world.state("person");
    expect([when, changed(before, now, mayBeOurs)]).toEqual([when, []]);
    before = now;
  };

  const person = await world.inspect();
  unchanged("inspected");
  expect(person).toMatchObject({ branch: "main", changed: 5, untracked: 1 });
  const clean = world.agent();
  await clean.create(person, person.head, BRANCH);
  unchanged("copied");
  rmSync(clean.dir, { recursive: true });
  const agent = world.agent();
  const { base, left } = await agent.create(person, person.head, BRANCH, { dirty: true });
  unchanged("copied with what is not committed");
  expect(left).toEqual([]);
  const files = world.plain("agent/repo.git", "ls-tree", "-r", "--name-only", base).split("\n");
  expect(files).toEqual([".gitignore", "moved.js", "new/a.txt", "new/b.txt", "readme.md", "run.sh"]);
  await agent.fetchFrom(person, "refs/heads/side");
  await agent.fetchFrom(person, "refs/stash");
  unchanged("fetched from");
  const commit = await work(world, agent);
  expect(await deliverBranch(person, agent, BRANCH, commit, world.git)).toEqual({ ok: true, commit });
  unchanged("delivered to", true);
  expect(await deliverBranch(person, agent, BRANCH, base, world.git)).toEqual({ ok: true, commit: base });
  unchanged("delivered to again", true);
  const refused = await mergeIntoCheckedOut(person, agent, BRANCH, commit, world.git);
  expect(refused).toEqual({ ok: false, reason: expect.stringContaining("changes that are not committed") });
  unchanged("merged into, refused", true);

  // The control: the first command that a person would use changes the index.
  world.plain("person", "status");
  expect(changed(before, world.state("person"), true)).toEqual([".git/index"]);
  world.plain("person", "fsck", "--full", "--strict");
});

test("a linked worktree is read and delivered to, and neither it nor the main one changes", async () => {
  await using world = await World.open();
  world.plain("person", "worktree", "add", "-q", "-b", "linked", join(world.path, "linked"));
  world.write("linked/readme.md", "changed in the linked one\n");
  world.write("person/readme.md", "changed in the main one\n");
  const before = { main: world.state("person"), linked: world.state("linked") };
  const person = await world.inspect("linked");
  const agent = world.agent();

  const { base } = await agent.create(person, person.head, BRANCH, { dirty: true });
  expect(await deliverBranch(person, agent, BRANCH, base, world.git)).toEqual({ ok: true, commit: base });

  expect((await agent.fileAt(base, "readme.md", 100))?.toString()).toBe("changed in the linked one\n");
  expect(changed(before.main, world.state("person"), true)).toEqual([]);
  expect(changed(before.linked, world.state("linked"), true)).toEqual([]);
});

test("they rebase, force-push and prune everything: the team's work comes whole, on what they had thrown away", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const commit = await work(world, agent);
  world.plain("person", "checkout", "-q", "--orphan", "rewritten");
  world.plain("person", "commit", "-qm", "all in one");
  world.plain("person", "branch", "-M", "rewritten", "main");
  prune(world);
  expect(() => world.plain("person", "cat-file", "-e", base)).toThrow();

  const rewritten = world.plain("person", "rev-parse", "HEAD");
  expect(await agent.fetchFrom(await world.inspect(), "main")).toBe(rewritten);
  expect(await agent.merge(commit, rewritten)).toMatchObject({
    kind: "conflict",
    text: expect.stringContaining("no commit in common"),
  });
  expect(await deliverBranch(await world.inspect(), agent, BRANCH, commit, world.git)).toEqual({ ok: true, commit });

  expect(world.plain("person", "log", "--format=%s", BRANCH).split("\n")).toEqual(["work", "second", "first"]);
  expect(world.plain("person", "rev-parse", "main")).toBe(rewritten);
  world.plain("person", "fsck", "--full", "--strict");
});

test("a rebase that keeps some of their commits is merged again", async () => {
  await using world = await World.open();
  const { agent } = await world.created();
  const commit = await work(world, agent);
  world.plain("person", "reset", "-q", "--hard", "HEAD~1");
  world.write("person/instead.txt", "instead\n");
  world.plain("person", "add", "-A");
  world.plain("person", "commit", "-qm", "instead");
  prune(world);

  const theirs = await agent.fetchFrom(await world.inspect(), "main");
  const merged = await agent.merge(commit, theirs);

  if (merged.kind !== "clean") throw new Error(merged.text);
  const result = await agent.commitTree(merged.tree, [commit, theirs], "Take theirs", { name: "agiraph" }, 1);
  await agent.keep(`refs/agiraph/nodes/rebase`, result);
  expect(world.plain("agent/repo.git", "ls-tree", "-r", "--name-only", result).split("\n")).toEqual(
    expect.arrayContaining(["instead.txt", "work.txt"]),
  );
});

test("they delete the delivered branch and prune: it comes again, complete", async () => {
  await using world = await World.open();
  const { agent } = await world.created();
  const commit = await work(world, agent);
  const deliver = async () => deliverBranch(await world.inspect(), agent, BRANCH, commit, world.git);
  expect(await deliver()).toEqual({ ok: true, commit });
  world.plain("person", "branch", "-D", BRANCH);
  world.plain("person", "pack-refs", "--all", "--prune");
  prune(world);
  expect(() => world.plain("person", "cat-file", "-e", commit)).toThrow();

  expect(await deliver()).toEqual({ ok: true, commit });

  expect(world.plain("person", "show", `${BRANCH}:work.txt`)).toBe("work");
  world.plain("person", "fsck", "--full", "--strict");
});

test("they pack all refs: the delivered branch is found, and moves on", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const commit = await work(world, agent);
  expect(await deliverBranch(await world.inspect(), agent, BRANCH, base, world.git)).toMatchObject({ ok: true });
  world.plain("person", "gc", "-q", "--prune=now");
  expect(world.has(`person/.git/refs/heads/${BRANCH}`)).toBe(false);

  expect(await deliverBranch(await world.inspect(), agent, BRANCH, commit, world.git)).toEqual({ ok: true, commit });

  expect(world.plain("person", "rev-parse", BRANCH)).toBe(commit);
});

test("they move or remove the repository: said in words, and the work goes to where it is now", async () => {
  await using world = await World.open();
  const { agent } = await world.created();
  const commit = await work(world, agent);
  const known = await world.inspect();
  renameSync(world.person, join(world.path, "moved"));

  expect(await inspectRepository(world.person, world.git)).toEqual({
    ok: false,
    reason: `${world.person} does not exist.`,
  });
  for (const deliver of [deliverBranch, mergeIntoCheckedOut]) {
    const result = await deliver(known, agent, BRANCH, commit, world.git);
    expect(result).toEqual({ ok: false, reason: expect.stringContaining(`${world.person}`) });
  }
  await expect(agent.fetchFrom(known, "main")).rejects.toThrow(world.person);
  expect(world.has("person")).toBe(false);

  const moved = await world.inspect("moved");
  expect(await deliverBranch(moved, agent, BRANCH, commit, world.git)).toEqual({ ok: true, commit });
  expect(world.plain("moved", "show", `${BRANCH}:work.txt`)).toBe("work");
  // Made again from nothing, with the same files but another history.
  rmSync(join(world.path, "moved/.git"), { recursive: true });
  world.init(join(world.path, "moved"));
  world.plain("moved", "add", "-A");
  world.plain("moved", "commit", "-qm", "anew");
  expect(await deliverBranch(await world.inspect("moved"), agent, BRANCH, commit, world.git)).toEqual({
    ok: true,
    commit,
  });
  world.plain("moved", "fsck", "--full", "--strict");
});

test("objects that they lose after they were copied do not matter; those that we need and they lost are said", async () => {
  await using world = await World.open();
  const { agent } = await world.created();
  world.write("person/later.txt", "later\n");
  world.plain("person", "add", "-A");
  world.plain("person", "commit", "-qm", "later");
  const blob = world.plain("person", "rev-parse", "HEAD:later.txt");
  rmSync(join(world.person, ".git/objects", blob.slice(0, 2), blob.slice(2)));
  const before = world.plain("agent/repo.git", "for-each-ref");

  await expect(agent.fetchFrom(await world.inspect(), "main")).rejects.toThrow(blob);

  expect(world.plain("agent/repo.git", "for-each-ref")).toBe(before);
  world.plain("agent/repo.git", "fsck", "--full", "--strict");
});

/** Everything that a repository can have: staged, changed, removed, renamed, untracked, ignored, a stash, hooks. */
function fill(world: World): void {
  world.write("person/.gitignore", "ignored\n");
  world.write("person/run.sh", "#!/bin/sh\n");
  world.plain("person", "add", "-A");
  world.plain("person", "commit", "-qm", "third");
  world.plain("person", "branch", "side", "HEAD~1");
  world.plain("person", "gc", "-q");
  world.plain("person", "tag", "-a", "v1", "-m", "one");
  world.write("person/readme.md", "stashed\n");
  world.plain("person", "stash", "push", "-q");
  world.write("person/readme.md", "staged\n");
  world.plain("person", "add", "readme.md");
  world.write("person/readme.md", "changed after that\n");
  world.plain("person", "mv", "src/main.js", "moved.js");
  rmSync(join(world.person, "src/other.js"));
  world.sh("person", "chmod +x run.sh");
  world.write("person/new/a.txt", "a\n");
  // Packed already: where git finds an object again, it would set the time of the pack.
  world.write("person/new/b.txt", "other();\n");
  world.write("person/ignored", "ignored\n");
  world.write("person/.git/hooks/post-commit", "#!/bin/sh\nexit 1\n");
  world.plain("person", "config", "alias.x", "status");
  // Same bytes, another time: a git that may write the index notes it there.
  world.sh("person", "touch -d 2001-01-01 .gitignore");
}

async function work(world: World, agent: AgentRepository): Promise<string> {
  world.clone("alice");
  world.write("alice/work.txt", "work\n");
  const { bundle, commit } = world.commit("alice", "work");
  const received = await agent.receive(bundle, "node-1");
  if (!received.ok) throw new Error(received.reason);
  return commit;
}

function prune(world: World): void {
  world.plain("person", "reflog", "expire", "--expire=now", "--all");
  world.plain("person", "gc", "-q", "--prune=now");
}

/** Paths that are not as they were. Ours may be a new pack, and a branch below refs/heads/agiraph. */
function changed(before: Record<string, string>, now: Record<string, string>, mayBeOurs: boolean): string[] {
  const ours = /^\.git\/(?:refs\/heads\/agiraph(?:\/quiet-river)?$|objects\/pack\/pack-[0-9a-f]+\.(?:pack|idx)$)/;
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  const others = names.filter((name) => before[name] !== now[name]);
  return mayBeOurs ? others.filter((name) => !ours.test(name)) : others;
}
