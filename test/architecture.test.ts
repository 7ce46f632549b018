import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

/**
 * A room imports only from rooms before it. `testing` may use every room and is used by none.
 * `models` and `store` are neighbours, and so on: two rooms in one row do not know each other.
 */
const ROWS = [
  ["protocol"],
  ["projections"],
  ["wording"],
  ["boundary"],
  ["store", "models", "sandbox", "repository", "client"],
  ["engine"],
  ["mail", "memory", "triggers", "demo"],
  ["tools"],
  ["mcp"],
  ["workers", "mesh"],
  ["runtime"],
  ["server"],
  ["cli"],
];

/**
 * The same within a room: a room inside imports only from those before it. Files that lie in the room itself (its
 * vocabulary, its composition) stand on both sides of them; that no files import each other in a circle holds for all.
 */
const INSIDE: Record<string, string[][]> = {
  sandbox: [["binds"], ["bounds", "network"], ["process"], ["linux"]],
  store: [["disk"], ["journal", "home", "scope"], ["run"]],
  models: [["wire"], ["catalog"]],
  mail: [["channels"]],
  mesh: [["files"], ["declaration"], ["running"], ["terminal"]],
  workers: [["loop"], ["coordinator"], ["outside"]],
  "workers/outside": [["session"], ["acp", "claude", "files"]],
  server: [["routes"]],
  cli: [["start", "wording"], ["live"], ["talk"], ["home"], ["doctor", "tx"], ["commands"], ["command-line"]],
  runtime: [
    ["config"],
    ["logins"],
    ["programs", "telemetry", "state"],
    ["repository"],
    ["team"],
    ["human"],
    ["meshes", "time", "views", "extensions"],
  ],
};

const SRC = resolve(import.meta.dirname, "../src");
const PAGE = resolve(SRC, "../web/src");

test("a room imports only from the rows above it", () => {
  const offences = sources().flatMap((file) =>
    importsOf(file)
      .filter((target) => !mayImport(roomOf(file), roomOf(target)))
      .map((target) => `${short(file)} → ${short(target)}`),
  );
  expect(offences).toEqual([]);
});

test("a room within a room imports only from the rows above it", () => {
  const offences = sources().flatMap((file) =>
    importsOf(file)
      .filter((target) => !mayImportInside(file, target))
      .map((target) => `${short(file)} → ${short(target)}`),
  );
  expect(offences).toEqual([]);
});

test("no files import each other in a circle, not even for a type", () => {
  const files = [...sources(), ...pageSources()];
  expect(circlesIn(new Map(files.map((file) => [file, importsOf(file)])))).toEqual([]);
});

test("protocol imports the schema library and nothing else", () => {
  const foreign = sources()
    .filter((file) => roomOf(file) === "protocol")
    .flatMap((file) => packagesOf(file).filter((name) => name !== "zod"));
  expect(foreign).toEqual([]);
});

test("projections and wording are pure: they import no package and no part of Node", () => {
  const foreign = sources()
    .filter((file) => ["projections", "wording"].includes(roomOf(file)))
    .flatMap((file) => packagesOf(file));
  expect(foreign).toEqual([]);
});

test("the page imports of ours only the rooms that it is built from", async () => {
  const { PAGE_ROOMS }: { PAGE_ROOMS: string[] } = await import("../scripts/build.mjs" as string);
  const page = resolve(SRC, "../web/src");
  const offences = filesIn(page, /(?<!\.test)\.tsx?$/).flatMap((file) =>
    importsOf(file)
      .filter((target) => relative(page, target).startsWith("..") && !PAGE_ROOMS.includes(`src/${roomOf(target)}`))
      .map((target) => `${relative(page, file)} → ${short(target)}`),
  );
  expect(offences).toEqual([]);
});

