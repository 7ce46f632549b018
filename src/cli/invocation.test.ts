import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { createAgiraph } from "./agiraph-command.ts";
import { asCalled, commandLine, whereAsked } from "./invocation.ts";
import { Terminal } from "./terminal.ts";
import { paintFor } from "./wording/paint.ts";

function invocation(env: Record<string, string>, home?: string) {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  return { terminal: new Terminal(streams, env, "/here"), home, json: false, packageRoot: "/package" };
}

test("the command to copy is the one that works: the same program, on the same home, quoted for the shell", () => {
  expect([
    commandLine(invocation({}), "resume", "agent-abcd"),
    commandLine(invocation({}, "/tmp/my home"), "resume", "agent-abcd"),
    commandLine(invocation({}, "it's"), "show", "x"),
    commandLine(invocation({ npm_lifecycle_event: "start" }), "resume", "agent-abcd"),
  ]).toEqual([
    "agiraph resume agent-abcd",
    "agiraph resume agent-abcd --home '/tmp/my home'",
    "agiraph show x --home 'it'\\''s'",
    "npm start -- resume agent-abcd",
  ]);
});

test("words that name the program by its name say what works for how it was called", () => {
  const words =
    "There is no agent x. `agiraph ls` shows those there are, in /home/agiraph ls; or agiraph run y. Then: agiraph publish y node-1";
  expect([asCalled(words, {}), asCalled(words, { npm_lifecycle_event: "start" })]).toEqual([
    words,
    "There is no agent x. `npm start -- ls` shows those there are, in /home/agiraph ls; or npm start -- run y. Then: npm start -- publish y node-1",
  ]);
});

test("whichever command they name", () => {
  const names = createAgiraph(invocation({}).terminal, () => {}).commands.map((command) => command.name());
  const said = names.map((name) => asCalled(`agiraph ${name} x`, { npm_lifecycle_event: "start" }));
  expect(said).toEqual(names.map((name) => `npm start -- ${name} x`));
});

test("the project is where the person stood, also when npm went elsewhere", () => {
  const cwd = "/package";
  expect([
    whereAsked({}, cwd),
    whereAsked({ INIT_CWD: "/home/me/project", npm_lifecycle_event: "start" }, cwd),
    whereAsked({ INIT_CWD: "/left/over" }, cwd),
  ]).toEqual(["/package", "/home/me/project", "/package"]);
});

test("colours are for terminals whose owner does not object", () => {
  const coloured = (isTTY: boolean, env: Record<string, string>) => paintFor({ isTTY }, env).isColorSupported;
  expect([
    coloured(true, {}),
    coloured(false, {}),
    coloured(true, { NO_COLOR: "1" }),
    coloured(true, { TERM: "dumb" }),
    coloured(false, { FORCE_COLOR: "1" }),
    coloured(false, { FORCE_COLOR: "1", NO_COLOR: "1" }),
  ]).toEqual([true, false, false, false, true, false]);
});
