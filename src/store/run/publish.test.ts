import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  constants,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { createNodeFolder, finishPublish, preparePublish, recoverPublish, undoPublish } from "./node-folder.ts";
import { MAX_PUBLISHED_BYTES, survey } from "./publish-survey.ts";

test("a process that still has scratch/ and a file of it open cannot change what was published", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "report.md": "A: 80" });
  const file = openSync(join(dir, "scratch/report.md"), constants.O_RDWR);
  const folder = openSync(join(dir, "scratch"), constants.O_RDONLY | constants.O_DIRECTORY);

  const files = filesOf(await preparePublish(dir, []));
  writeSync(file, "B: 99", 0);
  await finishPublish(dir, files);
  writeSync(file, "C: 99", 0);
  const late = `/proc/self/fd/${folder}/late.md`;
  const wrote = attempt(() => writeFileSync(late, "late"));

  expect(readFileSync(join(dir, "published/report.md"), "utf8")).toBe("A: 80");
  expect(readdirSync(join(dir, "published"))).toEqual(["report.md"]);
  expect(readdirSync(join(dir, "scratch"))).toEqual([]);
  // The folder it holds was removed, so that nothing can be made in it.
  expect(wrote).toBe("ENOENT");
  closeSync(file);
  closeSync(folder);
});

test("of too many folders only the one that holds them is looked into", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "report.md": "A: 80" });
  for (let at = 0; at < 20; at++) mkdirSync(join(dir, `scratch/${at}`));
  expect(survey(dir, 19).folders.map(({ parts }) => parts)).toEqual([[]]);
  expect(survey(dir, 20).folders).toHaveLength(21);
});

test("what was just published is known and is not hashed again", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "report.md": "A: 80" });
  const [file] = filesOf(await preparePublish(dir, []));
  const before = statSync(join(dir, ".agiraph-unfinished-published/report.md"), { bigint: true });
  await finishPublish(dir, file ? [file] : []);
  const after = statSync(join(dir, "published/report.md"), { bigint: true });
  // The stamp by which its content is known.
  expect([after.ino, after.mtimeNs, after.ctimeNs]).toEqual([before.ino, before.mtimeNs, before.ctimeNs]);
});

test("a file changed between the fact and the end of the publish is published as it was recorded", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "report.md": "A: 80" });
  const files = filesOf(await preparePublish(dir, []));
  writeFileSync(join(dir, "scratch/report.md"), "B: 99");

  await recoverPublish(dir, files);

  expect(readFileSync(join(dir, "published/report.md"), "utf8")).toBe("A: 80");
});

test("a publish recorded by an older version, with its files in scratch/ alone, is finished", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "data/run.csv": "1,2", "report.md": "A: 80" });
  const files = filesOf(await preparePublish(dir, []));
  await undoPublish(dir);
  expect(readdirSync(dir).filter((name) => name.startsWith("."))).toEqual([]);

  await recoverPublish(dir, files);

  expect(readFileSync(join(dir, "published/data/run.csv"), "utf8")).toBe("1,2");
  expect(readdirSync(join(dir, "scratch"))).toEqual([]);
});

test("a publish that was prepared again leaves nothing of the first preparation", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "old.md": "x" });
  await preparePublish(dir, []);
  execFileSync("rm", [join(dir, "scratch/old.md")]);
  writeFileSync(join(dir, "scratch/new.md"), "y");

  await finishPublish(dir, filesOf(await preparePublish(dir, [])));

  expect(readdirSync(join(dir, "published"))).toEqual(["new.md"]);
});

test("more bytes than may be published are refused at once, also where a sparse file takes no room", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "report.md": "x", "disk.img": "" });
  truncateSync(join(dir, "scratch/disk.img"), 2 ** 40);

  const prepared = await preparePublish(dir, []);

  expect(prepared).toEqual({
    ok: false,
    reason: `scratch/ holds 1.0 TiB, and at most ${MAX_PUBLISHED_BYTES / 2 ** 30} GiB can be published. The largest is scratch/disk.img (1.0 TiB): remove what can be made again, or keep only the part that others need.`,
  });
});

