import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { deliverBranch } from "../../src/repository/deliver.ts";
import { BRANCH, World } from "../../src/repository/testing/world.ts";
import { anyhow } from "./repository-traps.ts";

/**
 * A repository whose own files lead elsewhere, to another repository of the person or to any file of theirs: it is neither
 * read there nor written. Plain git follows each of them.
 */
interface Elsewhere {
  make: (world: World) => void;
  refusal: string;
  /** Shows the secret with plain git. */
  plain: string;
}

const GIT = "person/.git";
const ELSEWHERE: Record<string, Elsewhere> = {
  "a .git that is a symbolic link": {
    make: (world) => {
      rmSync(join(world.path, GIT), { recursive: true });
      symlinkSync("../other/.git", join(world.path, GIT));
    },
    refusal: "is a symbolic link",
    plain: "git show main:secret.txt",
  },
  "a .git file": {
    make: (world) => {
      rmSync(join(world.path, GIT), { recursive: true });
      world.write(GIT, "gitdir: ../other/.git\n");
    },
    refusal: "which does not know these files",
    plain: "git show main:secret.txt",
  },
  "a .git file that names a worktree of another repository": {
    make: (world) => {
      world.plain("other", "worktree", "add", "-q", "--detach", join(world.path, "linked"));
      rmSync(join(world.path, GIT), { recursive: true });
      world.write(GIT, "gitdir: ../other/.git/worktrees/linked\n");
    },
    refusal: "which does not know these files",
    plain: "git show main:secret.txt",
  },
  "a common git folder": {
    make: (world) => world.write(`${GIT}/commondir`, "../../other/.git\n"),
    refusal: "which does not know these files",
    plain: "git show refs/heads/main:secret.txt",
  },
  "a folder of files": {
    make: (world) => world.plain("person", "config", "core.worktree", join(world.path, "other")),
    refusal: "core.worktree",
    plain: "git --git-dir=.git add -A && git show :secret.txt",
  },
  "objects of another repository": {
    make: (world) => world.write(`${GIT}/objects/info/alternates`, `${world.path}/other/.git/objects\n`),
    refusal: "Its objects are partly those of another repository",
    plain: "git show $OTHER:secret.txt",
  },
  "a linked folder of objects": {
    make: (world) => {
      renameSync(join(world.path, GIT, "objects"), join(world.path, "own-objects"));
      symlinkSync("../../own-objects", join(world.path, GIT, "objects"));
    },
    refusal: "Its objects are partly those of another repository",
    plain: "echo a secret; git log -1",
  },
  "a linked folder of packs": {
    make: (world) => {
      world.plain("other", "gc", "-q");
      rmSync(join(world.path, GIT, "objects/pack"), { recursive: true });
      symlinkSync("../../../other/.git/objects/pack", join(world.path, GIT, "objects/pack"));
    },
    refusal: "Its objects are partly those of another repository",
    plain: "git show $OTHER:secret.txt",
  },
  "a linked pack": {
    make: (world) => {
      world.plain("other", "gc", "-q");
      const packs = join(world.path, "other/.git/objects/pack");
      for (const name of readdirSync(packs))
        symlinkSync(join(packs, name), join(world.path, GIT, "objects/pack", name));
    },
    refusal: "Its objects are partly those of another repository",
    plain: "git show $OTHER:secret.txt",
  },
  "a linked folder of single objects": {
    make: (world) => {
      const objects = join(world.path, "other/.git/objects");
      const own = join(world.path, GIT, "objects");
      world.plain("person", "gc", "-q");
      for (const name of readdirSync(objects).filter((each) => each.length === 2)) {
        rmSync(join(own, name), { recursive: true, force: true });
        symlinkSync(join(objects, name), join(own, name));
      }
    },
    refusal: "Its objects are partly those of another repository",
    plain: "git show $OTHER:secret.txt",
  },
  "linked single objects": {
    make: (world) => {
      for (const name of world.sh("other/.git/objects", "find ?? -type f").split("\n")) {
        mkdirSync(join(world.path, GIT, "objects", name, ".."), { recursive: true });
        symlinkSync(join(world.path, "other/.git/objects", name), join(world.path, GIT, "objects", name));
      }
    },
    refusal: "Its objects are partly those of another repository",
    plain: "git show $OTHER:secret.txt",
  },
};

test.each(Object.entries(ELSEWHERE))("%s is refused; plain git goes there", async (_, { make, refusal, plain }) => {
  await using world = await worldWithOther();
  const { agent } = await world.created();
  const known = await world.inspect();
  const secret = world.plain("other", "rev-parse", "main");
  make(world);

  expect(await world.reasonAgainst()).toContain(refusal);
  // Also for one who looked before it was changed.
  expect(await agent.fetchFrom(known, secret).catch(() => "refused")).toBe("refused");
  expect(await agent.commitOf(secret)).toBeUndefined();

  expect(anyhow(world, "person", plain.replace("$OTHER", secret))).toContain("a secret");
});

