import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isTooOld } from "./person-repository.ts";
import { World } from "./testing/world.ts";

/** Two branches that change the same line, on main. */
function diverged(world: World): void {
  world.plain("person", "checkout", "-qb", "theirs");
  world.write("person/readme.md", "theirs\n");
  world.plain("person", "commit", "-qam", "theirs");
  world.plain("person", "checkout", "-q", "main");
  world.write("person/readme.md", "ours\n");
  world.plain("person", "commit", "-qam", "ours");
}

/** What a person begins, which stops half-way; then how they end it. */
const UNFINISHED: Record<string, { begin: string[][]; says: string; end: string[] }> = {
  "a merge": {
    begin: [["merge", "theirs"]],
    says: "a merge. End it first: git commit, or git merge --abort.",
    end: ["merge", "--abort"],
  },
  "a rebase": {
    begin: [["rebase", "theirs"]],
    says: "a rebase. End it first: git rebase --continue",
    end: ["rebase", "--abort"],
  },
  "a cherry-pick": {
    begin: [["cherry-pick", "theirs"]],
    says: "a cherry-pick. End it first: git cherry-pick --continue",
    end: ["cherry-pick", "--abort"],
  },
  "a revert": {
    begin: [["revert", "--no-edit", "theirs"]],
    says: "a revert. End it first: git revert",
    end: ["revert", "--abort"],
  },
  "a bisect": {
    begin: [["bisect", "start"]],
    says: "a bisect. End it first: git bisect reset.",
    end: ["bisect", "reset"],
  },
};

test.each(Object.entries(UNFINISHED))(
  "a repository in the middle of %s is refused with how to end it, and taken afterwards (PERSON-REPOSITORY-3)",
  async (_, { begin, says, end }) => {
    await using world = await World.open();
    diverged(world);
    for (const args of begin) spawnSync("git", args, { cwd: world.person, env: world.env });

    expect(await world.reasonAgainst()).toContain(`${world.person} is in the middle of ${says}`);

    world.plain("person", ...end);
    expect(await world.reasonAgainst()).toBe("(not refused)");
  },
);

test("what is no repository with files and a commit is refused, with what to do (PERSON-REPOSITORY-3)", async () => {
  await using world = await World.open();
  world.write("plain/file.txt", "plain\n");
  world.init(join(world.path, "empty"));
  world.init(join(world.path, "bare.git"), "--bare");

  expect(await world.reasonAgainst("plain")).toMatch(/plain is not a git repository\. Make it one \(git init && /);
  expect(await world.reasonAgainst("empty")).toMatch(/empty has no commit yet\. Make one: git add -A && git commit/);
  expect(await world.reasonAgainst("bare.git")).toMatch(
    /bare\.git is a bare repository.*Name a folder that it is checked/,
  );
  expect(await world.reasonAgainst("person/.git")).toMatch(/\.git is inside a git folder\. Name the folder that holds/);
  expect(await world.reasonAgainst("nowhere")).toMatch(/nowhere does not exist\.$/);
  expect(["git version 2.37.9", "git version 2.38.0", "git version 2.39.5 (Apple Git-154)"].map(isTooOld)).toEqual([
    true,
    false,
    false,
  ]);
});

test("submodules, LFS and a shallow history are seen, so that they can be said", async () => {
  await using world = await World.open();
  expect(await world.inspect()).toMatchObject({ submodules: [], usesLfs: false, isShallow: false });
  const commit = world.plain("person", "rev-parse", "HEAD");
  world.write("person/assets/.gitattributes", "*.png filter=lfs diff=lfs merge=lfs -text\n");
  world.plain("person", "add", "-A");
  for (const path of ["vendor/lib", "vendor/ünë"])
    world.plain("person", "update-index", "--add", "--cacheinfo", `160000,${commit},${path}`);
  world.plain("person", "commit", "-qm", "vendor");
  world.plain(".", "clone", "-q", "--depth=1", `file://${world.person}`, "shallow");

  expect(await world.inspect()).toMatchObject({ submodules: ["vendor/lib", "vendor/ünë"], usesLfs: true });
  expect(await world.inspect("shallow")).toMatchObject({ isShallow: true });
});
