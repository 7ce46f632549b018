import { cpSync, linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { isForWantOfRoom } from "../../src/store/disk/disk.ts";
import {
  createNodeFolder,
  finishPublish,
  preparePublish,
  recoverPublish,
  undoPublish,
} from "../../src/store/run/node-folder.ts";
import { temporaryHome } from "../../src/testing/temporary-home.ts";

/**
 * A process that dies at a given step: from then on nothing it does reaches the disk. Steps are the calls that change
 * the disk, each counted twice, so that it dies before or after each of them.
 */
const disk = vi.hoisted(() => ({ step: 0, diesAt: Number.POSITIVE_INFINITY, trace: [] as string[], full: "" }));

class Died extends Error {}

vi.mock("node:fs", async (original) => {
  const real = await original<typeof import("node:fs")>();
  const half = (): void => {
    if (disk.step++ >= disk.diesAt) throw new Died();
  };
  /** Names what is done, without the descriptors, which differ from run to run. */
  const note = (name: string, args: unknown[]) => {
    const paths = typeof args[0] === "number" ? [] : args;
    const names = paths
      .filter((arg) => typeof arg === "string" || Buffer.isBuffer(arg))
      .map((path) => String(path).split("/").at(-1));
    const at = typeof args[0] === "number" ? [real.readlinkSync(`/proc/self/fd/${args[0]}`).split("/").at(-1)] : [];
    disk.trace.push([name, ...at, ...names].join(" "));
  };
  const dying =
    <A extends unknown[], R>(name: string, call: (...args: A) => R) =>
    (...args: A): R => {
      half();
      // libuv has no name for EDQUOT: Node gives its number only.
      if (name === "writeSync" && disk.full === "ENOSPC") throw Object.assign(new Error("no room"), { code: "ENOSPC" });
      if (name === "writeSync" && disk.full === "EDQUOT") throw Object.assign(new Error("quota"), { errno: -122 });
      const result = call(...args);
      note(name, args);
      half();
      return result;
    };
  const names = ["renameSync", "mkdirSync", "unlinkSync", "fchmodSync", "writeSync"] as const;
  const changed = Object.fromEntries(
    names.map((name) => [name, dying(name, real[name] as (...args: unknown[]) => unknown)]),
  );
  const sync = (name: "fsync" | "fdatasync") => (fd: number, done: (error: Error | null) => void) => {
    try {
      half();
    } catch (error) {
      return done(error as Error);
    }
    note(name, [fd]);
    real[name](fd, done);
  };
  /** As its synchronous twin: the process dies before it, or after it and before anything that follows. */
  const aside =
    (name: "rename" | "mkdir" | "unlink" | "rmdir", twin: (...args: unknown[]) => unknown) =>
    (...given: unknown[]) => {
      const done = given.pop() as (error: Error | null) => void;
      let failure: Error | null = null;
      try {
        dying(name, twin)(...given);
      } catch (error) {
        failure = error as Error;
      }
      setImmediate(done, failure);
    };
  const rename = aside("rename", real.renameSync as (...args: unknown[]) => unknown);
  const mkdir = aside("mkdir", real.mkdirSync as (...args: unknown[]) => unknown);
  const unlink = aside("unlink", real.unlinkSync as (...args: unknown[]) => unknown);
  const rmdir = aside("rmdir", real.rmdirSync as (...args: unknown[]) => unknown);
  return { ...real, ...changed, fsync: sync("fsync"), fdatasync: sync("fdatasync"), rename, mkdir, unlink, rmdir };
});

beforeEach(() => Object.assign(disk, { step: 0, diesAt: Number.POSITIVE_INFINITY, trace: [], full: "" }));

test.each(["ENOSPC", "EDQUOT"])(
  "no room for the copy (%s): nothing of it stays, and there is room later",
  async (code) => {
    await using home = await temporaryHome();
    const dir = await nodeIn(join(home.path, "node"));
    disk.full = code;
    const failure = await preparePublish(dir, []).catch((error: unknown) => error);
    expect(isForWantOfRoom(failure)).toBe(true);
    expect(readdirSync(dir).filter((name) => name.startsWith("."))).toEqual([]);
    expect([filesIn(join(dir, "scratch")), filesIn(join(dir, "published"))]).toEqual([
      { "data/run.csv": "1,2", "report.md": "A: 80" },
      {},
    ]);

    disk.full = "";
    await publish(dir);
    expect(filesIn(join(dir, "published"))).toEqual({ "data/run.csv": "1,2", "report.md": "A: 80" });
  },
);

test("wherever publishing dies, nothing or everything is published, and recovery ends it the same way", async () => {
  await using home = await temporaryHome();
  const published = { "data/run.csv": "1,2", "report.md": "A: 80" };

  const steps = await stepsOf(join(home.path, "whole"));
  expect(steps).toBeGreaterThan(20);
  for (let diesAt = 0; diesAt < steps; diesAt++) {
    const dir = join(home.path, `dies-at-${diesAt}`);
    await nodeIn(dir);
    const recorded = await publishDyingAt(dir, diesAt);

    const halfway = filesIn(join(dir, "published"));
    expect([{}, published]).toContainEqual(halfway);
    if (recorded) {
      await recoverPublish(dir, recorded);
      await recoverPublish(dir, recorded);
    } else {
      expect(halfway).toEqual({});
      await undoPublish(dir);
      await publish(dir);
    }
    expect([diesAt, filesIn(join(dir, "published")), readdirSync(join(dir, "scratch"))]).toEqual([
      diesAt,
      published,
      [],
    ]);
  }
});

test("dying again and again during recovery changes nothing", async () => {
  await using home = await temporaryHome();
  const dir = await nodeIn(join(home.path, "node"));
  const prepared = await preparePublish(dir, []);
  if (!prepared.ok) throw new Error(prepared.reason);
  for (let diesAt = 0, died = true; died; diesAt++) {
    const copy = join(home.path, `copy-${diesAt}`);
    cpSync(dir, copy, { recursive: true });
    Object.assign(disk, { step: 0, diesAt });
    died = await recoverPublish(copy, prepared.files).then(() => false, diedOnly);
    Object.assign(disk, { diesAt: Number.POSITIVE_INFINITY });
    await recoverPublish(copy, prepared.files);

    expect(filesIn(join(copy, "published"))).toEqual({ "data/run.csv": "1,2", "report.md": "A: 80" });
  }
});

test("all is synced before the rename, and the rename before anyone is told", async () => {
  await using home = await temporaryHome();
  const dir = await nodeIn(join(home.path, "node"));
  disk.trace = [];
  await publish(dir);

  const steps = disk.trace
    .filter((step) => !/^(fchmod|mkdir.*data)/.test(step))
    .map((step) => step.replaceAll(/\.agiraph-unfinished\S*/g, "UNFINISHED"));
  const told = steps.indexOf("fsync node") + 1;
  expect(steps.slice(0, told)).toEqual([
    "mkdir UNFINISHED",
    "writeSync report.md",
    "fdatasync report.md",
    "writeSync run.csv",
    "fdatasync run.csv",
    "fsync data",
    "fsync UNFINISHED",
    "rename scratch UNFINISHED",
    "mkdir scratch",
    "rename UNFINISHED published",
    "fsync node",
  ]);
  // What the worker had is removed last, in the order in which the disk lists it.
  expect(steps.slice(told).sort()).toEqual(["rmdir UNFINISHED", "rmdir data", "unlink report.md", "unlink run.csv"]);
});

async function nodeIn(dir: string): Promise<string> {
  await createNodeFolder(dir, { id: "node-1", task: "t", deliverables: [], refs: {} });
  mkdirSync(join(dir, "scratch/data"));
  writeFileSync(join(dir, "scratch/report.md"), "A: 80");
  writeFileSync(join(dir, "scratch/data/run.csv"), "1,2");
  linkSync(join(dir, "scratch/data/run.csv"), `${dir}.twin`);
  Object.assign(disk, { step: 0 });
  return dir;
}

async function publish(dir: string): Promise<void> {
  const prepared = await preparePublish(dir, ["report.md"]);
  if (!prepared.ok) throw new Error(prepared.reason);
  await finishPublish(dir, prepared.files);
}

async function stepsOf(dir: string): Promise<number> {
  await nodeIn(dir);
  await publish(dir);
  return disk.step;
}

/** The manifest, if it came to be recorded (the fact on disk) before the end. */
async function publishDyingAt(dir: string, diesAt: number) {
  Object.assign(disk, { step: 0, diesAt });
  let recorded: Extract<Awaited<ReturnType<typeof preparePublish>>, { ok: true }>["files"] | undefined;
  try {
    const prepared = await preparePublish(dir, ["report.md"]);
    if (!prepared.ok) throw new Error(prepared.reason);
    recorded = prepared.files;
    await finishPublish(dir, recorded);
  } catch (error) {
    diedOnly(error);
  }
  Object.assign(disk, { diesAt: Number.POSITIVE_INFINITY });
  return recorded;
}

function diedOnly(error: unknown): true {
  if (error instanceof Died) return true;
  throw error;
}

function filesIn(dir: string): Record<string, string> {
  let all: import("node:fs").Dirent[];
  try {
    all = readdirSync(dir, { recursive: true, withFileTypes: true });
  } catch {
    return {};
  }
  const files = all.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(files.sort().map((file) => [file.slice(dir.length + 1), readFileSync(file, "utf8")]));
}
