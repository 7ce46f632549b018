import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { filesIn } from "./foreign-folder.ts";

test("of many files the newest are told, wherever they lie, and that there are more", async () => {
  await using home = await temporaryHome();
  const put = (path: string, at: number) => {
    mkdirSync(join(home.path, "out", path, ".."), { recursive: true });
    writeFileSync(join(home.path, "out", path), path);
    utimesSync(join(home.path, "out", path), at, at);
  };
  for (let number = 0; number < 300; number++) put(`${String(number).padStart(3, "0")}.md`, 1000 + number);
  put("z/y/last.md", 2000);
  const { files, more } = await filesIn(home.path, "out", 3);
  expect([files, more]).toEqual([
    [
      { path: "z/y/last.md", bytes: 11, at: 2000 },
      { path: "299.md", bytes: 6, at: 1299 },
      { path: "298.md", bytes: 6, at: 1298 },
    ],
    true,
  ]);
  expect(await filesIn(home.path, "out/z", 1)).toEqual({ files: [{ ...files[0], path: "y/last.md" }], more: false });
  expect(await filesIn(home.path, "nowhere", 1)).toEqual({ files: [], more: false });
});

test("a tree that goes too deep or has too many folders is left out, and said to be", async () => {
  await using home = await temporaryHome();
  const deep = join(home.path, "deep", ..."d".repeat(40));
  mkdirSync(deep, { recursive: true });
  writeFileSync(join(deep, "a.md"), "a");
  expect(await filesIn(home.path, "deep", 9)).toEqual({ files: [], more: true });
  for (let number = 0; number < 600; number++) {
    mkdirSync(join(home.path, "wide", String(number)), { recursive: true });
    writeFileSync(join(home.path, "wide", String(number), "a.md"), "a");
  }
  const { files, more } = await filesIn(home.path, "wide", 9999);
  expect([files.length, more]).toEqual([500, true]);
});
