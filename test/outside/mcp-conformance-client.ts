import { McpServers } from "../../src/mcp/mcp-servers.ts";
import type { Tool } from "../../src/tools/tool.ts";

/**
 * Our MCP client as the conformance suite runs it: the address of its server is the last argument, the scenario is in
 * MCP_CONFORMANCE_SCENARIO, and what is to be called, where it is not always the same, in MCP_CONFORMANCE_CONTEXT.
 */
const url = process.argv.at(-1) ?? "";
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const context: { toolCalls?: { name: string; arguments: Record<string, unknown> }[] } = JSON.parse(
  process.env.MCP_CONFORMANCE_CONTEXT ?? "{}",
);

const servers = new McpServers(
  { suite: { url } },
  { env: process.env, now: Date.now, elicit: async () => ({ action: "accept", content: {} }) },
);
const { tools, broken } = await servers.open(() => true);
console.log(
  scenario,
  broken,
  tools().map(({ spec }) => spec.name),
);
const signal = AbortSignal.timeout(20_000);
await Promise.all(
  callsFor(tools()).map(async ({ tool, args }) => console.log(tool.spec.name, await tool.run(args, signal))),
);
await servers.close();
process.exitCode = broken.length > 0 ? 1 : 0;

function callsFor(given: readonly Tool[]): { tool: Tool; args: Record<string, unknown> }[] {
  const named = (name: string) => given.filter(({ spec }) => spec.name === `mcp__suite__${name}`);
  if (context.toolCalls)
    return context.toolCalls.flatMap(({ name, arguments: args }) => named(name).map((tool) => ({ tool, args })));
  const echo = given.find(({ spec }) => spec.name.includes("echo"));
  const focal = given.find(({ spec }) => "$schema" in spec.parameters);
  if (scenario.startsWith("json-schema-2020") && echo && focal)
    return [{ tool: echo, args: { schema: focal.spec.parameters } }];
  if (scenario === "tools_call") return named("add_numbers").map((tool) => ({ tool, args: { a: 5, b: 3 } }));
  return given.map((tool) => ({ tool, args: {} }));
}
