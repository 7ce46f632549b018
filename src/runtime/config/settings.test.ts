import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { configSchema, programProfileSchema, serverConfigSchema } from "../../protocol/config.ts";
import { temporaryHome } from "../../testing/index.ts";
import { EXAMPLE } from "./config-problems.ts";
import { loadSettings, readConfig, SettingsError } from "./settings.ts";

test("flag before environment before the file beside the package; the real environment wins over every .env", async () => {
  await using folder = await temporaryHome();
  const home = join(folder.path, "home");
  await mkdir(home);
  await writeFile(join(folder.path, ".env"), `AGIRAPH_HOME=${home}\nA=beside\nB=beside\n`);
  await writeFile(join(home, ".env"), "A=home\nC=home\n");
  await writeFile(join(home, "config.json"), `{"model": "demo/surveyor"}`);
  expect(await loadSettings({}, { B: "real" }, folder.path)).toEqual({
    home,
    env: { AGIRAPH_HOME: home, A: "beside", B: "real", C: "home" },
    config: { model: "demo/surveyor" },
  });
  expect((await loadSettings({ home: "/elsewhere" }, { AGIRAPH_HOME: "/environment" }, folder.path)).home).toBe(
    "/elsewhere",
  );
  expect((await loadSettings({}, { AGIRAPH_HOME: "/environment" }, folder.path)).home).toBe("/environment");
});

test("malformed lines of both .env files are named, and the rest is used", async () => {
  await using folder = await temporaryHome();
  await writeFile(join(folder.path, ".env"), "A=1\nB 2\n");
  const home = join(folder.path, "home");
  await mkdir(home);
  await writeFile(join(home, ".env"), "C D=3\nE=4\n");
  const { env, envProblems = [] } = await loadSettings({ home }, {}, folder.path);
  expect(env).toMatchObject({ A: "1", E: "4" });
  expect(envProblems.map((problem) => problem.split(": ", 1)[0])).toEqual([`${folder.path}/.env:2`, `${home}/.env:1`]);
});

