import { linkSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { closeFolder, type Folder } from "./folder.ts";
import { openFolder } from "./walk.ts";
import { addWhole, rewriteWhole, UNFINISHED, writeWhole } from "./whole-file.ts";

const LONG = Buffer.from("long ".repeat(2000));

test("what is added is whole and ours alone; a name that is taken stays what it was", async () => {
  await inFolder(async (folder) => {
    writeFileSync(join(folder.path, "taken.md"), "theirs");
    writeFileSync(join(folder.path, "taken-long.md"), "theirs");
    symlinkSync("nowhere", join(folder.path, "link.md"));

    const added = [];
    for (const name of ["short.md", "empty.md", "long.md", "taken.md", "taken-long.md", "link.md"])
      added.push(await addWhole(folder, name, name.includes("long") ? LONG : Buffer.from(name.slice(0, -3))));

    expect(added).toEqual([true, true, true, false, false, false]);
    expect(contentsOf(folder)).toEqual({
      "short.md": "short",
      "empty.md": "empty",
      "long.md": LONG.toString(),
      "taken.md": "theirs",
      "taken-long.md": "theirs",
    });
    expect(statSync(join(folder.path, "short.md")).mode & 0o777).toBe(0o600);
  });
});

test("a file is overwritten where one write covers it, and else replaced as a whole", async () => {
  await inFolder(async (folder) => {
    const before = "RUNNING\n";
    const words = { "same.md": "STOPPED\n", "longer.md": "COMPLETED\n", "shorter.md": "DONE\n", "long.md": `${LONG}` };
    for (const name of Object.keys(words)) writeFileSync(join(folder.path, name), before);
    const inodes = inodesOf(folder);

    for (const [name, text] of Object.entries({ ...words, "new.md": "NEW\n" }))
      await rewriteWhole(folder, name, Buffer.from(text));

    expect(contentsOf(folder)).toEqual({ ...words, "new.md": "NEW\n" });
    const after = inodesOf(folder);
    expect(Object.keys(words).filter((name) => after[name] === inodes[name])).toEqual(["same.md", "longer.md"]);
  });
});

test("what a process that died has left in the place of an unfinished file is no hindrance", async () => {
  await inFolder(async (folder) => {
    writeFileSync(join(folder.path, `${UNFINISHED}${process.pid}-${folder.fd}`), "half of someth");

    await writeWhole(folder, "whole.md", Buffer.from("whole"));

    expect(contentsOf(folder)).toEqual({ "whole.md": "whole" });
  });
});

test("a file with a second name, and whatever a link leads to, is left alone", async () => {
  await inFolder(async (folder) => {
    const at = (name: string) => join(folder.path, name);
    writeFileSync(at("twin.md"), "a");
    linkSync(at("twin.md"), at("linked.md"));
    writeFileSync(at("target.md"), "b");
    symlinkSync("target.md", at("pointer.md"));

    for (const name of ["linked.md", "pointer.md"]) await rewriteWhole(folder, name, Buffer.from("RUNNING\n"));

    expect(contentsOf(folder)).toEqual({
      "twin.md": "a",
      "linked.md": "RUNNING\n",
      "target.md": "b",
      "pointer.md": "RUNNING\n",
    });
  });
});

async function inFolder(use: (folder: Folder) => Promise<void>): Promise<void> {
  await using home = await temporaryHome();
  const folder = openFolder(home.path, []);
  try {
    await use(folder);
  } finally {
    closeFolder(folder);
  }
}

function filesOf({ path }: Folder): string[] {
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []));
}

function contentsOf(folder: Folder): Record<string, string> {
  return Object.fromEntries(filesOf(folder).map((name) => [name, readFileSync(join(folder.path, name), "utf8")]));
}

function inodesOf(folder: Folder): Record<string, number> {
  return Object.fromEntries(filesOf(folder).map((name) => [name, statSync(join(folder.path, name)).ino]));
}
