import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const module = fileURLToPath(new URL("./end-with-npm.ts", import.meta.url));
const watched = `import(${JSON.stringify(module)}).then(({ endWithNpm }) => { endWithNpm(process, 10); console.log(process.pid); setInterval(() => {}, 1e6); })`;
const asNpm = `const { spawn } = require("node:child_process"); spawn("/bin/sh", ["-c", '"$NODE" -e "$CODE"; true'], { stdio: "inherit" });`;

test("what npm started ends when npm is killed, through the shell between them", async () => {
  const npm = spawn(process.execPath, ["-e", asNpm], {
    env: { ...process.env, NODE: process.execPath, CODE: watched },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(npm.stdout.setEncoding("utf8"), "data");
  expect(Number(line)).toBeGreaterThan(0);
  npm.kill("SIGKILL");
  // The pipe is closed when the last of them has ended.
  await once(npm.stdout.resume(), "end");
});
