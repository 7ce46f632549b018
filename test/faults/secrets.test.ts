import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { createCatalog } from "../../src/models/catalog/catalog.ts";
import type { Config } from "../../src/protocol/config.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { type ProviderTurn, startProviderServer, temporaryHome } from "../../src/testing/index.ts";
import { configFor, PROVIDERS } from "../scenarios/over-the-wire.ts";

/** A key that comes back from outside, in any of its spellings, is nowhere afterwards. */
const KEY = "sk-can/ary+9f3b7c1d5e8a2046";
const SPELLINGS = {
  "as it is": KEY,
  "in a URL": encodeURIComponent(KEY),
  "in a URL with small letters": encodeURIComponent(KEY).toLowerCase(),
  "in base64": Buffer.from(KEY).toString("base64").replace(/=+$/, ""),
  "in base64url": Buffer.from(KEY).toString("base64url"),
  "in basic credentials": Buffer.from(`user:${KEY}`).toString("base64").slice(8, -4),
  "in basic credentials, shifted": Buffer.from(`us:${KEY}`).toString("base64").slice(8, -4),
};
/** Everything at once, as a proxy that dumps the request may say it. */
const ECHO = [
  `Bearer ${KEY}`,
  `https://host/v1beta/models?key=${encodeURIComponent(KEY)}&x=${encodeURIComponent(KEY).toLowerCase()}`,
  `Basic ${Buffer.from(`user:${KEY}`).toString("base64")} ${Buffer.from(`us:${KEY}`).toString("base64")}`,
  `${Buffer.from(KEY).toString("base64")} ${Buffer.from(KEY).toString("base64url")} ${KEY.replaceAll("/", "\\/")}`,
].join(" ");

/** Lives of an agent, each with what its model and its provider say turn by turn. */
const LIVES: Record<string, readonly (ProviderTurn | readonly ProviderTurn[])[]> = {
  "an error": [{ fault: { status: 400, message: `Incorrect API key provided: ${ECHO}` } }],
  "the refusal of a key": [{ fault: { status: 401, message: `Incorrect API key provided: ${ECHO}` } }],
  "what it says, calls and is sent again": [
    [
      { fault: { status: 503, message: `Overloaded: ${ECHO}` } },
      { thinking: `I know ${ECHO}`, text: `It is ${ECHO} and ${KEY}`, calls: [{ name: "list_files", args: {} }] },
    ],
    { calls: [{ name: "write_file", args: { path: "a.md", content: ECHO, [KEY]: 1 } }] },
    { calls: [{ name: `look_${KEY.replace(/[^\w-]/g, "_")}`, args: { text: ECHO } }] },
    { calls: [{ name: "finish", args: { summary: `done with ${ECHO}` } }] },
  ],
};

/** One of each wire. */
const WIRES = PROVIDERS.filter(({ name }) => name !== "an OpenAI-compatible server");

describe.each(WIRES)("over $name", ({ model }) => {
  test.each(Object.entries(LIVES))("a key in %s is nowhere in the home, nor heard live", async (_, turns) => {
    const { found, facts } = await lifeOf(model, turns);
    expect(found).toEqual([]);
    expect(facts).toContain("[redacted: ");
  });
});

test("a key that a file holds, or an MCP server says, is not in the conversation", async () => {
  const server = resolve(import.meta.dirname, "../../src/mcp/testing/odd-server.ts");
  const mcp_servers: Config["mcp_servers"] = {
    odd: { command: [process.execPath, server], set: { LEAK: ECHO } },
    gone: { command: [process.execPath, "-e", `console.error(${JSON.stringify(ECHO)}); process.exit(3)`] },
  };
  const { found, results, failed } = await lifeOf(
    "ollama/qwen3",
    [
      { calls: [{ name: "mcp__odd__env", args: {} }] },
      { calls: [{ name: "read_file", args: { path: "project/notes.md" } }] },
      { calls: [{ name: "finish", args: { summary: "done" } }] },
    ],
    { mcp_servers },
  );
  expect(found).toEqual([]);
  expect(results[0]).toContain("[redacted: ANTHROPIC_API_KEY]");
  expect(results[1]).toContain("[redacted: ANTHROPIC_API_KEY]");
  expect(failed.join("\n")).toContain("[redacted: ANTHROPIC_API_KEY]");
});

async function lifeOf(model: string, turns: readonly (ProviderTurn | readonly ProviderTurn[])[], more: Config = {}) {
  await using home = await temporaryHome();
  await using project = await temporaryHome();
  await mkdir(project.path, { recursive: true });
  await writeFile(join(project.path, "notes.md"), `The key is ${KEY}.\n`);
  await using provider = await startProviderServer({ turns });
  const keys = ["ANTHROPIC", "GEMINI", "OPENROUTER", "OPENAI"].map((name) => [`${name}_API_KEY`, KEY]);
  const env = { PATH: process.env.PATH, ...provider.env, ...Object.fromEntries(keys) };
  const settings = { home: home.path, env, config: configFor(provider, more) };
  const catalog = createCatalog({ ...settings, sleep: async () => {}, random: () => 0 });
  const runtime = await openRuntime(settings, { catalog });
  const heard: string[] = [];
  try {
    const agent = await runtime.create({ goal: "Look", model, project: project.path });
    agent.onDelta((delta) => heard.push(delta.text));
    await agent.idle();
    const entries = await agent.log.conversation("conversation.jsonl");
    const facts = await agent.log.read({ after: 0, limit: 10_000 });
    return {
      results: entries.flatMap((entry) => (entry.role === "tool" ? [entry.content] : [])),
      failed: facts.flatMap((fact) => (fact.type === "mcp.failed" ? [fact.data.why] : [])),
      facts: JSON.stringify(facts),
      found: [...(await leaksIn(home.path)), ...leaks("what was heard", heard.join(""))],
    };
  } finally {
    await runtime.close();
  }
}

async function leaksIn(root: string): Promise<string[]> {
  const files = await readdir(root, { recursive: true, withFileTypes: true });
  const texts = files
    .filter((file) => file.isFile())
    .map(async (file) => leaks(file.name, await readFile(join(file.parentPath, file.name), "latin1")));
  return (await Promise.all(texts)).flat();
}

/** However often it was escaped on its way. */
function leaks(where: string, text: string): string[] {
  const bare = text.replaceAll("\\", "");
  return Object.entries(SPELLINGS)
    .filter(([, spelling]) => bare.includes(spelling))
    .map(([how]) => `${where}: ${how}`);
}
