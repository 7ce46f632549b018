import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { filesToInclude, type IncludeLimits } from "./files-to-include.ts";
import { World } from "./testing/world.ts";

const found = async (world: World, limits?: IncludeLimits) =>
  filesToInclude(await world.inspect(), world.git, limits ?? { files: 100, bytes: 1024 * 1024 });
const paths = async (world: World, limits?: IncludeLimits) =>
  (await found(world, limits)).files.map(({ path }) => path);

test("files that are named and ignored are found; committed and other untracked ones are not", async () => {
  await using world = await World.open();
  ignore(world, ".env*\n/local/\n*.key\n");
  include(world, ".env\n/readme.md\nlocal/**\n!local/skip/\n!local/skip/*\nnew.txt\n*.key\n");
  const untracked = ["local/a/b.json", "local/skip/c", "new.txt", "deep/x.key", "src/y.key", ":(bad)[a]*.key"];
  for (const path of [".env", ".env.other", ...untracked]) world.write(`person/${path}`, "1234");
  world.plain("person", "add", "-f", "src/y.key");
  const before = world.state("person");
  expect(await found(world)).toEqual({
    files: [
      { path: ".env", bytes: 4 },
      { path: ":(bad)[a]*.key", bytes: 4 },
      { path: "deep/x.key", bytes: 4 },
      { path: "local/a/b.json", bytes: 4 },
    ],
    left: [],
  });
  expect(world.state("person")).toEqual(before);
});

test("what the person's own settings ignore counts; without the file nothing is taken", async () => {
  await using world = await World.open();
  world.write("own-home/.config/git/ignore", "notes.txt\n");
  world.write("person/.git/info/exclude", "tools/\n");
  for (const path of ["notes.txt", "tools/t", "other.txt"]) world.write(`person/${path}`, "");
  expect(await found(world)).toEqual({ files: [], left: [] });
  include(world, "*\n");
  expect(await paths(world)).toEqual(["notes.txt", "tools/t"]);
});

test("links, special files, other repositories and the git folder are left out", async () => {
  await using world = await World.open();
  world.write("outside/secret", "canary");
  ignore(world, "*\n!.worktreeinclude\n!.gitignore\n");
  include(world, "*\n.git/**\n../outside/**\n/../outside/secret\n");
  symlinkSync(join(world.path, "outside/secret"), join(world.person, "link"));
  symlinkSync(join(world.path, "outside"), join(world.person, "folder"));
  execFileSync("mkfifo", [join(world.person, "pipe")]);
  world.init(join(world.person, "inner"));
  world.write("person/inner/file", "");
  world.write("person/plain", "");
  expect(await found(world)).toEqual({
    files: [{ path: "plain", bytes: 0 }],
    left: [
      { path: "folder", why: "It is a symbolic link, and is not followed." },
      { path: "link", why: "It is a symbolic link, and is not followed." },
      { path: "inner/", why: "It is a repository of its own." },
    ],
  });
});

test("a pattern that matches everything is bounded in number and bytes, shallow files first", async () => {
  await using world = await World.open();
  ignore(world, "out/\n*.big\n.env\n");
  include(world, "**\n");
  for (let at = 0; at < 30; at++) world.write(`person/out/deep/${String(at).padStart(2, "0")}`, "12345");
  world.write("person/.env", "1");
  world.write("person/huge.big", "");
  truncateSync(join(world.person, "huge.big"), 10 * 1024 ** 3);
  const few = await found(world, { files: 3, bytes: 1024 * 1024 });
  expect(few.files.map(({ path }) => path)).toEqual([".env", "out/deep/00", "out/deep/01"]);
  expect(few.left).toHaveLength(29);
  expect(few.left.slice(0, 2)).toEqual([
    { path: "huge.big", why: "With it there would be more than 1 MB." },
    { path: "out/deep/02", why: "More than 3 files are named." },
  ]);
  expect(await paths(world, { files: 100, bytes: 12 })).toEqual([".env", "out/deep/00", "out/deep/01"]);
});

test("names in any bytes are told apart: what is not UTF-8 is left out", async () => {
  await using world = await World.open();
  ignore(world, "*.key\n");
  include(world, "*.key\n");
  world.write("person/größe \n x.key", "");
  writeFileSync(Buffer.concat([Buffer.from(`${world.person}/b`), Buffer.from([0xff, 0xfe]), Buffer.from(".key")]), "");
  expect(await found(world)).toEqual({
    files: [{ path: "größe \n x.key", bytes: 0 }],
    left: [{ path: "b\uFFFD\uFFFD.key", why: "Its name is not UTF-8." }],
  });
});

test("a list that is a link, a fifo, a folder or too large is not read, and that is said", async () => {
  await using world = await World.open();
  ignore(world, "secret\n");
  world.write("person/secret", "");
  world.write("outside", "*\n");
  const list = join(world.person, ".worktreeinclude");
  const make = [
    () => symlinkSync(join(world.path, "outside"), list),
    () => execFileSync("mkfifo", [list]),
    () => mkdirSync(list),
  ];
  for (const made of make) {
    made();
    const why = "It is not a regular file, and is not followed.";
    expect(await found(world)).toEqual({ files: [], left: [{ path: ".worktreeinclude", why }] });
    rmSync(list, { recursive: true });
  }
  include(world, "secret\n".repeat(50_000));
  expect(await found(world)).toEqual({
    files: [],
    left: [{ path: ".worktreeinclude", why: "It is larger than 256 KB." }],
  });
});

function ignore(world: World, text: string): void {
  world.write("person/.gitignore", text);
}

function include(world: World, text: string): void {
  world.write("person/.worktreeinclude", text);
}
