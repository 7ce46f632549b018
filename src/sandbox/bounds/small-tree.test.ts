import { execFileSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { smallTree } from "./small-tree.ts";

const ANY_TIME = Number.POSITIVE_INFINITY;
const linux = process.platform === "linux";
const du = (...args: string[]) => {
  const sizes = execFileSync("du", args, { encoding: "utf8" }).matchAll(/^(\d+)\t/gm);
  return [...sizes].reduce((sum, [, size]) => sum + Number(size), 0);
};

test.skipIf(!linux)("SMALL-TREE-2: it counts as du does: links, holes, second names, what is left out", async () => {
  await using home = await temporaryHome();
  const at = (...names: string[]) => join(home.path, ...names);
  for (const folder of ["one/deep/er", "two", "others [1]"]) mkdirSync(at(folder), { recursive: true });
  writeFileSync(at("one/deep/er/file"), Buffer.alloc(100_000));
  linkSync(at("one/deep/er/file"), at("two/same"));
  symlinkSync("/usr", at("one/link"));
  writeFileSync(at("two/hole"), "");
  truncateSync(at("two/hole"), 1e9);
  mkdirSync(at("one/mine"));
  writeFileSync(at("one/mine/large"), Buffer.alloc(300_000));
  const folders = [at("one"), at("two"), at("others [1]")];
  for (const without of [[], [at("one/mine")]]) {
    const left = without.map((path) => `--exclude=${path}`);
    expect(smallTree(folders, without, ANY_TIME)).toEqual({
      bytes: du("-sk", ...left, "--", ...folders) * 1024,
      files: du("-s", "--inodes", ...left, "--", ...folders),
    });
  }
});

test("SMALL-TREE-1: of what is large, or cannot be looked at, nothing is known", async () => {
  await using home = await temporaryHome();
  const at = (...names: string[]) => join(home.path, ...names);
  expect(smallTree([at("gone")], [])).toBe(undefined);
  for (const folder of ["many", "wide", "odd", "closed/in"]) mkdirSync(at(folder), { recursive: true });
  for (let i = 0; i < 300; i++) writeFileSync(at("many", `${i}`), "");
  for (let i = 0; i < 30; i++) {
    mkdirSync(at("wide", `${i}`));
    for (let j = 0; j < 10; j++) writeFileSync(at("wide", `${i}`, `${j}`), "");
  }
  if (linux) writeFileSync(Buffer.concat([Buffer.from(`${at("odd")}/`), Buffer.from([0xff])]), "");
  chmodSync(at("closed"), 0);
  const known = (name: string) => smallTree([at(name)], [], ANY_TIME) !== undefined;
  expect([known("many"), known("wide"), known("odd") && linux]).toEqual([false, false, false]);
  expect(known("closed")).toBe(process.getuid?.() === 0);
  chmodSync(at("closed"), 0o700);
  expect(smallTree([at("closed")], [], -1)).toBe(undefined);
});
