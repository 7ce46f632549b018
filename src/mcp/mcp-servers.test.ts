import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { McpServerConfig } from "../protocol/config.ts";
import { within } from "../testing/within.ts";
import type { Tool } from "../tools/tool.ts";
import { Toolbox } from "../tools/toolbox.ts";
import { foreignText } from "../tools/web-foreign.ts";
import { McpServers } from "./mcp-servers.ts";

const never = new AbortController().signal;
const program = join(import.meta.dirname, "testing/odd-server.ts");

test("a server's tools are tools: named after it, with its schema, their answers marked as foreign", async () => {
  const { toolbox, run } = await opened({ odd: serverThat("well", { tools: ["echo", "refuse"] }) });
  expect(toolbox.specs).toEqual([
    {
      name: "mcp__odd__echo",
      description: 'Of the MCP server "odd", in the words of its authors: Says it again.',
      parameters: {
        type: "object",
        properties: { text: { type: "string", pattern: "(a+)+$" } },
        required: ["text"],
      },
      readOnly: true,
    },
    {
      name: "mcp__odd__refuse",
      description: 'Of the MCP server "odd", in the words of its authors: ',
      parameters: { type: "object" },
    },
  ]);
  expect([
    await run("echo", { text: "hello \u202ethere" }),
    await run("echo", { text: 5 }),
    await run("echo", []),
    await run("refuse"),
  ]).toEqual([
    [true, foreign("hello there")],
    [false, "mcp__odd__echo did not run, its arguments were wrong:\ndata/text must be string"],
    [false, expect.stringContaining("mcp__odd__echo did not run, its arguments were wrong:")],
    [false, `The server refused the call.\n${foreign("-32602: Not like this.")}`],
  ]);
});

test("a pattern of a server cannot hold us up: the server checks it", async () => {
  const { run } = await opened({ odd: serverThat("well") });
  const words = `${"a".repeat(40)}!`;
  expect(await run("echo", { text: words })).toEqual([true, foreign(words)]);
});

test("what is no text is described, and of too much text both ends are shown", async () => {
  const { run } = await opened({ odd: serverThat("well") });
  expect(await run("image")).toEqual([
    true,
    foreign(
      [
        "[image, image/png, 2.9 KiB: not shown]",
        "[audio, audio/wav, 3 bytes: not shown]",
        "[link to file:///a.txt: a]",
        "[resource file:///b.txt, text/plain]\nwords",
        "[resource file:///c.bin, 2.9 KiB: not shown]",
      ].join("\n\n"),
    ),
  ]);
  const [ok, flood = ""] = await run("flood");
  expect({
    ok,
    isShort: flood.length < 31_000,
    begins: flood.includes("begin x"),
    ends: flood.includes("x end"),
  }).toEqual({ ok: true, isShort: true, begins: true, ends: true });
});

test("MCP-CONNECTION-2. a server that dies in the middle of a call is begun again by the next, and the call is not repeated", async () => {
  const { run } = await opened({ odd: serverThat("well") });
  expect(await run("die")).toEqual([
    false,
    'The MCP server "odd" went away while die ran (it exited with code 7; its last words: the roof is on fire). Outcome unknown: look at what it may have changed before you repeat it. It is begun again with the next call.',
  ]);
  expect(await run("echo", { text: "back" })).toEqual([true, foreign("back")]);
});

test("MCP-CONNECTION-3. one that dies again and again is begun again after longer and longer pauses", async () => {
  const { run, clock } = await opened({ odd: serverThat("well") });
  await run("die");
  await run("die"); // begun again at once
  const down = expect.stringContaining('die did not run. The MCP server "odd" is not there: it exited with code 7');
  expect(await run("die")).toEqual([false, down]);
  clock.now += 1999;
  expect(await run("die")).toEqual([false, expect.stringContaining("It is tried again in 1 s at the earliest")]);
  clock.now += 1;
  expect(await run("die")).toEqual([false, expect.stringContaining("went away while die ran")]);
  clock.now += 3999;
  expect(await run("die")).toEqual([false, down]);
  clock.now += 1;
  expect(await run("echo", { text: "back" })).toEqual([true, foreign("back")]);
  await run("die");
  expect(await run("echo", { text: "at once" })).toEqual([true, foreign("at once")]);
});

