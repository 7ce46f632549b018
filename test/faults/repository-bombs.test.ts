import { execFileSync } from "node:child_process";
import { closeSync, ftruncateSync, openSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ReceiveLimits } from "../../src/repository/limits.ts";
import { BRANCH, World } from "../../src/repository/testing/world.ts";
import { deltaPack, Forge, plainFetch } from "./repository-bundles.ts";

/**
 * Little bundles that would become large: each is refused with what it is, and plain git takes it. What the person's own
 * repository has, however large, is no reason to refuse a worker's commit.
 */
const SOAK = process.env.AGIRAPH_SOAK !== undefined;

interface Bomb {
  limits?: Partial<ReceiveLimits>;
  commit: (forge: Forge) => string;
  reason: string | RegExp;
}

const BOMBS: Record<string, Bomb> = {
  "10^9 files in ten objects": { commit: (forge) => forge.commit(fanOut(forge, 9)), reason: "It has 1000000000 files" },
  "10^9 files in a commit before the last": {
    commit: (forge) => {
      const bomb = forge.commit(fanOut(forge, 9));
      return forge.commit(forge.tree({ name: "x", id: forge.blob() }), { parents: [bomb] });
    },
    reason: "It has 1000000000 files",
  },
  "more than 10^100 files": {
    commit: (forge) => forge.commit(fanOut(forge, 101)),
    reason: "It has more than 10^12 files",
  },
  "folders 5,000 deep": {
    commit: (forge) => forge.commit(nested(forge, 5_000)),
    reason: /deep|git refuses it/,
  },
  "folders 150 deep": {
    commit: (forge) => forge.commit(nested(forge, 150)),
    reason: /^Its folders are more than 128 deep/,
  },
  "a path of 5,000 bytes": {
    commit: (forge) => forge.commit(nested(forge, 25, "x".repeat(200))),
    reason: "a path of 5",
  },
  "200,100 files in one folder": {
    commit: (forge) => {
      const entry = Buffer.concat([Buffer.from("\0"), Buffer.from(forge.blob(), "hex")]);
      const entries = Array.from({ length: 200_100 }, (_, at) => [Buffer.from(`100644 ${1_000_000 + at}`), entry]);
      return forge.commit(forge.object("tree", Buffer.concat(entries.flat())));
    },
    reason: "It has more than 200",
  },
  "a message of 2 MiB": {
    commit: (forge) => forge.commit(forge.tree(), { message: `${"x".repeat(2 << 20)}\n` }),
    reason: "a commit message of 2",
  },
  "a file of 64 MiB of zeros": {
    limits: { fileBytes: 32 << 20 },
    commit: (forge) => forge.committed({ name: "zeros", id: forge.blob(Buffer.alloc(64 << 20)) }),
    reason: "It has a file of 64 MiB; at most 32 are taken.",
  },
  "many files of zeros": {
    limits: { inflatedBytes: 32 << 20 },
    commit: (forge) =>
      forge.committed(...[1, 2, 3, 4, 5].map((n) => ({ name: `${n}`, id: forge.blob(Buffer.alloc(8 << 20, n)) }))),
    reason: "It unpacks to more than 32 MiB.",
  },
  "more objects than are taken": {
    limits: { objects: 100 },
    commit: (forge) =>
      forge.committed(...Array.from({ length: 100 }, (_, at) => ({ name: `${1000 + at}`, id: forge.blob(`${at}`) }))),
    reason: "It has more than 100 objects.",
  },
  "a bundle that is too large": {
    limits: { bytes: 100 },
    commit: (forge) => forge.commit(forge.tree()),
    reason: "MiB; at most 1 are taken.",
  },
};

test.each(Object.entries(BOMBS))("%s: refused", async (_, { limits, commit, reason }) => {
  await using world = await World.open();
  const { agent } = await world.created(limits);
  const forge = new Forge(world);
  const made = commit(forge);
  const bundle = forge.bundle({ HEAD: made });

  const received = await agent.receive(bundle, "node-1");

  expect(received).toEqual({
    ok: false,
    reason: typeof reason === "string" ? expect.stringContaining(reason) : expect.stringMatching(reason),
  });
  expect(await agent.commitOf(made)).toBeUndefined();
  plainFetch(world, bundle, "HEAD");
});

test("deltas that would need 2 GiB of memory end git, not us", async () => {
  await using world = await World.open();
  const { agent } = await world.created();
  const forge = new Forge(world);
  const commit = forge.committed({ name: "x", id: forge.blob() });

  const received = await agent.receive(forge.bundle({ HEAD: commit }, { pack: deltaPack(3072) }), "node-1");

  expect(received).toEqual({ ok: false, reason: expect.stringMatching(/^git refuses it: /) });
  expect(world.sh("agent/repo.git", "ls -A incoming objects/pack | grep -c tmp || true")).toBe("0");
  // The same with 4 MiB is a proper pack, so the bomb is one by its size alone.
  world.write("small.pack", deltaPack(4));
  world.sh("forge", "git index-pack --stdin < ../small.pack");
});

