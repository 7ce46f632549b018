import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "./tool.ts";
import { Toolbox } from "./toolbox.ts";

const tool = defineTool({
  name: "look",
  description: "",
  repeatable: true,
  parameters: z.object({
    path: z.string(),
    limit: z.int().optional(),
    deep: z.boolean().default(false),
    tags: z.array(z.string()).optional(),
    people: z.array(z.object({ name: z.string(), title: z.string().optional() })).optional(),
    briefs: z.record(z.string(), z.string()).optional(),
    note: z.string().nullable().optional(),
    action: z.union([z.string(), z.object({ type: z.literal("wake") })]).optional(),
    config: z.looseObject({ at: z.unknown().optional() }).optional(),
  }),
  run: async (args) => JSON.stringify(args),
});

async function answerTo(args: unknown, name = "look") {
  const call = { type: "call", id: "c", name, args } as const;
  return (await new Toolbox([tool]).run(call, new AbortController().signal)).content;
}

test("ARGUMENTS-1. an unknown argument is refused and named, with the nearest one, at any depth", async () => {
  const takes = "look takes: path, limit, deep, tags, people, briefs, note, action, config.";
  const wrong = "look did not run, its arguments were wrong:\n";
  expect(await answerTo({ path: "a", pathname: "b" })).toBe(
    `${wrong}There is no argument "pathname". Did you mean "path"? ${takes}`,
  );
  expect(await answerTo({ path: "a", colour: "b" })).toBe(`${wrong}There is no argument "colour". ${takes}`);
  expect(await answerTo({ path: "a", people: [{ name: "Al", titel: "x" }] })).toBe(
    `${wrong}There is no argument "titel" in people[0]. Did you mean "title"? people[0] takes: name, title.`,
  );
  expect(await answerTo({ path: "a", action: { type: "wake", typ: "x" } })).toContain('Did you mean "type"?');
  expect(await answerTo({ file_path: "a" })).toMatch(/Did you mean "path"\?[\s\S]*→ at path/);
});

test("what takes any names takes them still", async () => {
  const args = { path: "a", briefs: { Ann: "Go on." }, config: { at: 1, other: null } };
  expect(JSON.parse(await answerTo(args))).toEqual({ ...args, deep: false });
});

test("ARGUMENTS-2. what can mean only one thing is taken as that", async () => {
  const sent = { path: "7", limit: "5", deep: "true", tags: '["x"]', people: '[{"name": "Al", "title": null}]' };
  expect(JSON.parse(await answerTo(sent))).toEqual({
    path: "7",
    limit: 5,
    deep: true,
    tags: ["x"],
    people: [{ name: "Al" }],
  });
  expect(JSON.parse(await answerTo({ path: "a", limit: null, tags: null, note: null }))).toEqual({
    path: "a",
    deep: false,
    note: null,
  });
});

test("what may mean several things is refused with what is expected", async () => {
  expect(await answerTo({ path: null })).toContain("expected string, received undefined");
  expect(await answerTo({ path: "a", limit: "many" })).toContain("expected number, received string");
  expect(await answerTo([{ path: "a" }])).toContain("expected object, received array");
  expect(await answerTo(null)).toContain("expected string, received undefined");
  expect(await answerTo(JSON.parse('{"path": "a", "__proto__": {"limit": 1}}'))).toContain("__proto__");
});

test("an unknown tool is named with the nearest one", async () => {
  expect(await answerTo({}, "functions.look")).toBe(
    'There is no tool "functions.look". Did you mean "look"? You have: look.',
  );
});
