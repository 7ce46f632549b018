import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ScopeTeam, scopeTeam } from "../../test/faults/scope-team.ts";
import type { Scope } from "../store/scope/scope.ts";
import { searchTools } from "./search-files.ts";

test("more context than grep gives is no reason to refuse: it says how much that is, and gives it", async () => {
  await using team = await scopeTeam();
  put(team, "a.txt", Array.from({ length: 30 }, (_, at) => `line ${at + 1}`).join("\n"));

  const found = String(await use(team.alice, "grep", { pattern: "line 15", path: "scratch", context: 20 }));

  expect(
    found
      .split("\n")
      .slice(1)
      .map((line) => line.split("\t")[0]),
  ).toEqual(["10-", "11-", "12-", "13-", "14-", "15:", "16-", "17-", "18-", "19-", "20-"]);
  const [grep] = searchTools(team.alice);
  expect(grep?.spec.parameters).toMatchObject({ properties: { context: { description: "At most 5." } } });
});

test("grep finds lines in a folder or a file, with their numbers", async () => {
  await using team = await scopeTeam();
  put(team, "a.ts", "import x\nconst total = 1;\nconst b = total;\nend\n");
  put(team, "deep/b.md", "Total is 2\r\n");

  expect(await use(team.alice, "grep", { pattern: "total", path: "scratch" })).toBe(
    "scratch/a.ts\n2:\tconst total = 1;\n3:\tconst b = total;",
  );
  expect(await use(team.alice, "grep", { pattern: "^total", path: "scratch", ignore_case: true })).toBe(
    "scratch/deep/b.md\n1:\tTotal is 2",
  );
  expect(await use(team.alice, "grep", { pattern: "b = \\w+", path: "scratch/a.ts", context: 1 })).toBe(
    "scratch/a.ts\n2-\tconst total = 1;\n3:\tconst b = total;\n4-\tend",
  );
  expect(await use(team.alice, "grep", { pattern: "total|Total", path: "scratch", glob: "*.md" })).toBe(
    "scratch/deep/b.md\n1:\tTotal is 2",
  );
  expect(await use(team.alice, "grep", { pattern: "nowhere", path: "scratch/a.ts" })).toBe("No match in 1 file.");
  expect(await use(team.alice, "grep", { pattern: "(", path: "scratch" })).toMatchObject({
    ok: false,
    content: expect.stringMatching(/^Not searched: Invalid regular expression/),
  });
});

test("without a path everything is searched that one may read, and nothing else", async () => {
  await using team = await scopeTeam();
  symlinkSync(join(team.base, "outside.txt"), join(team.project, "link.txt"));
  const filesIn = (text: unknown) =>
    String(text)
      .split("\n")
      .filter((line) => !line.includes("\t"));

  expect(filesIn(await use(team.alice, "grep", { pattern: "CANARY" }))).toEqual([
    "_messages/0001.md",
    "_plan.md",
    ...["_spec.md", "_refs.json", "_status.md"].map((name) => `nodes/node-1/${name}`).sort(),
    "nodes/node-1/published/report.md",
    "nodes/node-1/scratch/draft.md",
    "nodes/node-2/published/report.md",
    ...["history.json", "identity.md", "memory.md", "notebook.md"].map((name) => `workers/alice/${name}`),
    "project/README.md",
    "project/src/main.ts",
  ]);
  // Logs and conversations only by their name.
  expect(filesIn(await use(team.alice, "grep", { pattern: "CANARY", glob: "*.jsonl" }))).toEqual([
    "nodes/node-1/log.jsonl",
    "nodes/node-1/scratch/deep/data.jsonl",
    "workers/alice/conversation.jsonl",
  ]);
  for (const path of ["project/.git", "project/src/.secret", "nodes/node-2/scratch", "agent", "..", "/etc"])
    expect(await use(team.alice, "grep", { pattern: "CANARY", path })).toMatchObject({ ok: false });
});

