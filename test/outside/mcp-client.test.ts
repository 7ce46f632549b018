import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { expect, onTestFinished } from "vitest";
import { McpServers } from "../../src/mcp/mcp-servers.ts";
import type { McpServerConfig } from "../../src/protocol/config.ts";
import { Toolbox } from "../../src/tools/toolbox.ts";
import { installed, whenInstalled } from "./installed.ts";

/** Our MCP client with real servers, and before the conformance suite. */

const EVERYTHING = "@modelcontextprotocol/server-everything/dist/index.js";
const FILESYSTEM = "@modelcontextprotocol/server-filesystem/dist/index.js";
const SUITE = "@modelcontextprotocol/conformance/dist/index.js";

whenInstalled("mcp", EVERYTHING)(
  "server-everything by stdio: words, images, structure, progress, refusals",
  async () => {
    const command = [process.execPath, installed("mcp", EVERYTHING)];
    const { run } = await opened({ every: { command, timeout_seconds: 1 } });
    expect([
      await run("echo", { message: "hello" }),
      await run("echo", {}),
      await run("get-tiny-image"),
      await run("get-structured-content", { location: "Chicago" }),
      await run("trigger-long-running-operation", { duration: 2, steps: 8 }),
    ]).toEqual([
      [true, "Echo: hello"],
      [false, expect.stringContaining("its arguments were wrong:\ndata must have required property 'message'")],
      [true, expect.stringContaining("[image, image/png, 3.9 KiB: not shown]")],
      [true, expect.stringContaining('"humidity":82')],
      [true, "Long running operation completed. Duration: 2 seconds, Steps: 8."],
    ]);
  },
);

whenInstalled("mcp", EVERYTHING)("server-everything by HTTP, also when it was begun anew meanwhile", async () => {
  const port = await freePort();
  const first = await everythingAt(port);
  const { run } = await opened({ every: { url: `http://127.0.0.1:${port}/mcp` } });
  expect(await run("echo", { message: "hello" })).toEqual([true, "Echo: hello"]);
  first.kill("SIGKILL");
  await once(first, "exit");
  expect(await run("echo", { message: "hello?" })).toEqual([
    false,
    expect.stringContaining("went away while echo ran"),
  ]);
  await everythingAt(port);
  expect(await run("echo", { message: "again" })).toEqual([true, "Echo: again"]);
});

whenInstalled("mcp", FILESYSTEM)("server-filesystem reads what it was given and nothing else", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "agiraph-mcp-")));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "a.txt"), "hello");
  const command = [process.execPath, installed("mcp", FILESYSTEM), folder];
  const { run } = await opened({ every: { command, tools: ["read_text_file"] } });
  expect([
    await run("read_text_file", { path: join(folder, "a.txt") }),
    await run("read_text_file", { path: "/etc/passwd" }),
    await run("write_file", { path: join(folder, "b.txt"), content: "" }),
  ]).toEqual([
    [true, "hello"],
    [false, expect.stringContaining("Access denied")],
    [false, 'There is no tool "mcp__every__write_file". You have: mcp__every__read_text_file.'],
  ]);
});

/** Those that need no OAuth and no extension. */
const scenarios = [
  ["2025-06-18", "initialize"],
  ["2025-11-25", "initialize"],
  ["2025-11-25", "tools_call"],
  ["2026-07-28", "tools_call"],
  ["2025-11-25", "elicitation-sep1034-client-defaults"],
  ["2025-11-25", "sse-retry"],
  ["2026-07-28", "request-metadata"],
  ["2026-07-28", "sep-2322-client-request-state"],
  ["2026-07-28", "http-standard-headers"],
  ["2026-07-28", "http-custom-headers"],
  ["2026-07-28", "http-invalid-tool-headers"],
  ["2026-07-28", "json-schema-ref-no-deref"],
  ["2025-11-25", "json-schema-2020-12-preservation"],
  ["2026-07-28", "json-schema-2020-12-preservation"],
];

whenInstalled("conf2", SUITE).each(scenarios)("conformance %s: %s", async (version, scenario) => {
  const client = `${process.execPath} ${join(import.meta.dirname, "mcp-conformance-client.ts")}`;
  const args = ["client", "--command", client, "--scenario", scenario, "--spec-version", version];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [installed("conf2", SUITE), ...args], {
    timeout: 120_000,
  }).catch((error: { stdout: string; stderr: string }) => error);
  expect(stdout + stderr).toMatch(/^Passed: ([1-9]\d*)\/\1, 0 failed/m);
});

async function opened(config: Record<string, McpServerConfig>) {
  const servers = new McpServers(config, { env: process.env, now: Date.now });
  onTestFinished(() => servers.close());
  const { tools, broken } = await servers.open(() => true);
  expect(broken).toEqual([]);
  const run = async (name: string, args: object = {}): Promise<[boolean, string]> => {
    const call = { type: "call" as const, id: "c", name: `mcp__every__${name}`, args };
    const { ok, content } = await new Toolbox(tools()).run(call, new AbortController().signal);
    const foreign = /^<foreign (\w+)>\n([\s\S]*)\n<\/foreign \1>$/m.exec(content);
    return [ok, foreign?.[2] ?? content];
  };
  return { run };
}

async function everythingAt(port: number) {
  const child = spawn(process.execPath, [installed("mcp", EVERYTHING), "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  for await (const line of createInterface({ input: child.stderr })) if (line.includes("listening")) break;
  child.stderr.resume();
  return child;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
