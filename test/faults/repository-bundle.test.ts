import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { AgentRepository } from "../../src/repository/agent-repository.ts";
import { World } from "../../src/repository/testing/world.ts";
import { Forge, plainFetch, type RawEntry } from "./repository-bundles.ts";

/**
 * Bundles that a hostile sandbox might have written. Each is refused in words, leaves nothing behind, and is taken by a
 * plain `git fetch`, which is the control.
 */
type Entries = (forge: Forge) => RawEntry[];

// What is refused leaves nothing behind, so one world does for many.
let world: World;
let agent: AgentRepository;
let forge: Forge;

beforeAll(async () => {
  world = await World.open();
  ({ agent } = await world.created());
  forge = new Forge(world);
});

beforeEach(() => forge.begin());

afterAll(() => world[Symbol.asyncDispose]());

const NAMES: Record<string, [entries: Entries, reason: string]> = {
  ".git itself": [(forge) => [forge.folder(".git", forge.tree({ name: "config", id: forge.blob() }))], "hasDotgit"],
  ".git in capitals": [
    (forge) => [forge.folder(".GIT", forge.tree({ name: "config", id: forge.blob() }))],
    "hasDotgit",
  ],
  ".git with a letter that is ignored": [
    (forge) => [forge.folder(".g\u200cit", forge.tree({ name: "config", id: forge.blob() }))],
    "hasDotgit",
  ],
  ".git in full-width letters": [
    (forge) => [forge.folder(".ｇｉｔ", forge.tree({ name: "config", id: forge.blob() }))],
    'can be taken for ".git"',
  ],
  ".git by its short name": [(forge) => [forge.folder("GIT~1", forge.tree())], "hasDotgit"],
  ".git with a dot at the end": [(forge) => [forge.folder(".git. .", forge.tree())], "hasDotgit"],
  ".git as a stream": [(forge) => [{ name: ".git::$INDEX_ALLOCATION", id: forge.blob() }], "hasDotgit"],
  ".git behind a backslash": [(forge) => [{ name: "a\\.git\\config", id: forge.blob() }], "hasDotgit"],
  "a folder above": [(forge) => [forge.folder("..", forge.tree({ name: "x", id: forge.blob() }))], "hasDotdot"],
  "a folder above, behind a backslash": [
    (forge) => [{ name: "a\\..\\..\\x", id: forge.blob() }],
    'can be taken for ".git"',
  ],
  "a path as a name": [(forge) => [{ name: "a/../../x", id: forge.blob() }], "fullPathname"],
  "a name twice": [
    (forge) => [
      { name: "x", id: forge.blob("1") },
      { name: "x", id: forge.blob("2") },
    ],
    "duplicateEntries",
  ],
  "a file of the name of a folder": [
    (forge) => [{ name: "x", id: forge.blob("1") }, forge.folder("x", forge.tree())],
    "duplicateEntries",
  ],
  "a folder with a zero before its mode": [
    (forge) => [{ mode: "040000", name: "x", id: forge.tree({ name: "y", id: forge.blob() }) }],
    "zeroPaddedFilemode",
  ],
  "a long name": [(forge) => [{ name: "x".repeat(256), id: forge.blob() }], "256 bytes long"],
  "a submodule whose address is an option": [
    (forge) => [{ name: ".gitmodules", id: forge.blob('[submodule "x"]\n\tpath = x\n\turl = -u./evil\n') }],
    "gitmodulesUrl",
  ],
  "a submodule whose name leads out": [
    (forge) => [{ name: ".gitmodules", id: forge.blob('[submodule "../../hooks"]\n\tpath = x\n\turl = x\n') }],
    "gitmodulesName",
  ],
  "a submodule with a command": [
    (forge) => [{ name: ".gitmodules", id: forge.blob('[submodule "x"]\n\tpath = x\n\turl = x\n\tupdate = !evil\n') }],
    "gitmodulesUpdate",
  ],
  ".gitmodules as a link": [(forge) => [forge.link(".gitmodules", "elsewhere")], "gitmodulesSymlink"],
};

test.each(Object.entries(NAMES))("a tree with %s is refused", async (_, [entries, reason]) => {
  const bundle = forge.bundle({ HEAD: forge.committed(...entries(forge)) });
  const before = world.state("agent/repo.git");

  expect(await agent.receive(bundle, "node-1")).toEqual({ ok: false, reason: expect.stringContaining(reason) });

  expect(unexpected(before, world.state("agent/repo.git"))).toEqual([]);
  plainFetch(world, bundle, "HEAD");
});

