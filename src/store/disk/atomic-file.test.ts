import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { writeFileAtomic } from "./atomic-file.ts";
import { nodeDisk } from "./node-disk.ts";

test("what a process that died while writing has left beside the file goes with the next write", async () => {
  await using folder = await temporaryHome();
  const notes = join(folder.path, "notes.md");
  const asides: string[] = [];
  const watched = Object.assign(Object.create(nodeDisk), {
    rename(from: string, to: string) {
      asides.push(from);
      nodeDisk.rename(from, to);
    },
  });
  await writeFileAtomic(notes, "first", watched);
  await writeFile(asides[0] ?? "", "half of what was to be the sec");

  await writeFileAtomic(notes, "second", watched);

  expect([await readdir(folder.path), await readFile(notes, "utf8")]).toEqual([["notes.md"], "second"]);
});