test("a sparse file stays sparse", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "disk.img": "head" });
  truncateSync(join(dir, "scratch/disk.img"), 8 * 2 ** 20);

  await finishPublish(dir, filesOf(await preparePublish(dir, [])));

  const { size, blocks } = statSync(join(dir, "published/disk.img"));
  expect([size, blocks * 512 < 2 ** 20]).toEqual([8 * 2 ** 20, true]);
  expect(readFileSync(join(dir, "published/disk.img"), "utf8").slice(0, 4)).toBe("head");
});

test("a name that is not UTF-8 is refused with that reason", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "report.md": "x" });
  writeFileSync(Buffer.concat([Buffer.from(`${join(dir, "scratch")}/caf`), Buffer.from([0xe9])]), "x");

  expect(await preparePublish(dir, [])).toEqual({
    ok: false,
    reason: '"scratch/caf\uFFFD" has a name that is not valid UTF-8: rename it.',
  });
});

test("the longest name there can be is published", async () => {
  await using home = await temporaryHome();
  const name = "n".repeat(255);
  const dir = await nodeWith(home.path, { [name]: "x" });

  await finishPublish(dir, filesOf(await preparePublish(dir, [])));

  expect(readdirSync(join(dir, "published"))).toEqual([name]);
});

/** Root reads every file whatever its mode. */
const isRoot = process.getuid?.() === 0;

test.skipIf(isRoot)("files and folders that cannot be read are refused, each with what to do", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "report.md": "x", "locked.md": "x", "closed/a.md": "x" });
  chmodSync(join(dir, "scratch/locked.md"), 0);
  chmodSync(join(dir, "scratch/closed"), 0);

  const prepared = await preparePublish(dir, []);
  chmodSync(join(dir, "scratch/closed"), 0o700);

  expect(prepared).toEqual({
    ok: false,
    reason:
      "scratch/locked.md cannot be read, its permissions forbid it: chmod u+r it, or remove it; " +
      "scratch/closed cannot be read, its permissions forbid it: chmod u+rx it, or remove it.",
  });
});

test("a file that somebody keeps appending to is published up to where it was", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "run.log": "x".repeat(3 * 2 ** 20) });
  const fd = openSync(join(dir, "scratch/run.log"), constants.O_WRONLY | constants.O_APPEND);
  let writing = true;
  const writer = (async () => {
    while (writing) {
      writeSync(fd, "y".repeat(2 ** 20));
      await new Promise(setImmediate);
    }
  })();

  const files = filesOf(await preparePublish(dir, []));
  writing = false;
  await writer;
  closeSync(fd);
  await finishPublish(dir, files);
  await recoverPublish(dir, files);

  expect(statSync(join(dir, "published/run.log")).size).toBe(files[0]?.bytes);
});

test("after many refusals of every kind the same folder can be published", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "report.md": "x" });
  const scratch = join(dir, "scratch");
  symlinkSync("/etc/passwd", join(scratch, "link"));
  execFileSync("mkfifo", [join(scratch, "pipe")]);
  writeFileSync(join(scratch, "big"), "");
  truncateSync(join(scratch, "big"), 2 ** 43);
  for (let i = 0; i < 5; i++) expect((await preparePublish(dir, [])).ok).toBe(false);

  execFileSync(
    "rm",
    ["link", "pipe", "big"].map((name) => join(scratch, name)),
  );
  linkSync(join(scratch, "report.md"), join(scratch, "twin.md"));
  const files = filesOf(await preparePublish(dir, ["report.md"]));
  await finishPublish(dir, files);

  expect(readdirSync(join(dir, "published"))).toEqual(["report.md", "twin.md"]);
  expect(readdirSync(join(dir, "published")).map((name) => statSync(join(dir, "published", name)).nlink)).toEqual([
    1, 1,
  ]);
});

async function nodeWith(home: string, files: Record<string, string>): Promise<string> {
  const dir = join(home, "node-1");
  await createNodeFolder(dir, { id: "node-1", task: "t", deliverables: [], refs: {} });
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(dir, "scratch", path, ".."), { recursive: true });
    writeFileSync(join(dir, "scratch", path), content);
  }
  return dir;
}

function filesOf(prepared: Awaited<ReturnType<typeof preparePublish>>) {
  if (!prepared.ok) throw new Error(prepared.reason);
  return prepared.files;
}

function attempt(step: () => void): string {
  try {
    step();
    return "done";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}