test("a person's repository of 1,000,000 files can be worked on: what a worker adds is measured without it (COMMIT-TREE-3)", {
  timeout: 600_000,
}, async () => {
  await using world = await World.open();
  const large = largeHistory(world, world.plain("person", "rev-parse", "HEAD"));
  const person = await world.inspect();
  const agent = world.agent();
  await agent.create(person, large, BRANCH);
  bareClone(world);
  const tree = world.plain("worker", "rev-parse", `${large}^{tree}`);
  const listed = world.plainWith("worker", { maxBuffer: 1 << 28 }, "ls-tree", tree);
  const blob = world.plainWith("worker", { input: "new\n" }, "hash-object", "-w", "--stdin");
  const added = world.plainWith("worker", { input: `${listed}\n100644 blob ${blob}\tzz-new\n` }, "mktree");
  const commit = world.plain("worker", "commit-tree", added, "-p", large, "-m", "one more");
  world.plain("worker", "update-ref", "refs/heads/work", commit);
  const bundle = join(world.path, "worker.bundle");
  world.plain("worker", "bundle", "create", "-q", bundle, "refs/heads/work", `^${large}`);

  expect(await agent.receive(bundle, "node-1")).toEqual({ ok: true, refs: { "refs/heads/work": commit } });
  expect(await agent.stats(large, commit)).toMatchObject({ files: 1, insertions: 1, deletions: 0 });
  expect((await agent.merge(large, commit)).kind).toBe("clean");
});

test.skipIf(!SOAK)(
  "10 GB of zeros: refused as a bundle, taken from the person (soak)",
  { timeout: 3_600_000 },
  async () => {
    await using world = await World.open();
    const size = 10 * 1000 ** 3;
    const file = openSync(join(world.person, "zeros"), "w");
    ftruncateSync(file, size);
    closeSync(file);
    const person = await world.inspect();
    const agent = world.agent();
    const { base, left } = await agent.create(person, person.head, BRANCH, { dirty: true });
    expect(left).toEqual([]);
    expect(world.plain("agent/repo.git", "ls-tree", "-l", base, "zeros")).toContain(` ${size}\t`);
    expect(await agent.fileAt(base, "zeros", 1000)).toBeUndefined();
    expect((await agent.diff(person.head, base)).files).toEqual([
      expect.objectContaining({ path: "zeros", binary: true, bytes: size }),
    ]);

    bareClone(world);
    const other = world.sh("worker", `truncate -s ${size} ../big && printf x >> ../big && git hash-object -w ../big`);
    const tree = world.plainWith("worker", { input: `100644 blob ${other}\tbig\n` }, "mktree");
    const commit = world.plain("worker", "commit-tree", tree, "-p", base, "-m", "big");
    world.plain("worker", "update-ref", "refs/heads/work", commit);
    const bundle = join(world.path, "worker.bundle");
    world.plain("worker", "bundle", "create", "-q", bundle, "refs/heads/work", `^${base}`);
    expect(await agent.receive(bundle, "node-1")).toEqual({
      ok: false,
      reason: "It has a file of 9537 MiB; at most 512 are taken.",
    });
  },
);

/** Each folder has ten times the same folder. */
function fanOut(forge: Forge, levels: number): string {
  const names = Array.from({ length: 10 }, (_, at) => `${at}`);
  const id = forge.blob();
  let tree = forge.tree(...names.map((name) => ({ name, id })));
  for (let level = 1; level < levels; level++) {
    const below = tree;
    tree = forge.tree(...names.map((name) => forge.folder(name, below)));
  }
  return tree;
}

function nested(forge: Forge, depth: number, name?: string): string {
  return forge.nest(forge.tree({ name: "x", id: forge.blob() }), depth, name);
}

/** On top of `head`, without touching the person's files: a branch of a million files. */
function largeHistory(world: World, head: string): string {
  const id = world.plainWith("person", { input: "content\n" }, "hash-object", "-w", "--stdin");
  const name = (at: number) => String(at).padStart(4, "0");
  const folders: string[] = [];
  // A hundred folders are enough to see that each is read once; all of them have a thousand files.
  for (let at = 0; at < 100; at++) {
    const other = world.plainWith("person", { input: `${at}\n` }, "hash-object", "-w", "--stdin");
    const lines = Array.from({ length: 1000 }, (_, file) => `100644 blob ${file === 0 ? other : id}\t${name(file)}\n`);
    folders.push(world.plainWith("person", { input: lines.join("") }, "mktree"));
  }
  const lines = Array.from({ length: 1000 }, (_, at) => `040000 tree ${folders[at % 100]}\t${name(at)}\n`);
  const tree = world.plainWith("person", { input: lines.join("") }, "mktree");
  const commit = world.plain("person", "commit-tree", tree, "-p", head, "-m", "large");
  world.plain("person", "branch", "large", commit);
  return commit;
}

/** A worker's objects without their files, which would take minutes. */
function bareClone(world: World): void {
  const args = ["clone", "-q", "--bare", "--shared", "agent/repo.git", "worker"];
  execFileSync("git", args, { cwd: world.path, env: world.env });
  world.plain("worker", "config", "user.name", "Alice");
  world.plain("worker", "config", "user.email", "alice@example.com");
}