test.each([
  ["a missing comma", '{\n  "model": "a"\n  "budget_usd": 3\n}', "config.json:3:3: this is not valid JSON"],
  ["an end too soon", '{\n  "model": "a",\n', "config.json:3:1: this is not valid JSON"],
  ["a word without quotes", '{\n  "model": hello,\n  "budget_usd": 3\n}', "config.json:2:12: this is not valid JSON"],
  [
    "a wrong type",
    '{\n  "model": "a",\n  "budget_usd": "three"\n}',
    'config.json:3: budget_usd: expected a number, e.g. "budget_usd": 5; there is text.',
  ],
  ["too little", '{"max_turns": 0}', 'max_turns: expected at least 1, e.g. "max_turns": 200; there is a number.'],
  [
    "a deep wrong type",
    '{\n "providers": {\n  "mine": {\n   "base_url": 5\n }}}',
    'config.json:4: providers.mine.base_url: expected text in quotes, e.g. "base_url": "http://127.0.0.1:8000/v1"; there is a number.',
  ],
  [
    "something missing",
    '{"providers": {"mine": {}}}',
    'providers.mine: base_url is missing. Only anthropic, openai, google, openrouter, ollama need none; any other name is a server and needs its address, e.g. "base_url": "http://127.0.0.1:8000/v1".',
  ],
  [
    "an unknown key",
    '{\n  "modell": "a"\n}',
    "config.json:2: there is no field modell. Did you mean model? Choose from: model, worker_model, ",
  ],
  [
    "an unknown key of a program",
    '{"programs": {"codex": {"hots": []}}}',
    "programs.codex: there is no field hots. Did you mean hosts? Choose from: kind, command, ",
  ],
  [
    "a word that is none of those there are",
    '{"programs": {"codex": {"permissions": "yes"}}}',
    'programs.codex.permissions: expected one of "ask", "allow", "deny", e.g. "permissions": "ask"; there is text.',
  ],
  [
    "a kind of program that there is not",
    '{"programs": {"codex": {"kind": "cli"}}}',
    'programs.codex.kind: expected one of "claude_code", "acp", "autonomous", e.g. "kind": "autonomous"; there is text.',
  ],
  [
    "variables with values where names belong",
    '{"programs": {"codex": {"env": {"OPENAI_API_KEY": "x"}}}}',
    'programs.codex.env: expected a list, e.g. "env": ["LINTER_TOKEN"]; there is an object. It names variables of your environment; variables with their values go into set.',
  ],
  [
    "a program that nobody knows, described in part",
    '{"programs": {\n "aider": {"command": ["aider"]}}}',
    'config.json:2: programs.aider: kind is missing. Only the built-in programs (claude-code, codex, gemini, opencode) may be described in part; any other needs its kind and its command, e.g. {"kind":"autonomous",',
  ],
  [
    "a program of another kind than the one of its name",
    '{"programs": {"codex": {"kind": "autonomous"}}}',
    "programs.codex: command is missing.",
  ],
  [
    "an MCP server that is neither a command nor an address",
    '{"mcp_servers": {"files": {"tools": []}}}',
    'mcp_servers.files.command: expected a list, e.g. "command": ["npx",',
  ],
  [
    "an MCP server's address",
    '{"mcp_servers": {"tickets": {"url": "tickets"}}}',
    'mcp_servers.tickets.url: expected an address, e.g. "url": "https://mcp.example.org/mcp"; there is text.',
  ],
  [
    "a contract's unknown field",
    '{"contract": {"max_turns": 3}}',
    "contract: there is no field max_turns. Choose from: max_iterations_per_node, timeout_seconds, checkpoint_policy.",
  ],
  [
    "a channel's address that cannot be posted to",
    '{"channels": {\n "pager": {"type": "webhook", "secret": "0123456789abcdef",\n  "url": "ftp://example.org"}}}',
    "config.json:3: channels.pager.url: expected https:// (or http://), e.g. ",
  ],
  [
    "a channel's address with a password",
    '{"channels": {"pager": {"type": "webhook", "secret": "0123456789abcdef", "url": "https://a:b@example.org"}}}',
    "channels.pager.url: expected an address without a user or password in it; use the secret",
  ],
  [
    "a channel without a secret",
    '{"channels": {"pager": {"type": "webhook", "url": "https://example.org"}}}',
    'channels.pager.secret: expected a secret to sign with: give secret, or secret_env with a variable\'s name, e.g. "secret_env": "PAGER_SECRET"; it is missing.',
  ],
  [
    "a short secret",
    '{"channels": {"pager": {"type": "webhook", "url": "https://example.org", "secret": "x"}}}',
    'channels.pager.secret: expected at least 16 characters: openssl rand -hex 32 makes some, e.g. "secret_env": "PAGER_SECRET"; there is text.',
  ],
  [
    "a key in the file",
    '{"providers": {"mine": {"base_url": "http://127.0.0.1:1", "api_key": "x"}}}',
    "providers.mine: there is no field api_key. Did you mean api_key_env? It names a variable of your environment, which holds the value. Choose from: ",
  ],
  [
    "a header without its variable",
    '{"mcp_servers": {"mine": {"url": "https://mcp.example.org", "headers_env": {"x-key": 5}}}}',
    'mcp_servers.mine.headers_env.x-key: expected text in quotes, e.g. "x-key": "TICKETS_AUTH"; there is a number.',
  ],
  [
    "a Slack channel that listens without a secret",
    '{"channels": {"pager": {"type": "webhook", "url": "https://a.b", "preset": "slack", "listen": {"port": 1}}}}',
    "channels.pager.secret: expected a secret to sign with",
  ],
  [
    "a channel's name that is not plain",
    '{"channels": {"my pager": {"type": "webhook", "url": "https://a.b", "preset": "slack"}}}',
    "channels.(a name that is not repeated here): expected lower-case letters, digits, - and _, at most 40",
  ],
  ["no object", "[]", "config.json:1: expected an object in braces, e.g. {"],
])("an unreadable config says file, line and what was expected: %s", async (_, text, message) => {
  await using home = await temporaryHome();
  const path = join(home.path, "config.json");
  await writeFile(path, text);
  await expect(readConfig(path)).rejects.toThrow(SettingsError);
  await expect(readConfig(path)).rejects.toThrow(message);
});

