import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { copyIncluded } from "./copy-included.ts";

const MiB = 1024 * 1024;

test("files are copied with their modes, and git ignores them in the clone", async () => {
  await using place = await open();
  const names = [".env", "a/b/run.sh", "odd [*]? \\name", " space ", "#hash", "!bang", "größe"];
  for (const name of names) place.write(name, `content of ${name}`);
  chmodSync(join(place.from, "a/b/run.sh"), 0o755);
  chmodSync(join(place.from, ".env"), 0o640);
  expect(await copyIncluded(place.from, place.clone, names, MiB)).toEqual({
    copied: names.map((path) => ({ path, bytes: Buffer.byteLength(`content of ${path}`) })),
    left: [],
  });
  for (const name of names) expect(readFileSync(join(place.clone, name), "utf8")).toBe(`content of ${name}`);
  expect(statSync(join(place.clone, "a/b/run.sh")).mode & 0o777).toBe(0o755);
  expect(statSync(join(place.clone, ".env")).mode & 0o777).toBe(0o640);
  writeFileSync(join(place.clone, "env"), "");
  writeFileSync(join(place.clone, "a/b/other"), "");
  expect(place.status()).toEqual(["a/b/other", "env"]);
  // Again, as after a kill: the same, and nothing is replaced.
  writeFileSync(join(place.clone, ".env"), "changed by a worker");
  const again = await copyIncluded(place.from, place.clone, names, MiB);
  expect(again.copied).toEqual([]);
  expect(new Set(again.left.map(({ why }) => why))).toEqual(new Set(["There is a file of this name in the clone."]));
  expect(readFileSync(join(place.clone, ".env"), "utf8")).toBe("changed by a worker");
  expect(place.excludes()).toHaveLength(1 + names.length);
});

test("no link is followed, on either side, and nothing outside is read or written", async () => {
  await using place = await open();
  place.write("dir/file", "1");
  place.write("outer/file", "1");
  mkdirSync(join(place.base, "outside"));
  writeFileSync(join(place.base, "outside/secret"), "canary");
  symlinkSync(join(place.base, "outside/secret"), join(place.from, "link"));
  symlinkSync(join(place.base, "outside"), join(place.from, "folder"));
  symlinkSync(join(place.base, "outside"), join(place.clone, "dir"));
  symlinkSync(join(place.base, "outside/new"), join(place.clone, "outer"));
  execFileSync("mkfifo", [join(place.from, "pipe")]);
  const paths = ["link", "folder/secret", "dir/file", "outer/file", "pipe", "gone", "dir", "../outside/secret", "a//b"];
  const { copied, left } = await copyIncluded(place.from, place.clone, paths, MiB);
  expect(copied).toEqual([]);
  expect(left.map(({ path, why }) => `${path}: ${why}`)).toEqual([
    "link: A symbolic link is in the way, and none is followed.",
    "folder/secret: A symbolic link is in the way, and none is followed.",
    "dir/file: A symbolic link is in the way, and none is followed.",
    "outer/file: A symbolic link is in the way, and none is followed.",
    "pipe: It is not a regular file.",
    "gone: It is gone.",
    "dir: It is a folder.",
    "../outside/secret: It cannot be opened.",
    "a//b: It is gone.",
  ]);
  expect(readdirSync(join(place.base, "outside"))).toEqual(["secret"]);
});

test("the git folder of neither side is touched, and no name adds a rule", async () => {
  await using place = await open();
  place.write("evil\n*", "1");
  place.write("sub/.GIT/config", "1");
  const { copied, left } = await copyIncluded(
    place.from,
    place.clone,
    [".git/config", "sub/.GIT/config", "evil\n*"],
    MiB,
  );
  expect(copied).toEqual([]);
  expect(left.map(({ why }) => why)).toEqual([
    "It is a part of a repository.",
    "It is a part of a repository.",
    "Its name has a control character.",
  ]);
  expect(place.excludes()).toEqual(["/mine"]);
});

test("a file that changes while it is copied is copied as it became", async () => {
  await using place = await open();
  place.write("data", "x".repeat(4 * MiB));
  const changeOnceBegun = () => {
    const begun = statSync(join(place.clone, ".git/agiraph-included-file"), { throwIfNoEntry: false });
    if (begun && begun.size > 0) appendFileSync(join(place.from, "data"), "the end");
    else setImmediate(changeOnceBegun);
  };
  changeOnceBegun();
  const { copied } = await copyIncluded(place.from, place.clone, ["data"], 100 * MiB);
  expect(copied).toEqual([{ path: "data", bytes: 4 * MiB + 7 }]);
  expect(readFileSync(join(place.clone, "data"), "utf8").endsWith("xthe end")).toBe(true);
});

test("one that changes all the time is left out, and nothing of it stays", async () => {
  await using place = await open();
  place.write("data", "x".repeat(MiB));
  place.write("before", "1");
  let isOver = false;
  const change = () => {
    if (isOver) return;
    appendFileSync(join(place.from, "data"), "more");
    setImmediate(change);
  };
  change();
  const { copied, left } = await copyIncluded(place.from, place.clone, ["before", "data"], 100 * MiB);
  isOver = true;
  expect({ copied, left }).toEqual({
    copied: [{ path: "before", bytes: 1 }],
    left: [{ path: "data", why: "It changes all the time." }],
  });
  expect(readdirSync(place.clone).sort()).toEqual([".git", "before"]);
  expect(existsSync(join(place.clone, ".git/agiraph-included-file"))).toBe(false);
});

test("all together are within the limit, however large they have become; what a kill left is removed", async () => {
  await using place = await open();
  for (const name of ["a", "b", "c"]) place.write(name, "12345");
  writeFileSync(join(place.clone, ".git/agiraph-included-file"), "of a copy that was cut off");
  expect(await copyIncluded(place.from, place.clone, ["a", "b", "c"], 11)).toEqual({
    copied: [
      { path: "a", bytes: 5 },
      { path: "b", bytes: 5 },
    ],
    left: [{ path: "c", why: "With it there would be too much." }],
  });
  expect(readFileSync(join(place.clone, "a"), "utf8")).toBe("12345");
});

async function open() {
  const home = await temporaryHome();
  const [from, clone] = [join(home.path, "from"), join(home.path, "clone")];
  const env = { PATH: process.env.PATH ?? "", HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" };
  for (const folder of [from, clone]) execFileSync("git", ["init", "-q", "--template=", folder], { env });
  mkdirSync(join(clone, ".git/info"), { recursive: true });
  writeFileSync(join(clone, ".git/info/exclude"), "/mine\n");
  return {
    base: home.path,
    from,
    clone,
    write(name: string, content: string): void {
      mkdirSync(dirname(join(from, name)), { recursive: true });
      writeFileSync(join(from, name), content);
    },
    status(): string[] {
      const options = { cwd: clone, env };
      const output = execFileSync("git", ["ls-files", "--others", "--exclude-standard", "-z"], options).toString();
      return output.split("\0").filter(Boolean).sort();
    },
    excludes: () => readFileSync(join(clone, ".git/info/exclude"), "utf8").trim().split("\n"),
    [Symbol.asyncDispose]: () => home.remove(),
  };
}