test("an index that names a file behind a link brings nothing of that file along", async () => {
  await using world = await worldWithOther();
  world.write("person/notes/secret.txt", "a note\n");
  world.plain("person", "add", "-A");
  world.plain("person", "commit", "-qm", "notes");
  rmSync(join(world.person, "notes"), { recursive: true });
  symlinkSync("../other", join(world.person, "notes"));
  const person = await world.inspect();

  const { base } = await world.agent().create(person, person.head, BRANCH, { dirty: true });

  const files = world.plain("agent/repo.git", "ls-tree", "-r", base);
  expect(files).toMatch(/^120000 blob [0-9a-f]+\tnotes$/m);
  expect(files).not.toContain("secret.txt");
  // What reads the files that the index names, as a plain copy does, reads the secret.
  expect(world.sh("person", "git ls-files notes | xargs cat")).toBe("a secret");
});

const LINKS: Record<string, [link: string, found: string]> = {
  "the folder of our branches": ["refs/heads/agiraph", "quiet-river"],
  "the folder of their logs": ["logs/refs/heads/agiraph", "quiet-river"],
  "the log of the branch itself": ["logs/refs/heads/agiraph/quiet-river", ""],
};

test.each(Object.entries(LINKS))(
  "a link at %s is not followed when a branch comes; plain git writes there what their config says",
  async (_, [link, file]) => {
    await using world = await World.open();
    const { agent, base } = await world.created();
    const target = join(world.path, "elsewhere");
    world.write(
      file === "" ? "elsewhere" : `elsewhere/${file}`,
      file === "" || link.startsWith("logs") ? "" : `${base}\n`,
    );
    mkdirSync(join(world.path, GIT, link, ".."), { recursive: true });
    rmSync(join(world.path, GIT, link), { recursive: true, force: true });
    symlinkSync(target, join(world.path, GIT, link));
    world.plain("person", "config", "user.name", "$(touch canary)");
    const next = await agent.commitTree((await agent.stats(base, base)).tree, [base], "next", { name: "Bob" }, 1);
    await agent.keep("refs/agiraph/nodes/node-1", next);
    const read = () => readFileSync(join(target, file), "utf8");
    const before = read();

    const result = await deliverBranch(await world.inspect(), agent, BRANCH, next, world.git);

    expect(result).toEqual({ ok: false, reason: expect.stringContaining(`${link} leads elsewhere`) });
    expect(read()).toBe(before);
    anyhow(world, "person", `git update-ref -m evil refs/heads/${BRANCH} HEAD~1`);
    expect(read()).not.toBe(before);
  },
);

test("a branch that stands for another by name is replaced, and the other stays; plain git would move the other", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  world.plain("person", "symbolic-ref", `refs/heads/${BRANCH}`, "refs/heads/main");
  const next = await agent.commitTree((await agent.stats(base, base)).tree, [base], "next", { name: "Bob" }, 1);
  await agent.keep("refs/agiraph/nodes/node-1", next);

  const result = await deliverBranch(await world.inspect(), agent, BRANCH, next, world.git);

  expect(result).toEqual({ ok: true, commit: next });
  expect(world.plain("person", "rev-parse", "main", BRANCH).split("\n")).toEqual([base, next]);
  world.plain("person", "symbolic-ref", `refs/heads/${BRANCH}`, "refs/heads/main");
  world.plain("person", "update-ref", `refs/heads/${BRANCH}`, next);
  expect(world.plain("person", "rev-parse", "main")).toBe(next);
});

test("a lock that a killed delivery has left does not block the next (PERSON-REF-3)", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  world.write(`person/.git/refs/heads/${BRANCH}.lock`, "");
  expect(anyhow(world, "person", `git update-ref refs/heads/${BRANCH} HEAD`)).toContain("File exists");

  const result = await deliverBranch(await world.inspect(), agent, BRANCH, base, world.git);

  expect(result).toEqual({ ok: true, commit: base });
});

test("branches with odd names are left alone, and one below ours is said to be in the way", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const odd = ["-x", "a$(touch$IFS`canary`)", "é", "HEAD", base, `${BRANCH}x`];
  for (const name of odd) world.plain("person", "update-ref", `refs/heads/${name}`, "HEAD");
  const theirs = () => world.plain("person", "for-each-ref").replace(new RegExp(`^.*refs/heads/${BRANCH}\n`, "m"), "");
  const before = theirs();
  const deliver = async () => deliverBranch(await world.inspect(), agent, BRANCH, base, world.git);

  for (const name of odd) expect(await agent.fetchFrom(await world.inspect(), `refs/heads/${name}`)).toBe(base);
  expect(await deliver()).toEqual({ ok: true, commit: base });
  expect(theirs()).toBe(before);
  world.plain("person", "update-ref", "-d", `refs/heads/${BRANCH}`);
  world.plain("person", "branch", `${BRANCH}/theirs`);
  expect(await deliver()).toEqual({
    ok: false,
    reason: `You have a branch named ${BRANCH}/theirs, so there can be none named ${BRANCH}. Rename it: git branch -m ${BRANCH}/theirs NAME`,
  });
  expect(world.has("canary") || world.has("person/canary")).toBe(false);
});

/** With another repository of the same person beside it, which has a secret. */
async function worldWithOther(): Promise<World> {
  const world = await World.open();
  world.init(join(world.path, "other"));
  world.write("other/secret.txt", "a secret\n");
  world.plain("other", "add", "-A");
  world.plain("other", "commit", "-qm", "secret");
  return world;
}
