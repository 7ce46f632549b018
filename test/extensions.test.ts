import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";

/** The built package, as Node itself loads it: Vitest would load an extension in its own way. */
const load = createRequire(import.meta.url);
const { ModelFailure, openRuntime } = load("agiraph") as typeof import("../src/index.ts");
const { manualClock, startProviderServer, temporaryHome } = load(
  "agiraph/testing",
) as typeof import("../src/testing/index.ts");

/** A tool without types, as somebody writes it by hand in JavaScript. */
const TOOL = (name: string) =>
  `{ spec: { name: "${name}", description: "", parameters: { type: "object" } }, repeatable: true, parse: (args) => ({ ok: true, args }), run: async () => "done" }`;

async function homeWith(files: Record<string, string>) {
  const home = await temporaryHome();
  await mkdir(join(home.path, "extensions"), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(home.path, name), text);
  const open = (config = {}, instead = {}) => openRuntime({ home: home.path, env: {}, config }, instead);
  const states = async (config = {}) => {
    const runtime = await open(config);
    await runtime.close();
    return runtime.extensions;
  };
  return { path: home.path, open, states, [Symbol.asyncDispose]: () => home.remove() };
}

const loaded = (file: string, more: object = {}) => ({
  ...{ file, state: "loaded", tools: [], providers: [], channels: [] },
  ...more,
});
const broken = (file: string, problem: unknown) => ({ file, state: "broken", problem });

