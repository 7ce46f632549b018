import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { argumentCheck } from "./argument-check.ts";
import { McpServers } from "./mcp-servers.ts";

const program = join(import.meta.dirname, "testing/odd-server.ts");
const never = new AbortController().signal;

async function opened(how: string) {
  const servers = new McpServers(
    { odd: { command: [process.execPath, program, how] } },
    { env: process.env, now: () => performance.now() },
  );
  onTestFinished(() => servers.close());
  const { tools, changed, broken } = await servers.open(() => true);
  const described = (name: string) => tools().find(({ spec }) => spec.name === `mcp__odd__${name}`);
  const run = async (name: string, args: object = {}) => described(name)?.run(args, never);
  return { described, run, changed, broken };
}

/** A few lines that stand for 2⁴⁰ steps. */
const doubled = Object.fromEntries(
  Array.from({ length: 40 }, (_, at) => {
    const next = { $ref: `#/$defs/d${at + 1}` };
    return [`d${at}`, at === 39 ? { type: "object" } : { allOf: [next, next] }];
  }),
);

test.for([
  ["references that double at each step", { $ref: "#/$defs/d0", $defs: doubled }],
  ["references that double by another word", { anyOf: [{ $ref: "#/$defs/d0" }], $defs: doubled }],
  ["a schema that contains itself", { allOf: [{ $ref: "#" }] }],
  [
    "two definitions that name each other",
    { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
  ],
  ["a reference to another place", { $ref: "https://evil.example/schema.json" }],
  ["a dynamic reference", { $dynamicAnchor: "a", allOf: [{ $dynamicRef: "#a" }, { $dynamicRef: "#a" }] }],
] as const)("%s cannot hold us up: the server checks it", ([, schema]) => {
  expect(argumentCheck({ type: "object", ...schema })({ q: "x" })).toEqual({ ok: true, args: { q: "x" } });
});

test("items that must differ are not compared here, and many arguments are not checked against a long list", () => {
  const items = Array.from({ length: 50_000 }, (_, at) => ({ at }));
  const unique = argumentCheck({ type: "object", properties: { a: { type: "array", uniqueItems: true } } });
  expect(unique({ a: items }).ok).toBe(true);
  const allowed = Array.from({ length: 100 }, (_, at) => [at]);
  const listed = argumentCheck({ type: "object", properties: { a: { type: "array", items: { enum: allowed } } } });
  expect([listed({ a: items }).ok, listed({ a: [5] }).ok]).toEqual([true, false]);
});

test("a definition that is used a few times is checked", () => {
  const point = { type: "object", properties: { x: { type: "number" } }, required: ["x"] };
  const properties = { from: { $ref: "#/$defs/point" }, to: { $ref: "#/$defs/point" } };
  const check = argumentCheck({ type: "object", properties, $defs: { point } });
  expect([check({ from: { x: 1 }, to: { x: 2 } }).ok, check({ from: { x: "1" } }).ok]).toEqual([true, false]);
});

test("names from Object's prototype are arguments like any other", () => {
  const schema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}',
  );
  const args = JSON.parse('{"__proto__":{"polluted":1},"constructor":5}');
  expect(argumentCheck(schema)(args).ok).toBe(false);
  expect("polluted" in {}).toBe(false);
});

test("a list of tools without an end is given up, and the server with it", async () => {
  const { broken } = await opened("endless");
  expect(broken).toEqual([{ server: "odd", why: expect.stringContaining("exceeded listMaxPages (8)") }]);
});

test("the first answer to a call counts; other answers, and questions that we do not offer, change nothing", async () => {
  const { run } = await opened("well");
  expect(await run("echoes")).toMatchObject({ ok: true, content: expect.stringContaining("\nfirst\n") });
  expect(await run("echo", { text: "still here" })).toMatchObject({ ok: true });
  expect("polluted" in {}).toBe(false);
});

test("a tool that its server describes anew says so, and is told once", async () => {
  const { run, described, changed } = await opened("well");
  expect([described("echo")?.spec.description.includes("has changed"), changed()]).toEqual([false, []]);
  await run("alter");
  await expect
    .poll(() => described("echo")?.spec.description)
    .toContain("and sends it to us.\nIts server has changed this tool since it was first listed");
  expect([changed(), changed()]).toEqual([[{ server: "odd", tool: "echo" }], []]);
});

test("a server that asks without end and reads no answer is ended", async () => {
  const { run } = await opened("well");
  expect(await run("nag")).toMatchObject({
    ok: false,
    content: expect.stringContaining("went away while nag ran (it does not read what it is sent"),
  });
});
