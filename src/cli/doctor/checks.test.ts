import { join } from "node:path";
import { expect, test } from "vitest";
import { checkMcpServers } from "./checks.ts";

test("each MCP server is asked: how many tools, or why there are none", async () => {
  const program = join(import.meta.dirname, "../../mcp/testing/odd-server.ts");
  const server = (how: string) => ({ command: [process.execPath, program, how] });
  const config = { mcp_servers: { odd: server("odd"), licence: server("broken") } };
  expect(await checkMcpServers({ home: "", env: { PATH: process.env.PATH }, config })).toEqual([
    { name: "mcp odd", state: "ok", detail: "9 tools (odd 1, MCP 2025-11-25)" },
    {
      name: "mcp licence",
      state: "broken",
      detail: "it exited with code 3; its last words: no licence found",
      costs: "no tools called mcp__licence__…; the rest works",
    },
  ]);
  expect(await checkMcpServers({ home: "", env: {}, config: {} })).toEqual([]);
});