test("a slow call ends at its time-out, unless it shows progress; a stop ends it at once", async () => {
  const { toolbox, run } = await opened({ odd: serverThat("well", { timeout_seconds: 2 }) });
  expect(await run("hang")).toEqual([
    false,
    "hang gave no answer within 2 s and was cancelled. Whether it took effect is unknown: look before you repeat it.",
  ]);
  // A step every 40 ms: longer than the limit in all, and far within it from one to the next.
  expect(await run("work", { steps: 60 })).toEqual([true, foreign("after 60 steps")]);
  const stop = new AbortController();
  const hanging = toolbox.run({ type: "call", id: "c", name: "mcp__odd__hang", args: {} }, stop.signal);
  stop.abort(new Error("stop"));
  await expect(hanging).rejects.toThrow("stop");
});

test("a message without an end ends the server, not us", async () => {
  const { run } = await opened({ odd: serverThat("well") });
  expect(await run("pour")).toEqual([
    false,
    expect.stringContaining("went away while pour ran (it sent a message of more than 10 MiB"),
  ]);
});

test("a broken server says why and the rest works", async () => {
  const { broken, toolbox } = await opened({
    odd: serverThat("well", { tools: ["echo"] }),
    licence: serverThat("broken"),
    missing: { command: ["no-such-program-anywhere"] },
    keyless: { url: "http://127.0.0.1:9/mcp", headers_env: { authorization: "NO_SUCH_KEY" } },
    nobody: { url: "http://127.0.0.1:1024/mcp" },
  });
  expect(toolbox.specs.map(({ name }) => name)).toEqual(["mcp__odd__echo"]);
  expect(broken).toEqual([
    { server: "licence", why: "it exited with code 3; its last words: no licence found" },
    { server: "missing", why: "it could not be started: spawn no-such-program-anywhere ENOENT" },
    { server: "keyless", why: "NO_SUCH_KEY is not set, which it needs for the header authorization" },
    { server: "nobody", why: "Version negotiation probe failed: fetch failed (connect ECONNREFUSED 127.0.0.1:1024)" },
  ]);
});

test("nobody waits long for a server that says nothing, and it does not hold up the end", async () => {
  const { servers, broken, toolbox } = await opened(
    { odd: serverThat("silent"), files: serverThat("well", { tools: ["echo"] }) },
    { PATH: process.env.PATH },
    3_000,
  );
  expect([broken, toolbox.specs.map(({ name }) => name)]).toEqual([
    [{ server: "odd", why: "it did not answer within 3 s" }],
    ["mcp__files__echo"],
  ]);
  await within(5_000, servers.close());
});

test("an old server that ends at a question it does not know is asked the old way", async () => {
  const { run, broken } = await opened({ odd: serverThat("strict") });
  expect(broken).toEqual([]);
  expect(await run("echo", { text: "hello" })).toEqual([true, foreign("hello")]);
});

test("names are plain, short, and never two the same; ours are never taken", async () => {
  const { toolbox } = await opened({ odd: serverThat("odd"), a: serverThat("well", { tools: [] }) });
  const names = toolbox.specs.map(({ name }) => name);
  expect(names).toEqual([
    expect.stringMatching(/^mcp__odd__a_b_[0-9a-f]{8}$/),
    expect.stringMatching(/^mcp__odd__a_b_[0-9a-f]{8}$/),
    "mcp__odd__a_b",
    expect.stringMatching(/^mcp__odd__x{45}_[0-9a-f]{8}$/),
    expect.stringMatching(/^mcp__odd__x{45}_[0-9a-f]{8}$/),
    expect.stringMatching(/^mcp__odd___n_code_[0-9a-f]{8}$/),
    "mcp__odd__publish",
    "mcp__odd__a__publish",
  ]);
  expect(new Set(names).size).toBe(names.length);
  expect(Math.max(...names.map(({ length }) => length))).toBe(64);
});

test("two servers whose names run into their tools' are told apart", async () => {
  const { toolbox } = await opened({
    odd: serverThat("odd", { tools: ["a__publish"] }),
    odd__a: serverThat("odd", { tools: ["publish"] }),
  });
  expect(toolbox.specs.map(({ name, description }) => [name, description.split(",")[0]])).toEqual([
    ["mcp__odd__a__publish", 'Of the MCP server "odd"'],
    [expect.stringMatching(/^mcp__odd__a__publish_[0-9a-f]{8}$/), 'Of the MCP server "odd__a"'],
  ]);
});

test("what a server says of its tools is bounded", async () => {
  const { toolbox, broken } = await opened({
    odd: serverThat("hostile"),
    many: serverThat("many"),
    deep: serverThat("deep"),
  });
  expect(broken).toEqual([{ server: "deep", why: "Maximum call stack size exceeded" }]);
  const about = toolbox.specs.map(({ name, description, parameters }) => ({
    name,
    isShort: description.length < 2_200,
    hasControls: description.includes("\u202e"),
    parameters,
  }));
  const shown = { isShort: true, hasControls: false, parameters: { type: "object" } };
  expect(about.slice(0, 2)).toEqual(["long", "huge"].map((name) => ({ name: `mcp__odd__${name}`, ...shown })));
  expect(about.length).toBe(2 + 128);
});

