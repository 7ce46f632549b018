import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { thisProcess } from "../sandbox/index.ts";
import { temporaryHome } from "../testing/index.ts";
import { keepLast, lastIsGone } from "./last-life.ts";

const linux = process.platform === "linux";

test.runIf(linux)("nobody begins where the last one lives; when it has gone, or is another, they do", async () => {
  await using home = await temporaryHome();
  await using other = await temporaryHome();
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

test("what the program has made of the note harms nobody", async () => {
  await using home = await temporaryHome();
  for (const text of ["", "[1]", '{"pid":-1,"since":"1"}', "{", '{"pid":1}']) {
    await keepLast(home.path, { pid: 1, since: "never" });
    await writeFile(join(home.path, ".agiraph/process.json"), text);
    await lastIsGone(home.path);
  }
});
