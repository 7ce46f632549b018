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

test("a mirror shows a folder once more, read-only and without what is hidden in it", async () => {
  await mkdir(at("home/secret"), { recursive: true });
  const binds = { write: [at("run")], read: [at("home")], hide: [at("home/secret")] };
  const mounts = await mountsOf({ ...binds, mirrors: [{ at: at("run/home"), of: at("home") }] });
  expect(mounts.slice(2)).toEqual([
    { at: at("home/secret"), source: at("home/secret"), access: "hide", folder: true },
    { at: at("run/home"), source: at("home"), access: "read", folder: true },
    { at: at("run/home/secret"), source: at("home/secret"), access: "hide", folder: true },
  ]);
});

test("there is no mirror of what is not bound, nor where a command has put something else", async () => {
  await symlink("/etc", at("run/link"));
  const mirrors = ["run/link", "run/log"].map((path) => ({ at: at(path), of: at("run") }));
  const unbound = { at: at("run/new"), of: at("elsewhere") };
  expect(await mountsOf({ ...none, write: [at("run")], mirrors: [...mirrors, unbound] })).toEqual([
    { at: at("run"), source: at("run"), access: "write", folder: true },
  ]);
});

test.each(["/", "/proc", "/proc/1", "/dev/shm", "/run/agiraph", "relative", "/a/../proc", "/a\0b"])(
  "%j is refused",
  async (path) => {
    await expect(mountsOf({ ...none, write: [path] })).rejects.toThrow("cannot be shown");
  },
);