const LINKS: Record<string, Entries> = {
  "to a folder above": (forge) => [forge.link("x", "../secret")],
  "to the root": (forge) => [forge.link("x", "/etc/passwd")],
  "into the git folder": (forge) => [forge.link("x", ".git/hooks")],
  "into the git folder by another case": (forge) => [forge.link("x", "./.GiT/config")],
  "into the git folder by a letter that is ignored": (forge) => [forge.link("x", ".g\u200cit/config")],
  "that leads out by another link": (forge) => [
    forge.folder("a", forge.tree(forge.folder("b", forge.tree(forge.link("up", "../.."))))),
    forge.link("x", "a/b/up/../secret"),
  ],
  "that ends before we see its end": (forge) => [forge.link("x", "..\0/inside")],
  "without a target": (forge) => [forge.link("x", "")],
  "longer than any path": (forge) => [forge.link("x", "y/".repeat(3000))],
  "with a drive": (forge) => [forge.link("x", "C:\\secret")],
};

test.each(Object.entries(LINKS))("a symbolic link %s is refused (BUNDLE-IN-5)", async (_, entries) => {
  const bundle = forge.bundle({ HEAD: forge.committed(...entries(forge)) });

  expect(await agent.receive(bundle, "node-1")).toEqual({
    ok: false,
    reason: expect.stringContaining("leads out of the repository"),
  });

  plainFetch(world, bundle, "HEAD");
});

test("links within the repository are taken, and plain git follows two of them out of it", async () => {
  await using world = await World.open();
  const { agent } = await world.created();
  const forge = new Forge(world);
  const within = forge.committed(
    forge.folder("a", forge.tree(forge.folder("b", forge.tree(forge.link("up", "../.."), forge.link("x", "../../y"))))),
    forge.link("here", "."),
    forge.link("z", "./a//b/up/y"),
  );
  expect(await agent.receive(forge.bundle({ HEAD: within }), "node-1")).toEqual({ ok: true, refs: { HEAD: within } });

  const other = new Forge(world, "other");
  const out = other.committed(...(LINKS["that leads out by another link"]?.(other) ?? []));
  plainFetch(world, other.bundle({ HEAD: out }), "HEAD");
  world.write("secret", "a secret\n");
  execFileSync("git", ["clone", "-q", "-b", "taken", "unguarded.git", "tree"], { cwd: world.path, env: world.env });
  expect(world.read("tree/x")).toBe("a secret\n");
});

const MALFORMED: Record<string, [header: (forge: Forge, commit: string) => string, reason: string]> = {
  "of another format": [(_, id) => `# v9 git bundle\n${id} HEAD\n\n`, "not a bundle that git wrote"],
  "without an end of its header": [(_, id) => `# v2 git bundle\n${id} HEAD\n`, "The header of the bundle does not end"],
  "without refs": [(forge) => `# v2 git bundle\n-${forge.base} x\n\n`, "names no commit"],
  "with a filter": [(_, id) => `# v3 git bundle\n@filter=blob:none\n${id} HEAD\n\n`, "leaves objects out"],
  "with an unknown capability": [(_, id) => `# v3 git bundle\n@evil\n${id} HEAD\n\n`, "leaves objects out"],
  "with a ref that is an option": [(_, id) => `# v2 git bundle\n${id} --upload-pack=evil\n\n`, "odd name"],
  "with a ref that leads out": [(_, id) => `# v2 git bundle\n${id} refs/../../config\n\n`, "odd name"],
  "with a ref outside refs": [(_, id) => `# v2 git bundle\n${id} config\n\n`, "odd name"],
  "with a NUL in a ref": [(_, id) => `# v2 git bundle\n${id} refs/heads/a\0b\n\n`, "odd name"],
  "with a short id": [(_, id) => `# v2 git bundle\n${id.slice(1)} HEAD\n\n`, "cannot be read"],
  "with a commit that is not there": [() => `# v2 git bundle\n${"1".repeat(40)} HEAD\n\n`, "not a commit"],
  "with a folder as a commit": [(forge) => `# v2 git bundle\n${forge.tree()} HEAD\n\n`, "not a commit"],
  "on a commit that we do not have": [
    (_, id) => `# v2 git bundle\n-${"1".repeat(40)} x\n${id} HEAD\n\n`,
    "not in the agent's repository",
  ],
  "of objects of another format": [
    (_, id) => `# v3 git bundle\n@object-format=sha256\n${id.padEnd(64, "0")} HEAD\n\n`,
    "not a commit",
  ],
  "with more refs than are taken": [
    (_, id) => `# v2 git bundle\n${Array.from({ length: 101 }, (_, at) => `${id} refs/heads/${at}\n`).join("")}\n`,
    "more than 100 refs",
  ],
};

test.each(Object.entries(MALFORMED))("a bundle %s is refused", async (_, [header, reason]) => {
  const commit = forge.committed({ name: "x", id: forge.blob() });
  const bundle = forge.bundle({ HEAD: commit }, { header: header(forge, commit) });

  expect(await agent.receive(bundle, "node-1")).toEqual({ ok: false, reason: expect.stringContaining(reason) });

  // The control: the same objects under a proper header.
  expect(await agent.receive(forge.bundle({ HEAD: commit }), "node-1")).toMatchObject({ ok: true });
});

