import { createHash } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../testing/temporary-home.ts";
import { rulesFor } from "./home-trees.ts";
import { fileStamp, type IndexedEntry, type IndexedFolder } from "./tree-index.ts";
import { TreeLook } from "./tree-look.ts";

const rules = rulesFor("agents/agent-abcd2345", []);
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

async function looked(folder: string, index: IndexedFolder, elapsed = 0) {
  const look = new TreeLook({ folder, index, rules, elapsed: () => elapsed });
  const names = await look.at({ path: "", depth: "all" });
  const { entries, gone, contents } = look.changes;
  look.committed();
  return {
    ...{ names, gone, later: look.later, sent: contents.length },
    entries: entries.map(({ path, entry }) => [path, entry.hash?.slice(0, 8) ?? entry.kind, entry.isBehind]),
  };
}

test("TREE-LOOK-1: a change that has the stamp of the one before it is seen as well", async () => {
  await using home = await temporaryHome();
  writeFileSync(join(home.path, "a.md"), "after");
  const stats = lstatSync(join(home.path, "a.md"), { bigint: true });
  const before = (readAt: number | undefined): IndexedEntry => ({
    ...{ kind: "file", mode: Number(stats.mode) & 0o7777, hash: sha256("before"), target: null },
    ...{ isBehind: false, stamp: fileStamp(stats), readAt, below: new Map() },
  });
  const seen = async (entry: IndexedEntry, elapsed: number) =>
    (await looked(home.path, new Map([["a.md", entry]]), elapsed)).entries.length;
  expect(await seen(before(100), 110)).toBe(0);
  expect(await seen(before(100), 130)).toBe(1);
  expect(await seen(before(undefined), 130)).toBe(0);
  const index: IndexedFolder = new Map();
  await looked(home.path, index, 200);
  expect(index.get("a.md")?.readAt).toBe(200);
  await looked(home.path, index, 230);
  expect(index.get("a.md")?.readAt).toBeUndefined();
});

test("what is large or too much goes on its own, and counts as behind until it is there", async () => {
  await using home = await temporaryHome();
  const index: IndexedFolder = new Map();
  writeFileSync(join(home.path, "large.bin"), Buffer.alloc(200_000));
  mkdirSync(join(home.path, "many"));
  for (let n = 0; n < 250; n++) writeFileSync(join(home.path, `many/${n}`), `${n}`);
  const first = await looked(home.path, index);
  expect([first.names, first.sent, first.later.length, first.entries.length]).toEqual([252, 200, 51, 252]);
  expect(first.later).toContain("large.bin");
  expect(first.entries.find(([path]) => path === "large.bin")).toEqual(["large.bin", "file", true]);
  // Said once; and what there is room for now is sent.
  const second = await looked(home.path, index);
  expect([second.sent, second.later, second.entries.length]).toEqual([50, ["large.bin"], 50]);
});

// Nothing is closed to root.
test.skipIf(process.getuid?.() === 0)(
  "what is closed to us stays as the engine has it, and stops nothing",
  async () => {
    await using home = await temporaryHome();
    const index: IndexedFolder = new Map();
    const at = (path: string) => join(home.path, path);
    for (const name of ["names", "closed"]) {
      mkdirSync(at(name));
      writeFileSync(at(`${name}/a`), "before");
    }
    writeFileSync(at("file"), "before");
    await looked(home.path, index);
    chmodSync(at("names"), 0o400);
    chmodSync(at("closed"), 0);
    writeFileSync(at("file"), "after");
    chmodSync(at("file"), 0);
    const { gone, entries, later } = await looked(home.path, index);
    chmodSync(at("names"), 0o700);
    chmodSync(at("closed"), 0o700);
    expect([gone, later]).toEqual([[], ["file"]]);
    expect(entries.map(([path, , isBehind]) => [path, isBehind])).toEqual([
      ["closed", false],
      ["file", true],
      ["names", false],
    ]);
  },
);

test("what has become something else replaces what was there, with everything below it", async () => {
  await using home = await temporaryHome();
  const index: IndexedFolder = new Map();
  const at = (path: string) => join(home.path, path);
  mkdirSync(at("a/b/c"), { recursive: true });
  writeFileSync(at("a/b/c/d"), "deep");
  writeFileSync(at("e"), "file");
  await looked(home.path, index);
  rmSync(at("a"), { recursive: true });
  writeFileSync(at("a"), "now a file");
  rmSync(at("e"));
  mkdirSync(at("e"));
  writeFileSync(at("e/f"), "below");
  const { gone, entries } = await looked(home.path, index);
  expect(gone).toEqual(["a/b", "a/b/c", "a/b/c/d"]);
  expect(entries).toEqual([
    ["a", sha256("now a file").slice(0, 8), false],
    ["e", "folder", false],
    ["e/f", sha256("below").slice(0, 8), false],
  ]);
  expect(await looked(home.path, index, 0)).toMatchObject({ gone: [], entries: [], later: [] });
});
