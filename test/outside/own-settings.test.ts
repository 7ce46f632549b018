import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import {
  call,
  type ProviderTurn,
  script,
  startProviderServer,
  startTeam,
  temporaryHome,
} from "../../src/testing/index.ts";
import { whenInstalled } from "./installed.ts";
import { realPrograms } from "./real-programs.ts";

/* The real programs use the MCP servers of their user's own settings, where the user has chosen so. */

/** An MCP server with one tool, on standard input and output. */
const SERVER = `require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const about = { capabilities: { tools: {} }, serverInfo: { name: "mine", version: "1" } };
  const tool = { name: "hello", description: "Greets people in Lisbon.", inputSchema: { type: "object", properties: {} } };
  const answers = { initialize: { protocolVersion: params?.protocolVersion, ...about }, "tools/list": { tools: [tool] }, "tools/call": { content: [{ type: "text", text: tool.description }] } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method] ?? {} }));
});`;
const started = { command: "node", args: ["-e", SERVER] };

const SETTINGS: Record<keyof typeof realPrograms, [path: string, text: string]> = {
  "claude-code": [".claude.json", JSON.stringify({ mcpServers: { mine: started } })],
  codex: [
    ".codex/config.toml",
    `[mcp_servers.mine]\ncommand = "node"\nargs = ["-e", ${JSON.stringify(SERVER)}]\n\n[features]\nplugins = true\n`,
  ],
  gemini: [".gemini/settings.json", JSON.stringify({ mcpServers: { mine: started } })],
  opencode: [
    ".config/opencode/opencode.json",
    JSON.stringify({ mcp: { mine: { type: "local", command: ["node", "-e", SERVER], enabled: true } } }),
  ],
};

async function askedBy(name: keyof typeof realPrograms, own_settings: boolean): Promise<string> {
  const program = realPrograms[name];
  await using me = await temporaryHome();
  const [path, text] = SETTINGS[name];
  await mkdir(dirname(join(me.path, path)), { recursive: true });
  await writeFile(join(me.path, path), text);
  const asked: unknown[] = [];
  // The model of Codex is not told of the tools of servers: it searches for them.
  const calls = name === "codex" ? [{ calls: [{ name: "mcp__mine/hello", args: {} }] }] : [];
  const wait = program.shell("sleep 1; echo hello > a.md");
  const turns: ProviderTurn[] = [...calls, wait, program.ours("publish", { summary: "It is written." })];
  await using provider = await startProviderServer({
    respond: ({ body, messages }) => {
      if (!JSON.stringify(body).includes("Write it down.")) return { text: "A title" };
      asked.push(body);
      return (
        turns[messages.flatMap((each) => (each.role === "assistant" ? each.calls : [])).length] ?? { text: "Done." }
      );
    },
  });
  await using team = await startTeam({
    goal: "g",
    coordinator: script(
      call("spawn_worker", { name: "Cody", program: name, ...(program.model && { model: program.model }) }),
      call("create_work_node", { task: "Write it down.", worker: "Cody" }),
      call("finish", { summary: "done" }).after("node-1 completed"),
    ),
    env: { PATH: process.env.PATH, HOME: me.path },
    config: { programs: { [name]: program.profile(provider.url, { own_settings }) } },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  return JSON.stringify(asked);
}

for (const [name, { files }] of Object.entries(realPrograms)) {
  const test = whenInstalled(...files);
  test(`${name} has the MCP servers of its user's settings where the user has chosen so, and only there`, async () => {
    const key = name as keyof typeof realPrograms;
    expect(await askedBy(key, true)).toContain("Greets people in Lisbon.");
    expect(await askedBy(key, false)).not.toContain("Greets people in Lisbon.");
  });
}
