import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { type ScopeTeam, scopeTeam } from "../../../test/faults/scope-team.ts";

test("what is skipped is what git ignores: 120 seeded trees, with nested rules, negations and exclude files", async () => {
  await using team = await scopeTeam();
  let [ignored, seen] = [0, 0];
  for (let seed = 1; seed <= 120; seed++) {
    const all = plantTree(team.project, seed);
    const known = filesByGit(team.project);
    const shown = await visible(team);
    expect(shown, `seed ${seed}`).toEqual(known);
    ignored += all - known.length;
    seen += known.length;
  }
  // Otherwise the trees would prove little.
  expect(Math.min(ignored, seen)).toBeGreaterThan(500);
});

test("a repository within another has its own rules; a folder within one has those above it", async () => {
  await using team = await scopeTeam();
  const { project } = team;
  fill(project, { ".gitignore": "*.tmp\n", "a.tmp": "", "inner/.git/HEAD": "", "inner/b.tmp": "", "plain/c.tmp": "" });
  expect(await visible(team)).toEqual(["README.md", "inner/b.tmp", "src/main.ts"]);
  expect(await visible(team, "project/plain")).toEqual([]);
  // The repository of a project may begin above it.
  rmSync(join(project, ".git"), { recursive: true });
  fill(team.base, { ".git/HEAD": "", ".git/info/exclude": "README.md\n", ".gitignore": "*.ts\n!inner/*.ts\n" });
  expect(await visible(team)).toEqual(["inner/b.tmp"]);
  fill(team.base, { ".gitignore": "*\n" });
  expect(await visible(team)).toEqual(["README.md", "inner/b.tmp", "src/main.ts"]);
});

test("what is ignored is not entered, and is all there where it is named", async () => {
  await using team = await scopeTeam();
  fill(team.project, { ".gitignore": "out/\n*.tmp\n", "out/.gitignore": "!*\n*.o\n", "out/deep/a.o": "", "out/b": "" });
  const options = { recursive: true, limit: 100, ignored: "skipped" } as const;
  expect(await team.alice.list("project", options)).toMatchObject({ more: false, skipped: 1 });
  expect(await visible(team)).toEqual(["README.md", "src/main.ts"]);
  expect(await visible(team, "project/out")).toEqual(["out/b", "out/deep/a.o"]);
  expect(await visible(team, "project/out/deep")).toEqual(["out/deep/a.o"]);
  const opened = await team.alice.list("project", { ...options, ignored: "opened" });
  expect(opened.entries.filter(({ kind }) => kind === "file")).toHaveLength(4);
  expect(opened.skipped).toBeUndefined();
});

test("files that say what is ignored are not followed if they are links, and count in part if they are too large", async () => {
  await using team = await scopeTeam();
  fill(team.base, { elsewhere: "*\n" });
  symlinkSync(join(team.base, "elsewhere"), join(team.project, ".gitignore"));
  fill(team.project, { ".git/HEAD": "" });
  symlinkSync(join(team.base, "elsewhere"), join(team.project, ".git/info"));
  execFileSync("mkfifo", [join(team.project, "src/.gitignore")]);
  expect(await visible(team)).toEqual(["README.md", "src/main.ts"]);

  rmSync(join(team.project, ".gitignore"));
  // The cut comes after "src" of a line, which would be something else than the line says.
  const line = "src-and-more\n";
  const before = "#".repeat((1024 * 1024 - "README.md\n\nsrc".length) % line.length);
  fill(team.project, { ".gitignore": `README.md\n${before}\n${line.repeat(90_000)}` });
  const { entries, isIgnoringPartly } = await team.alice.list("project", { limit: 100, ignored: "skipped" });
  expect(entries.map(({ path }) => path)).toEqual(["project/src"]);
  expect(isIgnoringPartly).toBe(true);
});

test("many large files of rules cost no more than a few", async () => {
  await using team = await scopeTeam();
  const rules = `${"x".repeat(99)}\n`.repeat(10_000);
  for (let at = 10; at < 40; at++)
    fill(team.project, { [`f${at}/.gitignore`]: `${rules}last-${at}\n`, [`f${at}/last-${at}`]: "" });
  const { entries, isIgnoringPartly } = await team.alice.list("project", {
    recursive: true,
    limit: 500,
    ignored: "skipped",
  });
  // Four of them fit.
  expect(entries.filter(({ path }) => path.includes("/last-"))).toHaveLength(26);
  expect(isIgnoringPartly).toBe(true);
});

function fill(folder: string, files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

async function visible(team: ScopeTeam, at = "project"): Promise<string[]> {
  const { entries } = await team.alice.list(at, { recursive: true, limit: 10_000, ignored: "skipped" });
  return entries
    .filter(({ kind }) => kind === "file")
    .map(({ path }) => path.slice("project/".length))
    .sort();
}

function filesByGit(project: string): string[] {
  const env = { PATH: process.env.PATH ?? "", HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" };
  const output = execFileSync("git", ["ls-files", "--others", "--exclude-standard", "-z"], { cwd: project, env });
  return output
    .toString()
    .split("\0")
    .filter((path) => path !== "" && !path.endsWith(".gitignore"))
    .sort();
}

const NAMES = ["a", "b", "ab", "a.b", "b.log", "x y", "[a]", "ba", "log", "a-1"];
const PIECES = [
  "a",
  "b",
  "ab",
  "*",
  "?",
  "a*",
  "*b",
  "**",
  "[ab]",
  "[!a]",
  "*.log",
  "a?b",
  "\\[a\\]",
  "x y",
  "[a-c]*",
  "a**b",
  "*.b",
];

/** How many files there are. */
function plantTree(project: string, seed: number): number {
  for (const name of readdirSync(project)) rmSync(join(project, name), { recursive: true });
  execFileSync("git", ["init", "-q", "--template=", project]);
  const random = seeded(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const rules = () =>
    Array.from({ length: 1 + Math.floor(random() * 6) }, () => {
      const pieces = Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(PIECES));
      return `${pick(["", "", "!"])}${pick(["", "", "/"])}${pieces.join("/")}${pick(["", "", "/"])}`;
    }).join("\n");
  let files = 0;
  const plant = (folder: string, depth: number) => {
    mkdirSync(folder, { recursive: true });
    if (depth === 0 || random() < 0.3) writeFileSync(join(folder, ".gitignore"), rules());
    for (const name of NAMES.filter(() => random() < 0.45)) {
      if (depth < 3 && random() < 0.45) plant(join(folder, name), depth + 1);
      else {
        writeFileSync(join(folder, name), "");
        files++;
      }
    }
  };
  plant(project, 0);
  if (random() < 0.5) fill(project, { ".git/info/exclude": rules() });
  return files;
}

function seeded(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e37_79b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}