test("a pattern that would never end is ended; one whose owner stops has no result, so that it is made again later", async () => {
  await using team = await scopeTeam();
  put(team, "a.txt", `${"a".repeat(60)}!\n`);
  const order = { pattern: "^(a+)+$", path: "scratch" };
  expect(await use(team.alice, "grep", order, { timeoutMs: 2000 })).toBe(
    "No match in 0 files.\n[Ended at scratch/a.txt: it took too long. Simplify the pattern, or name a path.]",
  );
  const stopping = AbortSignal.abort(new Error("stopped"));
  await expect(use(team.alice, "grep", order, { timeoutMs: 60_000 }, stopping)).rejects.toThrow("stopped");
});

test("many matches, long lines, big and binary files are bounded and said", async () => {
  await using team = await scopeTeam();
  put(team, "many.txt", "hit\n".repeat(1000));
  put(team, "wide.txt", `${"x".repeat(5000)}needle${"y".repeat(5000)}\n`);
  put(team, "blob.bin", Buffer.from("needle\0"));
  put(team, "big.txt", "needle\n");
  truncateSync(join(team.runDir, "nodes/node-1/scratch/big.txt"), 9 * 1024 * 1024);

  const many = String(await use(team.alice, "grep", { pattern: "hit", path: "scratch" })).split("\n");
  expect(many.length).toBe(203);
  expect(many.at(-2)).toBe("[Ended after 200 matches. Narrow the pattern, the glob or the path.]");
  const wide = String(await use(team.alice, "grep", { pattern: "needle", path: "scratch" }));
  expect(wide).toMatch(/^scratch\/wide\.txt\n1:\t…x{100}needley{194}…\n\[1 files of more than 8 MB/);
});

test("glob finds files by their names, as shown or as seen from the folder", async () => {
  await using team = await scopeTeam();
  mkdirSync(join(team.project, "node_modules"));
  writeFileSync(join(team.project, "node_modules/x.ts"), "");
  expect(await use(team.alice, "glob", { pattern: "*.ts" })).toBe("project/src/main.ts (26 bytes)");
  expect(await use(team.alice, "glob", { pattern: "src/*", path: "project" })).toBe("project/src/main.ts (26 bytes)");
  expect(await use(team.alice, "glob", { pattern: "project/**/*.md" })).toBe("project/README.md (24 bytes)");
  expect(await use(team.alice, "glob", { pattern: ".*", path: "project" })).toBe("No file of 2 matches.");
});

test("a dot is the top, and a pattern may begin with a short name", async () => {
  await using team = await scopeTeam();
  put(team, "deep/a.py", "total\n");
  const find = (pattern: string, path?: string) => use(team.alice, "glob", { pattern, ...(path && { path }) });
  for (const path of [".", "./"]) expect(await find("*.ts", path)).toBe("project/src/main.ts (26 bytes)");
  expect(await find("src/*", "./project/")).toBe("project/src/main.ts (26 bytes)");
  expect(await find("scratch/**/*.py")).toBe("scratch/deep/a.py (6 bytes)");
  expect(await find("{./scratch,project}/**/*.{py,ts}", ".")).toBe(
    "project/src/main.ts (26 bytes)\nscratch/deep/a.py (6 bytes)",
  );
  expect(await use(team.alice, "grep", { pattern: "total", glob: "scratch/**" })).toBe("scratch/deep/a.py\n1:\ttotal");
  expect(await find("src/**/*.ts")).toMatch(/^No file of \d+ matches\.$/);
  expect(await use(team.coordinator, "glob", { pattern: "agent/*.md" })).toContain("agent/MEMORY.md");
});

test("a folder that holds one file is a folder: glob holds there, and records are left out", async () => {
  await using team = await scopeTeam();
  put(team, "one/log.jsonl", "total\n");
  const grep = (args: object) => use(team.alice, "grep", { pattern: "total", ...args });
  expect(await grep({ path: "scratch/one" })).toBe("No match in 0 files.");
  expect(await grep({ path: "scratch/one", glob: "*.md" })).toBe("No match in 0 files.");
  expect(await grep({ path: "scratch/one/log.jsonl" })).toBe("scratch/one/log.jsonl\n1:\ttotal");
});

test("a path as bash prints it is the same file", async () => {
  await using team = await scopeTeam();
  const draft = join(team.runDir, "nodes/node-1/scratch/draft.md");
  expect(await use(team.alice, "grep", { pattern: "CANARY", path: draft })).toContain("draft.md\n1:\tCANARY");
  expect(await use(team.alice, "glob", { pattern: "*.ts", path: team.project })).toBe("project/src/main.ts (26 bytes)");
});

test("what git ignores is neither found nor searched, unless it is asked for or named", async () => {
  await using team = await scopeTeam();
  put(team, ".gitignore", "out/\n*.log\n!keep.log\n");
  for (const name of ["out/a.ts", "b.ts", "c.log", "keep.log"]) put(team, name, "needle\n");
  const find = (args: object) => use(team.alice, "glob", { pattern: "scratch/**/*.{ts,log}", ...args });
  const grep = (args: object) => use(team.alice, "grep", { pattern: "needle", ...args });
  expect(await find({})).toBe("scratch/b.ts (7 bytes)\nscratch/keep.log (7 bytes)");
  expect(await find({ ignored: true })).toMatch(/b\.ts.*\n.*c\.log.*\n.*keep\.log.*\n.*out\/a\.ts/);
  expect(await grep({ path: "scratch" })).toBe("scratch/b.ts\n1:\tneedle\nscratch/keep.log\n1:\tneedle");
  expect(await grep({ path: "scratch", glob: "a.ts" })).toBe(
    'No match in 0 files.\n[2 ignored names were left out (.gitignore); "ignored": true searches them too.]',
  );
  expect(await grep({ path: "scratch", glob: "a.ts", ignored: true })).toBe("scratch/out/a.ts\n1:\tneedle");
  // Named: as a folder, as a file, and in a pattern.
  expect(await grep({ path: "scratch/out" })).toBe("scratch/out/a.ts\n1:\tneedle");
  expect(await grep({ path: "scratch/c.log" })).toBe("scratch/c.log\n1:\tneedle");
  expect(await find({ pattern: "scratch/out/*" })).toBe("scratch/out/a.ts (7 bytes)");
});

test("dependencies of the project are opened where ignored files are asked for", async () => {
  await using team = await scopeTeam();
  mkdirSync(join(team.project, "node_modules/one"), { recursive: true });
  writeFileSync(join(team.project, "node_modules/one/x.ts"), "");
  const find = (args: object) => use(team.alice, "glob", { pattern: "x.ts", ...args });
  expect(await find({})).toMatch(/^No file/);
  expect(await find({ ignored: true })).toBe("project/node_modules/one/x.ts (0 bytes)");
});

test("rules that are too much work are said, and what is looked for is found all the same", async () => {
  await using team = await scopeTeam();
  put(team, ".gitignore", Array.from({ length: 5000 }, () => `${"a*".repeat(100)}b`).join("\n"));
  put(team, "a".repeat(200), "");
  expect(await use(team.alice, "glob", { pattern: "aa*", path: "scratch" })).toBe(
    `scratch/${"a".repeat(200)} (0 bytes)\n[A .gitignore is too large or too complex: a part of it was not applied.]`,
  );
});

function put(team: ScopeTeam, name: string, content: string | Buffer): void {
  const file = join(team.runDir, "nodes/node-1/scratch", name);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, content);
}

async function use(
  scope: Scope,
  name: string,
  args: Record<string, unknown>,
  bounds = { timeoutMs: 60_000 },
  signal = new AbortController().signal,
) {
  const tool = searchTools(scope, bounds).find(({ spec }) => spec.name === name);
  const parsed = tool?.parse(args);
  if (!tool || !parsed?.ok) throw new Error(parsed && "problem" in parsed ? parsed.problem : "no such tool");
  return tool.run(parsed.args, signal);
}
