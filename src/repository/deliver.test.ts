import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AgentRepository } from "./agent-repository.ts";
import { deliverBranch, mergeIntoCheckedOut, openPullRequest } from "./deliver.ts";
import { BRANCH, World } from "./testing/world.ts";

test("a branch comes as a ref and its objects; every other byte stays (DELIVER-1)", async () => {
  await using world = await World.open();
  const { agent, commit } = await worked(world);
  world.plain("person", "tag", "mine");
  world.write("person/readme.md", "not committed\n");
  world.plain("person", "stash", "push", "-q");
  world.write("person/readme.md", "not committed, again\n");
  const before = world.state("person");

  expect(await deliverBranch(await world.inspect(), agent, BRANCH, commit, world.git)).toEqual({ ok: true, commit });

  const after = world.state("person");
  const changed = Object.keys({ ...before, ...after }).filter((name) => before[name] !== after[name]);
  const own = /^\.git\/(?:objects\/pack|refs\/heads\/agiraph(?:\/quiet-river)?)/;
  expect(changed.filter((name) => !own.test(name))).toEqual([]);
  expect(Object.keys(before).filter((name) => !(name in after))).toEqual([]);
  expect(world.plain("person", "rev-parse", BRANCH)).toBe(commit);
  world.plain("person", "fsck", "--full", "--strict");
});

test("a branch comes whole where the person has deleted and pruned what it builds on (OBJECTS-1)", async () => {
  await using world = await World.open();
  const { agent, commit } = await worked(world);
  world.plain("person", "checkout", "-q", "--orphan", "fresh");
  world.plain("person", "commit", "-qm", "begin again");
  world.plain("person", "branch", "-D", "main");
  world.plain("person", "reflog", "expire", "--expire=now", "--all");
  world.plain("person", "gc", "-q", "--prune=now");

  expect(await deliverBranch(await world.inspect(), agent, BRANCH, commit, world.git)).toEqual({ ok: true, commit });

  world.plain("person", "fsck", "--full", "--strict");
  expect(world.plain("person", "log", "--format=%s", BRANCH).split("\n")).toEqual(["work", "second", "first"]);
});

test("what we delivered before is moved on; what somebody else has there is kept (DELIVER-3)", async () => {
  await using world = await World.open();
  const { agent, commit, base } = await worked(world);
  const deliver = async (to: string) => deliverBranch(await world.inspect(), agent, BRANCH, to, world.git);
  const other = await agent.commitTree((await agent.stats(base, base)).tree, [base], "other", { name: "Bob" }, 1);
  await agent.keep("refs/agiraph/nodes/node-2", other);

  expect(await deliver(commit)).toEqual({ ok: true, commit });
  expect(await deliver(commit)).toEqual({ ok: true, commit });
  expect(await deliver(other)).toEqual({ ok: true, commit: other });
  world.plain("person", "worktree", "add", "-q", join(world.path, "elsewhere"), BRANCH);
  expect(await deliver(commit)).toEqual({
    ok: false,
    reason: `${BRANCH} is checked out in ${join(world.path, "elsewhere")}. Switch to another branch there first: git switch -`,
  });
  world.plain("elsewhere", "commit", "-q", "--allow-empty", "-m", "mine");
  const mine = world.plain("elsewhere", "rev-parse", "HEAD");
  world.plain("person", "worktree", "remove", "--force", join(world.path, "elsewhere"));
  expect(await deliver(commit)).toEqual({
    ok: false,
    reason: expect.stringContaining("commits that the agent did not make"),
  });
  expect(world.plain("person", "rev-parse", BRANCH)).toBe(mine);
  expect(await deliverBranch(await world.inspect(), agent, "main", commit, world.git)).toEqual({
    ok: false,
    reason: "Only branches named agiraph/… are written, not main.",
  });
});

test("a branch named agiraph stands in the way, and is said to", async () => {
  await using world = await World.open();
  const { agent, commit } = await worked(world);
  world.plain("person", "branch", "agiraph");

  expect(await deliverBranch(await world.inspect(), agent, BRANCH, commit, world.git)).toEqual({
    ok: false,
    reason: `You have a branch named agiraph, so there can be none named ${BRANCH}. Rename it: git branch -m agiraph NAME`,
  });
});