test("every room is in the table", () => {
  const rooms = readdirSync(SRC, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  expect(rooms.filter((room) => room !== "testing" && !ROWS.flat().includes(room))).toEqual([]);
});

test("every room within a room is in its table", () => {
  const missing = sources().flatMap((file) => {
    const folders = relative(SRC, dirname(file)).split("/");
    return folders.slice(1).flatMap((name, at) => {
      const room = folders.slice(0, at + 1).join("/");
      return name === "testing" || !(room in INSIDE) || rowInside(room, name) >= 0 ? [] : `${room}/${name}`;
    });
  });
  expect([...new Set(missing)]).toEqual([]);
});

test("the code of a promise is in the head of one module only", () => {
  expect(inTwoPlaces(/^ +\* ([A-Z][A-Z-]*-\d+[a-z]?)\. /gm)).toEqual([]);
});

/** What the page has by the name of the server: the same thing, as it comes over the wire. */
const ON_THE_WIRE = ["AgentSummary", "InboxItem", "ListedModel", "MeshMessage"];

test("no two modules export a type or a class by the same name", () => {
  const names = inTwoPlaces(/^export (?:abstract )?(?:class|interface|type) (\w+)/gm);
  expect(names.filter((found) => !ON_THE_WIRE.some((name) => found.startsWith(`${name}:`)))).toEqual([]);
});

/** A command of `agiraph` and the command of `tx` by its name are in files of their own. */
const COMMANDS = /^cli\/(?:commands|tx)\//;

test("no two modules of a program export a function or a constant by the same name", () => {
  const pattern = /^export (?:async )?(?:function\*?|const) (\w+)/gm;
  const found = [sources(), pageSources()].flatMap((files) => inTwoPlaces(pattern, files));
  const offences = found.filter((line) => {
    const files = line.split(": ")[1]?.split(", ") ?? [];
    return !files.every((file) => COMMANDS.test(file));
  });
  expect(offences).toEqual([]);
});

/** Words of the glossary that once meant something else too, and the rooms in which names may have them. */
const WORDS: Record<string, RegExp> = {
  commit: /^(?:protocol|repository|runtime\/repository|web\/src\/(?:changes|live))/,
  door: /^sandbox/,
  engine: /^(?!mesh|runtime\/meshes)/,
  fold: /^(?:projections|runtime\/views|web\/src\/live)/,
  gate: /^(?:mesh|protocol\/mesh|runtime\/meshes|web\/src\/meshes)/,
  snapshot: /^(?:repository|store\/journal\/log-snapshot|protocol)/,
  standing: /^(?:cli|projections\/shown-status)/,
  step: /^(?:mesh|protocol|runtime\/meshes|testing\/script|web\/src\/meshes)/,
};

test("a word with one meaning is in names of its rooms alone, also in names of files", () => {
  const offences = [...sources(), ...pageSources()].flatMap((file) => {
    const path = short(file).replace(/^(?:\.\.\/)+/, "");
    const exported = readFileSync(file, "utf8").matchAll(
      /^export (?:async |abstract )*(?:class|interface|type|function\*?|const) (\w+)/gm,
    );
    const names = [basename(file).replace(/\.tsx?$/, ""), ...[...exported].map(([, name = ""]) => name)];
    return names.flatMap((name) =>
      wordsOf(name).flatMap((word) => (WORDS[word]?.test(path) === false ? `${path}: ${name}` : [])),
    );
  });
  expect(offences).toEqual([]);
});

/** `CloneSnapshots` or `clone-snapshots` → clone, snapshot. */
function wordsOf(name: string): string[] {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[ _-]/);
  return words.map((word) => word.replace(/s$/, ""));
}

test("the lock names every optional package, or npm ci refuses it (scripts/complete-lock.mjs)", () => {
  const lock: { packages: Record<string, { optionalDependencies?: Record<string, string> }> } = JSON.parse(
    readFileSync(resolve(SRC, "../package-lock.json"), "utf8"),
  );
  const paths = Object.keys(lock.packages);
  const missing = Object.values(lock.packages)
    .flatMap((owner) => Object.keys(owner.optionalDependencies ?? {}))
    .filter((name) => !paths.some((path) => path.endsWith(`node_modules/${name}`)));
  expect(missing).toEqual([]);
});

/** `NAME: a.ts, b.ts` for each name that the expression finds in more than one file. */
function inTwoPlaces(pattern: RegExp, files = [...sources(), ...pageSources()]): string[] {
  const found = new Map<string, Set<string>>();
  for (const file of files)
    for (const [, name = ""] of readFileSync(file, "utf8").matchAll(pattern))
      found.set(name, (found.get(name) ?? new Set()).add(short(file)));
  return [...found].flatMap(([name, files]) => (files.size > 1 ? [`${name}: ${[...files].join(", ")}`] : []));
}

function mayImport(from: string, to: string): boolean {
  if (from === to || from === "testing" || from === "index.ts") return true;
  const row = (room: string) => ROWS.findIndex((rooms) => rooms.includes(room));
  return row(to) >= 0 && row(to) < row(from);
}

/** Compares the rooms in which two files part, where both lie in one. */
function mayImportInside(from: string, to: string): boolean {
  const [a, b] = [relative(SRC, from).split("/"), relative(SRC, to).split("/")];
  const parts = a.findIndex((name, at) => name !== b[at]);
  const [here, there] = [a[parts], b[parts]];
  const isLoose = parts < 1 || parts >= a.length - 1 || parts >= b.length - 1;
  if (isLoose || here === undefined || there === undefined || here === "testing") return true;
  const room = a.slice(0, parts).join("/");
  if (!(room in INSIDE)) return true;
  const row = rowInside(room, there);
  return room === "testing" || (row >= 0 && row < rowInside(room, here));
}

function rowInside(room: string, name: string): number {
  return (INSIDE[room] ?? []).findIndex((rooms) => rooms.includes(name));
}

function circlesIn(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const way: string[] = [];
  const visit = (file: string) => {
    if (way.includes(file)) found.push([...way.slice(way.indexOf(file)), file].map(short).join(" → "));
    else if (!done.has(file)) {
      way.push(file);
      for (const target of imports.get(file) ?? []) visit(target);
      way.pop();
      done.add(file);
    }
  };
  for (const file of imports.keys()) visit(file);
  return found;
}

function sources(): string[] {
  return filesIn(SRC, /(?<!\.test)\.ts$/);
}

function pageSources(): string[] {
  return filesIn(PAGE, /(?<!\.test)\.tsx?$/);
}

function filesIn(folder: string, named: RegExp): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => named.test(name))
    .map((name) => join(folder, name));
}

function specifiersOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(/(?:from\s+|import\s+|import\()"([^"]+)"/g)].flatMap((match) => match[1] ?? []);
}

function importsOf(file: string): string[] {
  return specifiersOf(file)
    .filter((name) => name.startsWith("."))
    .map((name) => resolve(dirname(file), name));
}

function packagesOf(file: string): string[] {
  return specifiersOf(file).filter((name) => !name.startsWith("."));
}

/** A room's own helpers for its tests (`cli/testing`) belong to `testing` too. */
function roomOf(file: string): string {
  const [room = "", ...inside] = relative(SRC, file).split("/");
  return inside[0] === "testing" ? "testing" : room;
}

function short(file: string): string {
  return relative(SRC, file);
}
