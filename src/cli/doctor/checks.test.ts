import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { checkGit, checkMcpServers } from "./checks.ts";

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

test("git that is not there, or too old for clones of a repository, is said with what it costs", async () => {
  await using folder = await temporaryHome();
  const git = join(folder.path, "git");
  const costs = "no teams that change your repository (--write)";
  const check = () => checkGit({ PATH: folder.path }, 20_000);
  expect(await check()).toEqual({ name: "git", state: "missing", detail: "not on PATH", costs });
  const says = (words: string) => {
    writeFileSync(git, `#!/bin/sh\necho "${words}"\n`);
    chmodSync(git, 0o755);
  };
  says("git version 2.37.9");
  expect(await check()).toEqual({
    ...{ name: "git", state: "missing", costs },
    detail: `git version 2.37.9 (${git}); 2.38 or newer is needed`,
  });
  says("git version 2.38.0");
  expect(await check()).toEqual({ name: "git", state: "ok", detail: `git version 2.38.0 (${git})` });
});
