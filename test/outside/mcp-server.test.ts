import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect } from "vitest";
import { z } from "zod";
import { mcpHandler } from "../../src/mcp/serve-toolbox.ts";
import { defineTool, refusal } from "../../src/tools/tool.ts";
import { Toolbox } from "../../src/tools/toolbox.ts";
import { installed, whenInstalled } from "./installed.ts";

/** Our MCP server before judges of others: the real inspector, and the conformance suite. */

const run = promisify(execFile);
const token = "a-token-of-some-length";
const shape = { repeatable: true, parameters: z.object({}) };

/** By the names that the suite calls. */
const toolbox = new Toolbox([
  defineTool({
    ...shape,
    name: "test_simple_text",
    description: "Returns text.",
    run: async () => "This is a simple text response for testing.",
  }),
  defineTool({
    ...shape,
    name: "test_error_handling",
    description: "Always fails.",
    run: async () => refusal("This tool intentionally returns an error for testing"),
  }),
  defineTool({
    ...shape,
    name: "add_numbers",
    description: "Adds two numbers.",
    parameters: z.object({ a: z.number(), b: z.number() }),
    run: async ({ a, b }) => String(a + b),
  }),
]);

const handle = mcpHandler(toolbox, { token, name: "agiraph" });
const guarded = createServer(handle);
/** The suite knows of no tokens: it has one by coming in here. */
const open = createServer((request, response) => {
  request.headers.authorization = `Bearer ${token}`;
  handle(request, response);
});

beforeAll(async () => {
  for (const server of [guarded, open]) await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => {
  for (const server of [guarded, open]) {
    server.closeAllConnections();
    server.close();
  }
});

const urlOf = (server: typeof open) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;

const INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";

function inspect(...args: string[]) {
  const auth = ["--header", `Authorization: Bearer ${token}`];
  const all = [installed("mcp", INSPECTOR), "--cli", urlOf(guarded), "--transport", "http", ...auth, ...args];
  return run(process.execPath, all, { timeout: 120_000 }).then(
    ({ stdout }) => ({ code: 0, said: stdout }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      said: error.stdout + error.stderr,
    }),
  );
}

whenInstalled("mcp", INSPECTOR)("the inspector lists the tools, calls them, and sees a failure as one", async () => {
  const [list, call, failed, unknown] = await Promise.all([
    inspect("--method", "tools/list"),
    inspect("--method", "tools/call", "--tool-name", "add_numbers", "--tool-arg", "a=2", "--tool-arg", "b=3"),
    inspect("--method", "tools/call", "--tool-name", "test_error_handling"),
    inspect("--method", "tools/call", "--tool-name", "gone"),
  ]);
  expect(list.code).toBe(0);
  expect(JSON.parse(list.said).tools.map(({ name }: { name: string }) => name)).toEqual(
    toolbox.specs.map(({ name }) => name),
  );
  expect({ code: call.code, said: JSON.parse(call.said) }).toMatchObject({
    code: 0,
    said: { content: [{ type: "text", text: "5" }] },
  });
  expect(failed.said).toContain('"isError": true');
  expect(unknown.code).toBe(5);
});

const SUITE = "@modelcontextprotocol/conformance/dist/index.js";

/** What a server of tools alone can be judged by; the rest is about resources, prompts and what a server may ask for. */
const scenarios = [
  ["2025-06-18", "server-initialize"],
  ["2025-11-25", "server-initialize"],
  ["2025-11-25", "ping"],
  ["2025-06-18", "tools-list"],
  ["2025-11-25", "tools-list"],
  ["2025-11-25", "tools-call-simple-text"],
  ["2025-11-25", "tools-call-error"],
  ["2025-11-25", "dns-rebinding-protection"],
  ["2026-07-28", "server-stateless"],
  ["2026-07-28", "tools-list"],
  ["2026-07-28", "tools-call-simple-text"],
  ["2026-07-28", "tools-call-error"],
  ["2026-07-28", "dns-rebinding-protection"],
  ["2026-07-28", "http-header-validation"],
];

whenInstalled("conf2", SUITE).each(scenarios)("conformance %s: %s", async (version, scenario) => {
  const args = ["server", "--url", urlOf(open), "--scenario", scenario, "--spec-version", version];
  const { stdout } = await run(process.execPath, [installed("conf2", SUITE), ...args], { timeout: 120_000 }).catch(
    (error: { stdout: string }) => error,
  );
  expect(stdout).toMatch(/^Passed: [1-9]/m);
  // Some checks want tools that log, or that ask for what they may not have; ours do neither.
  const problems = [...stdout.matchAll(/^ *Error: (.*)/gm)].map(([, problem = ""]) => problem);
  expect(problems.filter((problem) => !problem.startsWith("Not testable: server does not list"))).toEqual([]);
  if (scenario !== "server-stateless") expect(stdout).toMatch(/^Passed: (\d+)\/\1\b/m);
});
