import { linkSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { childrenOf, closeFolder, WalkError } from "./folder.ts";
import { createFileAside, makeFolder, renameIn } from "./folder-changes.ts";
import { openFile, openFolder } from "./walk.ts";

test("a folder that is moved while it is open stays the same folder", async () => {
  await using home = await temporaryHome();
  mkdirSync(join(home.path, "mine"));
  writeFileSync(join(home.path, "mine/a.md"), "mine");
  mkdirSync(join(home.path, "other"));
  writeFileSync(join(home.path, "other/a.md"), "SECRET");

  const folder = openFolder(home.path, ["mine"]);
  renameSync(join(home.path, "mine"), join(home.path, "moved"));
  symlinkSync("other", join(home.path, "mine"));
  const file = openFile(folder, "a.md");

  expect(readFileSync(file.fd, "utf8")).toBe("mine");
  file.close();
  closeFolder(folder);
});

test("names that are more than a name are refused, whoever passes them", async () => {
  await using home = await temporaryHome();
  const folder = openFolder(home.path, []);
  for (const name of ["", ".", "..", "a/b", "/etc", "a\0b"]) {
    expect(() => openFile(folder, name)).toThrow(WalkError);
    expect(() => openFolder(home.path, [name])).toThrow(WalkError);
    await expect(createFileAside(folder, name, 0o600)).rejects.toThrow(WalkError);
    expect(() => makeFolder(folder, name)).toThrow(WalkError);
    expect(() => renameIn(folder, "a", name)).toThrow(WalkError);
  }
  closeFolder(folder);
});

test("what stands in the way is told apart", async () => {
  await using home = await temporaryHome();
  mkdirSync(join(home.path, "folder"));
  writeFileSync(join(home.path, "file"), "x");
  linkSync(join(home.path, "file"), join(home.path, "twin"));
  symlinkSync("folder", join(home.path, "link"));
  const kindOf = (step: () => unknown) => {
    try {
      step();
      return "none";
    } catch (error) {
      return error instanceof WalkError ? error.kind : error;
    }
  };
  const top = openFolder(home.path, []);

  expect({
    missing: kindOf(() => openFolder(home.path, ["no"])),
    link: kindOf(() => openFolder(home.path, ["link"])),
    file: kindOf(() => openFolder(home.path, ["file"])),
    linkAsFile: kindOf(() => openFile(top, "link")),
    folder: kindOf(() => openFile(top, "folder")),
    taken: await createFileAside(top, "file", 0o600).catch(
      (error: unknown) => error instanceof WalkError && error.kind,
    ),
    long: kindOf(() => openFile(top, "a".repeat(300))),
    root: kindOf(() => openFolder(join(home.path, "link"), [])),
    rename: kindOf(() => renameIn(top, "file", "folder")),
  }).toEqual({
    missing: "missing",
    link: "link",
    file: "not_folder",
    linkAsFile: "link",
    folder: "is_folder",
    taken: "in_the_way",
    long: "bad_name",
    root: "not_folder",
    rename: "in_the_way",
  });
  closeFolder(top);
});

test("a folder's names come sorted, up to a limit", async () => {
  await using home = await temporaryHome();
  for (const name of ["c", "a", "b"]) writeFileSync(join(home.path, name), "");
  const top = openFolder(home.path, []);

  expect(childrenOf(top, 3)).toMatchObject({ children: [{ name: "a" }, { name: "b" }, { name: "c" }], more: false });
  expect(childrenOf(top, 2)).toMatchObject({ children: { length: 2 }, more: true });
  closeFolder(top);
});
