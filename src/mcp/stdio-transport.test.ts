import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";

const transport = join(import.meta.dirname, "stdio-transport.ts");

test("a server that ignores the end of its input ends when we are killed, with what it started", async () => {
  const folder = await mkdtemp(join(tmpdir(), "agiraph-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const fifo = join(folder, "life");
  execFileSync("mkfifo", [fifo]);
  // Ends when the last process that holds the pipe for writing is dead.
  const reader = spawn("cat", [fifo], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void reader.kill("SIGKILL"));
  const begun = once(reader.stdout, "data");
  const deaf = `trap '' TERM HUP INT PIPE; exec 9>${fifo}; sleep 1000 & echo alive >&9; while :; do sleep 1000; done`;
  const script = `import { StdioTransport } from ${JSON.stringify(transport)};
    await new StdioTransport({ command: ["sh", "-c", ${JSON.stringify(deaf)}], env: { PATH: "/usr/bin:/bin" } }).start();
    setInterval(() => {}, 1000)`;
  const us = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  onTestFinished(() => void us.kill("SIGKILL"));
  await begun;
  const rest = text(reader.stdout);
  us.kill("SIGKILL");
  expect(await rest).toBe("");
});
