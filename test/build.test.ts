import { execFile } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "..");
const copy = mkdtempSync(join(tmpdir(), "agiraph-build-"));
for (const path of ["web", "src", "scripts", "package.json", "package-lock.json", "tsconfig.json"])
  cpSync(join(ROOT, path), join(copy, path), { recursive: true, filter: (name) => !name.endsWith("node_modules") });
symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
afterAll(() => rmSync(copy, { recursive: true }));

const PROGRAM = "dist/bundle/main.js";
const BUNDLE = "dist/bundle";
const PAGE = "dist/web/index.html";
const BOTH = ["Building the program …", "Building the page …"];

test("what is not built is built once, also where two ask at the same time", async () => {
  const said = await Promise.all([build(), build()]);
  expect(said.flat().sort()).toEqual(BOTH.toSorted());
  expect(read(PAGE)).toMatch(/src="\/assets\/index-[\w-]+\.js"/);
  expect((statSync(join(copy, PROGRAM)).mode & 0o777).toString(8)).toBe("755");
});

test("the program takes what Node gives without importing it, but for what an older Node reads", () => {
  const importing = readdirSync(join(copy, BUNDLE)).filter(
    (name) => name.endsWith(".js") && /^import .*"node:/m.test(read(`${BUNDLE}/${name}`)),
  );
  expect(importing).toEqual([expect.stringMatching(/^right-node-[\w-]+\.js$/)]);
});

test("what opens a home is loaded in few files, and no two files load each other", () => {
  const loadedBy = (name: string): string[] =>
    [...read(`${BUNDLE}/${name}`).matchAll(/^(?:import|export) (?:.* from )?"\.\/([^"]+)";$/gm)].map(
      ([, file = ""]) => file,
    );
  const reached = (start: string, path: readonly string[] = []): string[] => {
    expect(path).not.toContain(start);
    return [start, ...loadedBy(start).flatMap((file) => reached(file, [...path, start]))];
  };
  const parts = (start: string) =>
    [...new Set(reached(start))].map((name) => name.replace(/-[\w-]{8}\.js$/, "")).sort();
  const all = ["common", "folds", "interface", "line", "runtime", "seldom"];
  expect(parts("index.js")).toEqual([...all, "index.js"].sort());
  expect(parts("client.js").filter((name) => all.includes(name))).toEqual(["interface"]);
  expect(parts("catch-up-thread.js").filter((name) => all.includes(name))).toEqual(["folds", "interface", "line"]);
  for (const alone of ["main.js", "tx.js", "inner-ports.js", "mcp-bridge.js", "grep-thread.js", "web-page-thread.js"])
    expect(parts(alone)).toEqual([alone]);
});

test("nothing is built where nothing has changed, tests included", async () => {
  writeFileSync(join(copy, "src/index.test.ts"), "// changed");
  expect(await build()).toEqual([]);
});

test("what has changed is built, and only that", async () => {
  writeFileSync(join(copy, "src/cli/names.txt"), "new");
  expect(await build()).toEqual(["Building the program …"]);
  writeFileSync(join(copy, "web/src/new.txt"), "new");
  expect(await build()).toEqual(["Building the page …"]);
});

test("a result that is gone, and a build whose process was killed, are built again", async () => {
  rmSync(join(copy, PAGE));
  // A process that has ended: its number is free, and it cannot have been a build of ours.
  mkdirSync(join(copy, "dist"), { recursive: true });
  const { stdout } = await promisify(execFile)(process.execPath, ["-p", "process.pid"]);
  writeFileSync(join(copy, "dist/.building"), stdout.trim());
  expect(await build()).toEqual(["Building the page …"]);
});

test("a build that fails says why, and does not count as built", async () => {
  const file = join(copy, "src/index.ts");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, "export const = 1;");
  await expect(build()).rejects.toThrow(/index\.ts/);
  writeFileSync(file, text);
  expect(await build()).toEqual(["Building the program …"]);
});

async function build(): Promise<string[]> {
  const { stderr } = await promisify(execFile)(process.execPath, [join(ROOT, "scripts/build.mjs"), copy]);
  return stderr.split("\n").filter((line) => line.startsWith("Building "));
}

function read(path: string): string {
  return readFileSync(join(copy, path), "utf8");
}
