import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { StdioTransport } from "./stdio-transport.ts";

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
  // It speaks once it is spoken to: from then on it is watched.
  const deaf = `trap '' TERM HUP INT PIPE; read -r _; exec 9>${fifo}; sleep 1000 & echo alive >&9; while :; do sleep 1000; done`;
  const script = `import { StdioTransport } from ${JSON.stringify(transport)};
    const server = new StdioTransport({ command: ["sh", "-c", ${JSON.stringify(deaf)}], env: { PATH: "/usr/bin:/bin" } });
    await server.start();
    await server.send({ jsonrpc: "2.0", method: "speak" });
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

test("where its pipe breaks because it ends, the refusal waits for how it ended and what it said last", async () => {
  const folder = await mkdtemp(join(tmpdir(), "agiraph-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const fifo = join(folder, "end");
  execFileSync("mkfifo", [fifo]);
  // It takes nothing any more, but has not ended yet when we write to it.
  const command = [
    "sh",
    "-c",
    `exec 0<&-; echo '{"jsonrpc":"2.0","method":"deaf"}'; cat ${fifo} >/dev/null; echo 'no key' >&2; exit 3`,
  ];
  const server = new StdioTransport({ command, env: { PATH: "/usr/bin:/bin" } });
  const isDeaf = new Promise<void>((resolve) => {
    server.onmessage = () => resolve();
  });
  await server.start();
  await isDeaf;
  const refused = server.send({ jsonrpc: "2.0", method: "ping", id: 1 }).catch((error: Error) => error.message);
  await writeFile(fifo, "");
  expect([await refused, server.ended, server.stderr]).toEqual(["write EPIPE", "it exited with code 3", "no key"]);
});