test("no config is an empty config", async () => {
  await using home = await temporaryHome();
  expect(await readConfig(join(home.path, "config.json"))).toEqual({});
});

test("Slack and Discord are reached by their address alone; all else is signed", async () => {
  await using home = await temporaryHome();
  const path = join(home.path, "config.json");
  const channels = {
    team: { type: "webhook", url: "https://example.org/T0/B0", preset: "slack", to: ["questions"] },
    pager: { type: "webhook", url: "http://127.0.0.1:9/", secret_env: "PAGER_SECRET", listen: { port: 4748 } },
  };
  await writeFile(path, JSON.stringify({ channels }));
  expect(await readConfig(path)).toEqual({ channels });
});

const SECRET = "sk-ant-0123456789abcdef";

test.each([
  ["text that is no JSON", `{"set": "${SECRET}" oops}`],
  ["a word without quotes", `{"programs": {"codex": {"set": {"KEY": ${SECRET}}}}}`],
  ["a key where a variable's name belongs", `{"programs": {"codex": {"env": ["KEY=${SECRET}"]}}}`],
  [
    "a key in place of a variable's name",
    `{"providers": {"a": {"base_url": "http://a.b", "api_key_env": "${SECRET}"}}}`,
  ],
  [
    "a header in place of a variable's name",
    `{"mcp_servers": {"a": {"url": "http://a.b", "headers_env": {"x": "Bearer ${SECRET}"}}}}`,
  ],
  ["a key as the name of a field", `{"${SECRET}-and-as-long-as-keys-are-in-earnest": 1}`],
  ["a short key as the name of a field", `{"${SECRET}": 1}`],
  ["a key as the name of a program", `{"programs": {"${SECRET}": {}}}`],
  ["a key of another form as the name of a field", `{"AIzaSyA0123456789-sk_ant-abcdefghijklmno": 1}`],
  ["a key in an address", `{"channels": {"a": {"type": "webhook", "url": "${SECRET}:x", "secret": "${SECRET}"}}}`],
  ["a short secret", `{"channels": {"a": {"type": "webhook", "url": "https://a.b", "secret": "sk-ant-012"}}}`],
])("what may be a key is never repeated: %s", async (_, text) => {
  await using home = await temporaryHome();
  const path = join(home.path, "config.json");
  await writeFile(path, text);
  const error = await readConfig(path).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SettingsError);
  expect(String(error)).not.toMatch(/sk-ant|AIza/);
});

test("a name that is long, or has a date in it, is repeated all the same", async () => {
  await using home = await temporaryHome();
  const path = join(home.path, "config.json");
  await writeFile(path, '{"models": {"anthropic/claude-sonnet-4-5-20250929": {"window": 1}}}');
  await expect(readConfig(path)).rejects.toThrow(
    "models.anthropic/claude-sonnet-4-5-20250929: there is no field window.",
  );
});

test("the example that problems quote from is valid, and has every field there is", () => {
  expect(configSchema.parse(EXAMPLE)).toEqual(EXAMPLE);
  expect(Object.keys(EXAMPLE).sort()).toEqual(Object.keys(configSchema.shape).sort());
  const [profile] = Object.values(EXAMPLE.programs ?? {});
  expect(Object.keys(profile ?? {}).sort()).toEqual(Object.keys(programProfileSchema.shape).sort());
  expect(Object.keys(EXAMPLE.server ?? {}).sort()).toEqual(Object.keys(serverConfigSchema.shape).sort());
});
