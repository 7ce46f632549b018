import { expect, test } from "vitest";
import { projectEntrySchema } from "../../protocol/project-config.ts";
import { World } from "../../repository/testing/world.ts";
import { parseConfig } from "./config-file.ts";
import { EXAMPLE } from "./config-problems.ts";
import { LOCK_FILES, projectEntryFor, readProjectConfig, receiveLimitsOf } from "./project-config.ts";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";

function read(text: string | undefined, entry?: Parameters<typeof readProjectConfig>[2]) {
  const fileAt = async (_commit: string, path: string) =>
    path === ".agiraph/project.json" && text !== undefined ? Buffer.from(text) : undefined;
  return readProjectConfig({ fileAt }, COMMIT, entry);
}

const LIMITS = {
  ...{ commit_mb: 2048, file_mb: 512, files: 200_000, checkout_mb: 4096 },
  ...{ include_mb: 256, include_files: 2000, check_seconds: 900 },
};

test("without a file there is nothing to do, within the usual limits", async () => {
  const config = { setup: null, checks: [], hosts: [], limits: LIMITS, from: {} };
  expect(await read(undefined)).toEqual({ ok: true, config });
  expect(await read("{}")).toEqual({ ok: true, config });
});

test("a setup may be a command alone: it depends on the known lock files, and makes what git ignores", async () => {
  const setup = { command: "npm ci", inputs: [...LOCK_FILES], outputs: null, timeout_seconds: 900 };
  expect(await read('\uFEFF{"setup": " npm ci "}')).toMatchObject({ ok: true, config: { setup } });
  const full = { command: "make deps", inputs: ["deps.txt", "tools/"], outputs: ["vendor"], timeout_seconds: 60 };
  expect(await read(JSON.stringify({ setup: full }))).toMatchObject({ ok: true, config: { setup: full } });
});

test("config.json overrides the file, limits one by one, and it is known where each comes from", async () => {
  const file = { setup: "npm ci", checks: ["npm test"], hosts: ["a.example"], limits: { files: 10, file_mb: 1 } };
  const entry = { write: true, checks: ["npm run quick"], limits: { file_mb: 2 } };
  expect(await read(JSON.stringify(file), entry)).toMatchObject({
    ok: true,
    config: {
      setup: { command: "npm ci" },
      checks: ["npm run quick"],
      hosts: ["a.example"],
      limits: { ...LIMITS, files: 10, file_mb: 2 },
      from: {
        setup: ".agiraph/project.json",
        checks: "config.json",
        hosts: ".agiraph/project.json",
        limits: "config.json and .agiraph/project.json",
      },
    },
  });
  expect(await read(JSON.stringify(file), { checks: [], hosts: [] })).toMatchObject({
    config: { checks: [], hosts: [], from: { checks: "config.json", hosts: "config.json" } },
  });
});

test.each([
  ["{", /^\.agiraph\/project\.json \(commit 01234567\):1:2: this is not valid JSON/],
  ["[]", /: expected an object in braces/],
  [
    '{"check": ["npm test"]}',
    /: there is no field "check". Did you mean "checks"\? Choose from: setup, checks, hosts, limits/,
  ],
  ['{"setup": {"comand": "x"}}', /no field "comand". Did you mean "command"\?/],
  ['{"setup": 5}', /: setup: expected text in quotes or an object in braces/],
  ['{"checks": "npm test"}', /: checks: expected a list/],
  ['{"checks": ["npm test", " "]}', /: checks\.1: expected a command/],
  ['{"hosts": ["https://a.example"]}', /: hosts\.0: expected a host, or host:port/],
  ['{"limits": {"files": 0}}', /: limits\.files: expected more than 0/],
  ['{"limits": {"file": 1}}', /no field "file". Did you mean "files"\?/],
  ['{"setup": {"command": "x", "inputs": ["../secret"]}}', /: setup\.inputs\.0: expected a path inside the repository/],
  ['{"setup": {"command": "x", "outputs": ["/etc"]}}', /: setup\.outputs\.0: expected a path inside the repository/],
  ['{"setup": {"command": "x", "outputs": ["a/.GIT/hooks"]}}', /: setup\.outputs\.0: expected a path inside/],
  ['{"write": true}', /no field "write".*\n"write" belongs into config\.json, under projects/],
  ['{"__proto__": {"checks": []}}', /no field "__proto__"/],
  [`{"checks": ["${"x".repeat(70_000)}"]}`, /is larger than 64 KB/],
])("a mistake is refused with file and field: %s", async (text, words) => {
  const found = await read(text);
  expect(found.ok ? "" : found.reason).toMatch(words);
});

test("the file is that of the commit, whatever lies in the folder", async () => {
  await using world = await World.open();
  world.write("person/.agiraph/project.json", '{"checks": ["npm test"]}');
  world.plain("person", "add", "-A");
  world.plain("person", "commit", "-qm", "third");
  world.write("person/.agiraph/project.json", '{"checks": ["true"]}');
  const { agent, base } = await world.created();
  expect(await readProjectConfig(agent, base, undefined)).toMatchObject({ config: { checks: ["npm test"] } });
  expect(await readProjectConfig(agent, world.plain("person", "rev-parse", "HEAD^"), undefined)).toMatchObject({
    config: { checks: [] },
  });
});

test("the entry of the nearest folder holds", () => {
  const projects = { "/code": { write: true }, "/code/shop/": { checks: ["a"] }, "/code/shopping": { checks: ["b"] } };
  expect(projectEntryFor(projects, "/code/shop")).toEqual({ checks: ["a"] });
  expect(projectEntryFor(projects, "/code/shop/packages/api")).toEqual({ checks: ["a"] });
  expect(projectEntryFor(projects, "/code/other")).toEqual({ write: true });
  expect(projectEntryFor(projects, "/codex")).toBeUndefined();
  expect(projectEntryFor(projects, "/")).toBeUndefined();
  expect(projectEntryFor(undefined, "/code")).toBeUndefined();
});

test("what may be brought in is told to the repository in bytes", () => {
  expect(receiveLimitsOf({ ...LIMITS, commit_mb: 1, file_mb: 0.5, files: 7 })).toEqual({
    bytes: 1024 * 1024,
    fileBytes: 512 * 1024,
    files: 7,
  });
});

test("mistakes under projects in config.json name the line and the field", () => {
  const problem = (entry: string) => {
    try {
      parseConfig("config.json", `{\n"projects": {\n"/home/me/books": ${entry}}}`);
      return "none";
    } catch (error) {
      return String(error);
    }
  };
  expect(problem('{"write": "yes"}')).toContain(
    'config.json:3: projects./home/me/books.write: expected true or false, e.g. "write": true; there is text.',
  );
  expect(problem('{"setup": {"command": "x", "input": []}}')).toContain(
    "projects./home/me/books.setup: there is no field input. Did you mean inputs?",
  );
  expect(problem('{"setup": 1}')).toContain("setup: expected text in quotes or an object in braces");
  expect(problem('{"limits": {"files": 1.5}}')).toContain(
    "projects./home/me/books.limits.files: expected a whole number",
  );
  expect(() => parseConfig("config.json", '{"projects": {"shop": {}}}')).toThrow(
    /expected the absolute path of a folder/,
  );
});

test("the example has every field of a project", () => {
  const [entry] = Object.values(EXAMPLE.projects ?? {});
  expect(Object.keys(entry ?? {}).sort()).toEqual(Object.keys(projectEntrySchema.shape).sort());
  expect(Object.keys(entry?.limits ?? {}).sort()).toEqual(Object.keys(LIMITS).sort());
});
