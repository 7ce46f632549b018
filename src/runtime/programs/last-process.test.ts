import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { thisProcess } from "../../sandbox/index.ts";
import { temporaryHome } from "../../testing/index.ts";
import { keepLast, lastIsGone } from "./last-process.ts";

const linux = process.platform === "linux";

test.runIf(linux)("nobody begins where the last one lives; when it has gone, or is another, they do", async () => {
  await using home = await programHome();
  await using other = await programHome();
  await lastIsGone(home.path);
  const child = spawn("cat", { stdio: ["pipe", "ignore", "ignore"] });
  await keepLast(home.path, thisProcess(child.pid ?? -1));
  let mayBegin = false;
  const gone = lastIsGone(home.path).then(() => (mayBegin = true));
  const exited = once(child, "exit");
  // Another process that got its number later is not waited for.
  await keepLast(other.path, { pid: process.pid, since: "1" });
  await lastIsGone(other.path);
  expect(mayBegin).toBe(false);
  child.stdin.end();
  await exited;
  await gone;
});

test("the program has no hand in it: nothing in its own home makes anybody wait", async () => {
  await using home = await programHome();
  const before = await readdir(home.path);
  await keepLast(home.path, { pid: 1, since: "never" });
  expect(await readdir(home.path)).toEqual(before);
});

test("a note that was torn by a crash is none", async () => {
  await using home = await programHome();
  for (const text of ["", "[1]", '{"pid":-1,"since":"1"}', "{", '{"pid":1}']) {
    await writeFile(`${home.path}.process.json`, text);
    await lastIsGone(home.path);
  }
});

/** A home as programs have it, within a folder that goes with what is beside it. */
async function programHome() {
  const around = await temporaryHome();
  const path = join(around.path, "clara");
  await mkdir(path);
  return { path, [Symbol.asyncDispose]: () => around[Symbol.asyncDispose]() };
}
