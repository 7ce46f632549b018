import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { mountsOf } from "./binds.ts";

let root: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "agiraph-binds-")));
  await mkdir(join(root, "run/nodes/n1"), { recursive: true });
  await writeFile(join(root, "run/log"), "");
});
afterEach(() => rm(root, { recursive: true }));

const at = (path: string) => join(root, path);
const none = { write: [], read: [], hide: [] };

test("the deeper is mounted later, and at the same path the stricter", async () => {
  const mounts = await mountsOf({
    write: [at("run/nodes/n1"), at("run")],
    read: [at("run/log"), at("run/nodes")],
    hide: [at("run/nodes")],
  });
  expect(mounts.map(({ at, access, folder }) => [at.slice(root.length), access, folder])).toEqual([
    ["/run", "write", true],
    ["/run/log", "read", false],
    ["/run/nodes", "read", true],
    ["/run/nodes", "hide", true],
    ["/run/nodes/n1", "write", true],
  ]);
});

test("the user's own symlink on the way is followed; the command sees the path it was given", async () => {
  await symlink(at("run"), at("link"));
  expect(await mountsOf({ ...none, read: [at("link")] })).toEqual([
    { at: at("link"), source: at("run"), access: "read", folder: true },
  ]);
});

test("a symlink below a writable folder is refused, in the middle too", async () => {
  await symlink("/etc", at("run/evil"));
  for (const path of ["run/evil", "run/evil/passwd"]) {
    await expect(mountsOf({ ...none, write: [at("run")], read: [at(path)] })).rejects.toThrow(
      `${at(path)} is reached by a symlink inside a folder that commands may write.`,
    );
  }
});

test("what is to be protected inside a writable folder must exist; elsewhere what is not there is left out", async () => {
  await expect(mountsOf({ ...none, write: [at("run")], read: [at("run/new")] })).rejects.toThrow("does not exist");
  await expect(mountsOf({ ...none, write: [at("gone")] })).rejects.toThrow("does not exist");
  expect(await mountsOf({ ...none, read: [at("gone")], hide: [at("gone/deep")] })).toEqual([]);
});

test.each(["/", "/proc", "/proc/1", "/dev/shm", "/run/agiraph", "relative", "/a/../proc", "/a\0b"])(
  "%j is refused",
  async (path) => {
    await expect(mountsOf({ ...none, write: [path] })).rejects.toThrow("cannot be bound");
  },
);