test("EXTENSION-1: a broken extension is named with what is wrong, and the others work", async () => {
  await using home = await homeWith({
    "extensions/1-good.ts": `const tools: unknown[] = [${TOOL("weather")}];\nexport default { tools };`,
    "extensions/2-syntax.js": "export default {",
    "extensions/3-throws.js": 'throw new Error("no licence");',
    "extensions/4-nothing.js": "export const tools = [];",
    "extensions/5-shape.js": 'export default { tools: [{ name: "x" }] };',
    "extensions/6-field.js": "export default { tool: [] };",
    "extensions/7-import.js": 'import "./nowhere.js"; export default {};',
    "extensions/8-maker.js": `export default async ({ home, env }) => ({ tools: [${TOOL("made")}].filter(() => home && env) });`,
    "extensions/9-enum.ts": "enum A { B } export default {};",
    "extensions/9-line.ts": "const a: number = 1;\n\nexport default {{ a };",
    "extensions/notes.md": "not a module",
    "extensions/types.d.ts": "export {};",
    "extensions/weather.test.ts": "throw 1;",
  });
  expect(await home.states({ extensions: ["missing.ts"] })).toEqual([
    loaded("extensions/1-good.ts", { tools: ["weather"] }),
    broken("extensions/2-syntax.js", expect.stringMatching(/^SyntaxError: /)),
    broken("extensions/3-throws.js", "no licence"),
    broken("extensions/4-nothing.js", expect.stringMatching(/^An extension's default export is an object with tools/)),
    broken("extensions/5-shape.js", "tools[0] is not a tool. Make it with defineTool."),
    broken("extensions/6-field.js", expect.stringMatching(/^it adds "tool", which nothing uses\./)),
    broken("extensions/7-import.js", expect.stringMatching(/nowhere\.js/)),
    loaded("extensions/8-maker.js", { tools: ["made"] }),
    broken("extensions/9-enum.ts", expect.stringMatching(/enum/)),
    broken("extensions/9-line.ts", expect.stringMatching(/^extensions\/9-line\.ts:3: SyntaxError: /)),
    broken("missing.ts", 'there is no such file. Fix "extensions" in config.json.'),
  ]);
});

test("ADDITION-3: a tool that lacks a field is refused with the name of the field", async () => {
  const tool = (fields: string) =>
    `import { defineExtension, defineTool, z } from "agiraph";
     export default defineExtension({ tools: [defineTool({ name: "rot13", ${fields} })] });`;
  await using home = await homeWith({
    "extensions/1.js": tool('description: "", parameters: z.object({}), run: async () => ""'),
    "extensions/2.js": tool('description: "", parameters: { text: z.string() }, repeatable: true, run: async () => ""'),
    "extensions/3.js": tool('description: "", parameters: z.object({}), repeatable: true'),
    "extensions/4.js": tool('parameters: z.object({}), repeatable: true, run: async () => ""'),
    "extensions/5.js": tool('description: "", parameters: z.string(), repeatable: true, run: async () => ""'),
  });
  expect(await home.states()).toEqual([
    broken(
      "extensions/1.js",
      "tools[0] (rot13): `repeatable` is missing. Set it to true if a call may be made again after a crash, otherwise to false.",
    ),
    broken("extensions/2.js", 'The tool "rot13": `parameters` must be a schema, e.g. z.object({ text: z.string() }).'),
    broken("extensions/3.js", 'The tool "rot13": `run` must be a function.'),
    broken(
      "extensions/4.js",
      "tools[0] (rot13): `description` is missing. It is what the model is told about the tool.",
    ),
    broken(
      "extensions/5.js",
      'The tool "rot13": `parameters` must be z.object({ … }), since models send arguments by name; this one is of type string.',
    ),
  ]);
});

test("EXTENSION-1: one that hangs is given up, the others work, and it is closed if it is ready after all", async () => {
  await using home = await homeWith({
    "extensions/a.js": "await globalThis.mayBeReady; export default { close() { globalThis.closedLate(); } };",
    "extensions/b.js": "export default { tools: [] };",
  });
  const [ready, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  Object.assign(globalThis, { mayBeReady: ready.promise, closedLate: closed.resolve });
  const clock = manualClock();
  let isAsleep = () => {};
  const asleep = new Promise<void>((resolve) => (isAsleep = resolve));
  const sleep: typeof clock.sleep = (ms, signal) => {
    isAsleep();
    return clock.sleep(ms, signal);
  };
  const opening = home.open({}, { clock: { now: clock.now, sleep } });
  await asleep;
  await clock.advance(10_000);
  const runtime = await opening;
  await runtime.close();
  expect(runtime.extensions).toEqual([
    broken("extensions/a.js", "it was not ready within 10 s: does it wait for something when it is loaded?"),
    loaded("extensions/b.js"),
  ]);
  ready.resolve();
  await closed.promise;
});

test("EXTENSION-2: what others could change is not run, wherever it lies and whoever imports it", async () => {
  await using home = await homeWith({ "extensions/good.js": 'import "../open/helper.js"; export default {};' });
  await mkdir(join(home.path, "open"));
  const run = "globalThis.isChanged = true; export default {};";
  for (const name of ["helper.js", "own.js"]) {
    await writeFile(join(home.path, "open", name), run);
    await chmod(join(home.path, "open", name), 0o666);
  }
  const unsafe = (file: string) => expect.stringMatching(new RegExp(`could change it: \\S+${file} can be written by`));
  expect(await home.states({ extensions: ["open/own.js"] })).toEqual([
    broken("extensions/good.js", unsafe("helper.js")),
    broken("open/own.js", unsafe("own.js")),
  ]);
  await chmod(join(home.path, "extensions/good.js"), 0o666);
  await expect(home.open()).rejects.toThrow(/not safe from other users[\s\S]*good\.js can be written by everyone/);
  expect(Reflect.get(globalThis, "isChanged")).toBeUndefined();
});

test("EXTENSION-3: an extension that may not add one thing adds nothing, is closed, and leaves its names free", async () => {
  await using home = await homeWith({
    "extensions/a.js": `export default { tools: [${TOOL("weather")}, ${TOOL("bash")}], close() { globalThis.closedA = true; } };`,
    "extensions/b.js": `export default { tools: [${TOOL("weather")}] };`,
    "extensions/c.js": `export default { tools: [${TOOL("weather")}, ${TOOL("mcp__x__y")}, ${TOOL("a b")}] };`,
  });
  expect(await home.states()).toEqual([
    broken("extensions/a.js", 'The tool "bash" is built in. Give yours another name.'),
    loaded("extensions/b.js", { tools: ["weather"] }),
    broken(
      "extensions/c.js",
      'The tool "weather" already exists (extensions/b.js). Rename one of them. The tool "mcp__x__y" begins with mcp__, which is reserved for tools of MCP servers. Choose another name. "a b" cannot be a tool\'s name. Use letters, digits, _ and -, beginning with a letter, at most 64.',
    ),
  ]);
  expect(Reflect.get(globalThis, "closedA")).toBe(true);
});

test("IMPORTS-1, OPEN-2: an extension uses this very program, its tool is used like a built-in, and it is closed", async () => {
  await using provider = await startProviderServer({
    turns: [
      { calls: [{ name: "shout", args: { words: "hello" } }] },
      { calls: [{ name: "shout", args: { text: "hello" } }] },
      { calls: [{ name: "finish", args: { summary: "Done." } }] },
    ],
  });
  await using home = await homeWith({
    "extensions/shout.ts": `
      import { defineExtension, defineTool, ModelFailure, z } from "agiraph";
      import { temporaryHome } from "agiraph/testing";
      globalThis.sameProgram = [ModelFailure, temporaryHome];
      const shout = defineTool({
        name: "shout",
        description: "Says it louder.",
        repeatable: true,
        readOnly: true,
        parameters: z.object({ text: z.string() }),
        run: async ({ text }: { text: string }) => text.toUpperCase() + " " + process.env.HOME_KEY,
      });
      export default defineExtension(({ env }) => {
        process.env.HOME_KEY = env.HOME_KEY;
        return { tools: [shout], close: () => void globalThis.events.push("closed") };
      });`,
  });
  const events: string[] = [];
  Reflect.set(globalThis, "events", events);
  const secret = "sk-0123456789abcdef0123456789";
  const env = { ...provider.env, HOME_KEY: secret };
  const runtime = await openRuntime({ home: home.path, env, config: {} });
  const agent = await runtime.create({ goal: "Shout.", model: "ollama/small", tools: ["shout"] });
  await agent.idle();
  events.push("idle");
  const said = await agent.log.conversation("conversation.jsonl");
  const facts = await agent.log.read({ after: 0, limit: 1000 });
  await runtime.close();
  expect(agent.now.agent.status).toBe("completed");
  expect(said.filter(({ role }) => role === "tool").slice(0, 2)).toMatchObject([
    {
      tool: "shout",
      ok: false,
      content: expect.stringMatching(/shout did not run, its arguments were wrong[\s\S]*words/),
    },
    { tool: "shout", ok: true, content: "HELLO [redacted: HOME_KEY]" },
  ]);
  const recorded = facts.filter(({ type }) => type === "tool.called" || type === "tool.result");
  expect(recorded.filter(({ data }) => "tool" in data && data.tool === "shout").length).toBe(4);
  expect(events).toEqual(["idle", "closed"]);
  expect(Reflect.get(globalThis, "sameProgram")).toEqual([ModelFailure, temporaryHome]);
});