test("a pack that is cut off, damaged, or lacks an object is refused, and what is missing is not believed later", async () => {
  await using world = await World.open();
  const { agent } = await world.created();
  const forge = new Forge(world);
  const blob = forge.blob("content");
  const tree = forge.tree({ name: "x", id: blob });
  const commit = forge.commit(tree);
  const whole = forge.pack();
  const damaged = Buffer.from(whole);
  damaged.writeUInt8(damaged.readUInt8(20) ^ 0xff, 20);
  const reasonOf = async (pack: Buffer) => {
    const received = await agent.receive(forge.bundle({ HEAD: commit }, { pack }), "node-1");
    return received.ok ? "taken" : received.reason;
  };

  for (const pack of [whole.subarray(0, -10), damaged, forge.pack([commit, tree]), forge.pack([commit, blob])])
    expect(await reasonOf(pack)).toMatch(/^git refuses it: /);
  expect(await reasonOf(Buffer.alloc(0))).toContain("not a commit");
  expect(await agent.commitOf(commit)).toBeUndefined();
  expect(await reasonOf(whole)).toBe("taken");
});

test("a bundle that is a link, a pipe or a folder is not read (BUNDLE-1)", async () => {
  await using world = await World.open();
  const { agent } = await world.created();
  const forge = new Forge(world);
  const bundle = forge.bundle({ HEAD: forge.committed({ name: "x", id: forge.blob() }) });
  const at = (name: string) => join(world.path, name);
  symlinkSync(bundle, at("link"));
  execFileSync("mkfifo", [at("pipe")]);
  mkdirSync(at("folder"));
  writeFileSync(at("empty"), "");
  const reason = async (path: string) => {
    const received = await agent.receive(path, "node-1");
    return received.ok ? "taken" : received.reason;
  };

  expect(await reason(at("link"))).toBe("The bundle cannot be read.");
  expect(await reason(at("pipe"))).toBe("The bundle is not a plain file.");
  expect(await reason("/dev/zero")).toBe("The bundle is not a plain file.");
  expect(await reason(at("folder"))).toBe("The bundle is not a plain file.");
  expect(await reason(at("nothing"))).toBe("The bundle cannot be read.");
  expect(await reason(at("empty"))).toBe("The header of the bundle does not end.");
  // Plain git follows the link.
  plainFetch(world, at("link"), "HEAD");
  expect(await reason(bundle)).toBe("taken");
});

test("refs that would be in each other's way, or have one name for us, are all kept, now and later (BUNDLE-IN-4)", async () => {
  await using world = await World.open();
  const { agent } = await world.created();
  const forge = new Forge(world);
  const names = [
    "HEAD",
    "refs/HEAD",
    "refs/heads/a",
    "refs/heads/a/b",
    "refs/heads/x_y",
    "refs/heads/x.y",
    "refs/heads//z",
  ];
  const refs = Object.fromEntries(
    names.map((name) => [name, forge.committed({ name: "name", id: forge.blob(`${name}\n`) })]),
  );

  expect(await agent.receive(forge.bundle(refs), "node-1")).toEqual({ ok: true, refs });
  const later = forge.committed({ name: "later", id: forge.blob() });
  expect(await agent.receive(forge.bundle({ HEAD: later }), "node-1")).toEqual({ ok: true, refs: { HEAD: later } });

  const reached = world.plain("agent/repo.git", "rev-list", "--all").split("\n");
  expect([...Object.values(refs), later].filter((commit) => !reached.includes(commit))).toEqual([]);
  expect(world.plain("agent/repo.git", "for-each-ref", "--format=%(refname)", "refs/agiraph/incoming")).toMatch(
    /^(?:refs\/agiraph\/incoming\/node-1\/[0-9a-f]{40}\n?)+$/,
  );
  // Plain git fails at them.
  expect(() =>
    world.plain(
      "forge",
      "fetch",
      "-q",
      forge.bundle({ "refs/heads/a": later, "refs/heads/a/b": later }),
      "+refs/*:refs/in/*",
    ),
  ).toThrow("cannot lock ref");
});

test("a worker's name and words do not shift the fields of the log", async () => {
  await using world = await World.open();
  const { agent, base } = await world.created();
  const forge = new Forge(world);
  const tree = forge.tree({ name: "x", id: forge.blob() });
  const author = "Al\x1fice\x1f9 <a@example.com> 9223372036854775807 +0000";
  const commit = forge.commit(tree, { author, message: "sub\x1fject\n" });

  expect(await agent.receive(forge.bundle({ HEAD: commit }), "node-1")).toMatchObject({ ok: true });

  const [entry] = await agent.commits(base, commit, 1);
  expect(entry).toEqual({ commit, author: "Al\x1fice\x1f9", ts: 8_640_000_000_000, subject: "sub\x1fject" });
  expect(new Date((entry?.ts ?? 0) * 1000).getTime()).not.toBeNaN();
});

/** A refused bundle may leave empty folders; nothing else. */
function unexpected(before: Record<string, string>, after: Record<string, string>): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.filter((name) => before[name] !== after[name] && !after[name]?.startsWith("folder"));
}
