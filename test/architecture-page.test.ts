import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";

/**
 * ARCHITECTURE.md is true.
 *
 * ARCH-PAGE-1. Every folder with code is in one of its tables, and every room of its tables is there.
 * ARCH-PAGE-2. Every file that it names exists.
 * ARCH-PAGE-3. Every function of the three flows is defined where the page says.
 * ARCH-PAGE-4. Every step without `⇢` is named in the file of a step before it.
 */
const ROOT = join(import.meta.dirname, "..");
const SRC = join(ROOT, "src");
const PAGE = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
/** Folders that belong to the tests of a room, or hold their data. */
const OF_TESTS = /(^|\/)(testing|fixtures|recorded|screens)(\/|$)/;

const section = (title: string) => PAGE.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? "";

test("every folder with code is in a table, and every room in the tables is there", () => {
  const folders = [...foldersWithCode("src").map((path) => path.slice("src/".length)), ...foldersWithCode("web/src")];
  const named = [...namedRooms(section("Rooms")), ...namedRooms(section("Rooms within rooms"))];
  expect(folders.length).toBeGreaterThan(50);
  expect(folders.filter((folder) => !named.includes(folder))).toEqual([]);
  expect(named.filter((room) => !isFolder(room))).toEqual([]);
});

function foldersWithCode(root: string): string[] {
  return readdirSync(join(ROOT, root), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((path) => path === "src/testing" || !OF_TESTS.test(path))
    .filter((path) => readdirSync(join(ROOT, path)).some((file) => /(?<!\.test)\.(tsx?|md)$/.test(file)));
}

const isFolder = (room: string) => existsSync(join(SRC, room)) || existsSync(join(ROOT, room));

/** What the first column names; what a row says is inside is named by its folder alone. */
function namedRooms(text: string): string[] {
  return [...text.matchAll(/^\| (`[^|]+) \| ([^|]*)\|$/gm)].flatMap(([, first = "", second = ""]) => {
    const rooms = [...first.matchAll(/`([\w/-]+)`/g)].map(([, room = ""]) => room);
    const [room = ""] = rooms;
    const inside = [...second.matchAll(/`([\w-]+)`/g)].map(([, name = ""]) => `${room}/${name}`);
    return [...rooms, ...inside.filter(isFolder)];
  });
}

test("every file that the page names exists", () => {
  const all = [...globSync("{src,web,test,docs,scripts}/**/*.{ts,tsx,md,mjs}", { cwd: ROOT }), ...readdirSync(ROOT)];
  const code = PAGE.replace(/^```\n.*?^```$/gms, "");
  const named = [...code.matchAll(/`([\w./-]+\.(?:ts|tsx|md|mjs))`/g)].map(([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(100);
  // Within a paragraph about a room, files are named from that room on.
  const isThere = (path: string) => all.some((file) => file === path || file.endsWith(`/${path}`));
  expect(named.filter((path) => !isThere(path) && !OF_A_HOME.has(path))).toEqual([]);
});

/** Files of a home, of a run and of a project. */
const OF_A_HOME = new Set(["GOAL.md", "MEMORY.md", "SOUL.md", "_board.md"]);

interface Step {
  flow: string;
  path: string;
  name: string;
  isReached: boolean;
}

const STEPS: readonly Step[] = section("Three flows")
  .split(/^### /m)
  .slice(1)
  .flatMap((flow) =>
    flow
      .split("\n")
      .filter((line) => /^\d+\. /.test(line))
      .map((line) => {
        const [, reached, path = "", name = ""] = /^\d+\. (⇢ )?`(\S+\.ts)` `([\w.#]+)`/.exec(line) ?? [];
        return { flow: flow.split("\n", 1)[0] ?? "", path, name, isReached: reached !== undefined };
      }),
  );

test("every function of the three flows is where the page says", () => {
  expect(new Set(STEPS.map(({ flow }) => flow)).size).toBe(3);
  expect(STEPS.length).toBeGreaterThan(40);
  const wrong = STEPS.filter(({ path, name }) => !existsSync(join(SRC, path)) || !defines(textOf(path), name));
  expect(wrong.map(({ flow, path, name }) => `${flow}: ${path} ${name}`)).toEqual([]);
});

test("every step of a flow is named in the file of a step before it, or marked", () => {
  const unnamed = STEPS.filter(({ flow, name, isReached }, at) => {
    const before = STEPS.slice(0, at).filter((step) => step.flow === flow);
    const word = name.split(".").at(-1) ?? "";
    const isNamed = before.some(({ path }) => new RegExp(`(?<![\\w#])${word}(?!\\w)`).test(textOf(path)));
    return before.length > 0 && !isReached && !isNamed;
  });
  expect(unnamed.map(({ flow, path, name }) => `${flow}: ${path} ${name}`)).toEqual([]);
});

function textOf(path: string): string {
  return readFileSync(join(SRC, path), "utf8");
}

/** A function, or a method of a class: `coordinate`, `Agent.start`, `Agent.#hear`. */
function defines(text: string, name: string): boolean {
  const [owner = "", method] = name.split(".");
  if (method === undefined)
    return new RegExp(`^(export )?(async )?function\\*? ${owner}\\b|^export const ${owner} =`, "m").test(text);
  const body = text
    .split(/^(?=(?:export )?class )/m)
    .find((part) => new RegExp(`^(export )?class ${owner}\\b`).test(part));
  return body !== undefined && new RegExp(`^  (static )?(async )?\\*?${method}(<[^(]*>)?\\(`, "m").test(body);
}