test("the checked-out branch goes forward, or is merged when they have commits of their own", async () => {
  await using world = await World.open();
  const { agent, commit } = await worked(world);
  const merge = async () => mergeIntoCheckedOut(await world.inspect(), agent, BRANCH, commit, world.git);
  const start = world.plain("person", "rev-parse", "HEAD");

  expect(await merge()).toEqual({ ok: true, commit });
  expect(world.plain("person", "status", "--porcelain")).toBe("");
  expect(world.read("person/src/alice.js")).toBe("alice();\n");
  expect(await merge()).toEqual({ ok: true, commit });

  world.plain("person", "reset", "-q", "--hard", start);
  world.write("person/mine.txt", "mine\n");
  world.plain("person", "add", "-A");
  world.plain("person", "commit", "-qm", "mine");
  const merged = await merge();
  expect(world.plain("person", "log", "-1", "--format=%an %s %p").replace(/ [0-9a-f]+ [0-9a-f]+$/, "")).toBe(
    `Pat Merge branch '${BRANCH}'`,
  );
  expect(merged).toEqual({ ok: true, commit: world.plain("person", "rev-parse", "HEAD") });
  expect(world.plain("person", "status", "--porcelain")).toBe("");
  world.plain("person", "fsck", "--full", "--strict");
});

test("nothing of theirs is touched when something is in the way of a merge (DELIVER-3, DELIVER-4)", async () => {
  await using world = await World.open();
  const { agent, commit } = await worked(world);
  const refusal = async () => {
    const files = world.state("person");
    const result = await mergeIntoCheckedOut(await world.inspect(), agent, BRANCH, commit, world.git);
    const after = world.state("person");
    const own = /^\.git\/(?:objects|refs\/heads\/agiraph)/;
    const changed = Object.keys({ ...files, ...after }).filter(
      (name) => files[name] !== after[name] && !own.test(name),
    );
    return [result.ok ? "merged" : result.reason, changed];
  };

  world.write("person/readme.md", "changed\n");
  expect(await refusal()).toEqual([
    "You have changes that are not committed: readme.md. Commit or stash them, or accept without --merge.",
    [],
  ]);
  world.plain("person", "checkout", "-q", "--", ".");
  world.write("person/src/alice.js", "mine, untracked\n");
  expect(await refusal()).toEqual([expect.stringContaining("src/alice.js"), []]);
  // git merge itself would overwrite what is ignored.
  world.write("person/.git/info/exclude", "alice.js\n");
  expect(await refusal()).toEqual([expect.stringContaining("src/alice.js"), []]);
  world.plain("person", "add", "-Af", "src");
  world.plain("person", "commit", "-qm", "mine");
  expect(await refusal()).toEqual([
    expect.stringMatching(/^agiraph\/quiet-river and main change the same lines: src\/alice.js. Nothing was touched./),
    [],
  ]);
  world.plain("person", "checkout", "-q", "--detach");
  expect(await refusal()).toEqual([expect.stringContaining("No branch is checked out"), []]);
});

test("a pull request is pushed and opened with gh, or the commands are said", async () => {
  await using world = await World.open();
  const { agent, commit } = await worked(world);
  world.plain("person", "init", "-q", "--bare", join(world.path, "server.git"));
  const ask = async () =>
    openPullRequest(await world.inspect(), agent, BRANCH, { commit, title: "-t", body: "words\n" }, world.git);

  expect(await ask()).toEqual({ ok: false, reason: expect.stringContaining("git remote add origin URL") });
  world.plain("person", "remote", "add", "origin", join(world.path, "server.git"));
  const config = world.read("person/.git/config");
  expect(await ask()).toEqual({
    ok: false,
    reason: expect.stringContaining(`open the pull request in your browser: git push origin ${BRANCH}`),
  });
  mkdirSync(join(world.path, "bin"));
  world.write(
    "bin/gh",
    `#!/bin/sh\n[ "$1" = --version ] || { echo "$@" > "${world.path}/asked"; cat >> "${world.path}/asked"; }\necho https://example.com/pull/1\n`,
  );
  chmodSync(join(world.path, "bin/gh"), 0o755);

  expect(await ask()).toEqual({ ok: true, commit, url: "https://example.com/pull/1" });
  expect(world.read("asked")).toBe(`pr create --head ${BRANCH} --title -t --body-file -\nwords\n`);
  expect(world.plain("server.git", "rev-parse", BRANCH)).toBe(commit);
  expect(world.read("person/.git/config")).toBe(config);
});

async function worked(world: World): Promise<{ agent: AgentRepository; base: string; commit: string }> {
  const { agent, base } = await world.created();
  world.clone("alice");
  world.write("alice/src/alice.js", "alice();\n");
  const { bundle, commit } = world.commit("alice", "work");
  const received = await agent.receive(bundle, "node-1");
  if (!received.ok) throw new Error(received.reason);
  return { agent, base, commit };
}