test("a changed list holds from the next turn on", async () => {
  const { toolbox, run } = await opened({ odd: serverThat("well", { tools: ["grow", "grown"] }) });
  expect(toolbox.specs.map(({ name }) => name)).toEqual(["mcp__odd__grow"]);
  await run("grow");
  await expect.poll(() => toolbox.specs.map(({ name }) => name)).toEqual(["mcp__odd__grow", "mcp__odd__grown"]);
});

test("a server gets the variables that are named, and what any program needs", async () => {
  const env = { PATH: process.env.PATH, HOME: "/nowhere", OPENAI_API_KEY: "secret", GIVEN: "given" };
  const { toolbox } = await opened({ odd: serverThat("well", { env: ["GIVEN"], set: { MORE: "more" } }) }, env);
  const { content } = await toolbox.run({ type: "call", id: "c", name: "mcp__odd__env", args: {} }, never);
  expect(JSON.parse(/^\{.*\}$/m.exec(content)?.[0] ?? "")).toEqual({
    PATH: process.env.PATH,
    HOME: "/nowhere",
    GIVEN: "given",
    MORE: "more",
    argv: [],
  });
});

test("MCP-STDIO-1. when the house closes, a server ends with all it had started", async () => {
  const { run, servers } = await opened({ odd: serverThat("well") });
  const [, said = ""] = await run("fork");
  const pid = Number(/^\d+$/m.exec(said)?.[0]);
  expect(isAlive(pid)).toBe(true);
  await servers.close();
  await expect.poll(() => isAlive(pid)).toBe(false);
  expect(await run("echo", { text: "gone" })).toEqual([false, expect.stringContaining("echo did not run.")]);
});

test("MCP-CLIENT-1. a server that config.json describes anew, names or names no more changes whose tools there are; others are left alone", async () => {
  let config: Record<string, McpServerConfig> = { odd: serverThat("well"), other: serverThat("well") };
  const servers = new McpServers(() => config, { env: { PATH: process.env.PATH }, now: () => 0, patienceMs: 20_000 });
  onTestFinished(() => servers.close());
  const { tools } = await servers.open(() => true);
  const called = async (name: string) => {
    const { content } = await new Toolbox(tools()).run({ type: "call", id: "c", name, args: { text: "x" } }, never);
    return content;
  };
  const pidOf = async (server: string) => /^\d+$/m.exec(await called(`mcp__${server}__pid`))?.[0];
  const [odd, other] = [await pidOf("odd"), await pidOf("other")];
  config = { odd: serverThat("well"), other: serverThat("well", { timeout_seconds: 5 }), third: serverThat("well") };
  while ((await pidOf("other")) === undefined) await turn();
  expect([await pidOf("odd"), (await pidOf("other")) === other]).toEqual([odd, false]);
  while (isAlive(Number(other))) await turn();
  await servers.open(() => true);
  expect(await pidOf("third")).toMatch(/^\d+$/);
  config = { third: serverThat("well") };
  expect(tools().every(({ spec }) => spec.name.startsWith("mcp__third__"))).toBe(true);
  while (isAlive(Number(odd))) await turn();
});

/** Lets others have their turn, while something is waited for that surely comes. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function serverThat(how: string, rest: Partial<Extract<McpServerConfig, { command: string[] }>> = {}): McpServerConfig {
  return { command: [process.execPath, program, how], ...rest };
}

async function opened(
  config: Record<string, McpServerConfig>,
  env: Record<string, string | undefined> = { PATH: process.env.PATH },
  patienceMs = 20_000,
) {
  const clock = { now: 0 };
  const servers = new McpServers(config, { env, now: () => clock.now, patienceMs });
  onTestFinished(() => servers.close());
  const { tools, broken } = await servers.open(() => true);
  const toolbox = {
    get specs() {
      return tools().map(({ spec }: Tool) => spec);
    },
    run: (call: Parameters<Toolbox["run"]>[0], signal: AbortSignal) => new Toolbox(tools()).run(call, signal),
  };
  const run = async (name: string, args: unknown = {}): Promise<[boolean, string]> => {
    const { ok, content } = await toolbox.run({ type: "call", id: "c", name: `mcp__odd__${name}`, args }, never);
    return [ok, content];
  };
  return { servers, toolbox, broken, run, clock };
}

function foreign(text: string): string {
  return foreignText('the MCP server "odd"', text);
}

/** One that nobody has buried yet is dead all the same. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return /^[^Z\s]/.test(stdout.trim());
}
