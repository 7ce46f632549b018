import { execFileSync } from "node:child_process";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ScopeTeam, scopeTeam } from "../../test/faults/scope-team.ts";
import type { Scope } from "../store/scope/scope.ts";
import { fileTools, readRefTool } from "./files.ts";
import { MAX_CHARS, MAX_LINE_CHARS, MAX_SCAN_BYTES } from "./text-window.ts";

test("a file comes back with the numbers of its lines", async () => {
  await using team = await scopeTeam();
  put(team, "a.md", "one\ntwo\n");
  put(team, "empty.md", "");

  expect(await use(team.alice, "read_file", { path: "scratch/a.md" })).toBe("1\tone\n2\ttwo");
  expect(await use(team.alice, "read_file", { path: "scratch/empty.md" })).toBe("(scratch/empty.md is empty.)");
});

test("a long file is read in parts, each saying where to go on", async () => {
  await using team = await scopeTeam();
  put(team, "long.txt", Array.from({ length: 5000 }, (_, i) => `line ${i + 1}`).join("\n"));

  const lines = (text: unknown) => String(text).split("\n");
  const first = lines(await use(team.alice, "read_file", { path: "scratch/long.txt" }));
  expect([first[0], first[1999], first.at(-1)]).toEqual([
    ...["1\tline 1", "2000\tline 2000", "[Lines 1 to 2000 of 5000 in scratch/long.txt. Go on with offset 2001.]"],
  ]);
  expect(await use(team.alice, "read_file", { path: "scratch/long.txt", offset: 4999, limit: 9 })).toBe(
    "4999\tline 4999\n5000\tline 5000\n\n[Lines 4999 to 5000 of 5000 in scratch/long.txt.]",
  );
  expect(await use(team.alice, "read_file", { path: "scratch/long.txt", offset: 5001 })).toEqual({
    ok: false,
    content: "scratch/long.txt has 5000 lines; there is no line 5001.",
  });
});

test("wide lines are cut, and no answer is larger than its cap", async () => {
  await using team = await scopeTeam();
  put(team, "wide.json", `${"x".repeat(MAX_LINE_CHARS + 7)}\nshort`);
  put(team, "many.txt", Array.from({ length: 100 }, () => "y".repeat(1999)).join("\n"));

  expect(await use(team.alice, "read_file", { path: "scratch/wide.json" })).toBe(
    `1\t${"x".repeat(MAX_LINE_CHARS)}… (7 more characters in this line)\n2\tshort`,
  );
  const many = String(await use(team.alice, "read_file", { path: "scratch/many.txt" }));
  expect(many.length).toBeLessThan(MAX_CHARS + 200);
  expect(many.split("\n").at(-1)).toBe("[Lines 1 to 25 of 100 in scratch/many.txt. Go on with offset 26.]");
});

test("a file beyond all bounds is looked at in part, with little memory", async () => {
  await using team = await scopeTeam();
  // One endless line that takes no room on disk; its bytes are zeros, which here are text after the first part.
  const file = join(team.runDir, "nodes/node-1/scratch/huge.log");
  writeFileSync(file, `first line\n${"z".repeat(300_000)}`);
  truncateSync(file, MAX_SCAN_BYTES * 2);

  const shown = String(await use(team.alice, "read_file", { path: "scratch/huge.log", limit: 1 }));
  expect(shown).toBe("1\tfirst line\n\n[Lines 1 to 1 of more than 2 in scratch/huge.log. Go on with offset 2.]");
});

test("a file that is no text is named, not shown", async () => {
  await using team = await scopeTeam();
  put(team, "logo.png", Buffer.from([0x89, 0x50, 0x4e, 0x47, 1, 2]));
  put(team, "paper.pdf", "%PDF-1.7 all text so far");
  put(team, "blob", Buffer.from([65, 0, 66]));
  put(team, "wide.txt", Buffer.from("\ufeffzwölf\nzeilen", "utf16le"));

  expect(await use(team.alice, "read_file", { path: "scratch/logo.png" })).toEqual({
    ok: false,
    content: "scratch/logo.png is a PNG image, 6 bytes; it is not shown as text.",
  });
  expect(await use(team.alice, "read_file", { path: "scratch/paper.pdf" })).toMatchObject({
    ok: false,
    content: expect.stringMatching(/PDF document/),
  });
  expect(await use(team.alice, "read_file", { path: "scratch/blob" })).toMatchObject({
    ok: false,
    content: expect.stringMatching(/binary data, 3 bytes/),
  });
  expect(await use(team.alice, "read_file", { path: "scratch/wide.txt" })).toBe("1\tzwölf\n2\tzeilen");
});

test("what was written is read back", async () => {
  await using team = await scopeTeam();

  expect(await use(team.alice, "write_file", { path: "scratch/new/report.md", content: "grün" })).toBe(
    "Wrote 5 bytes to scratch/new/report.md.",
  );
  expect(await use(team.alice, "read_file", { path: "scratch/new/report.md" })).toBe("1\tgrün");
});

test("a refusal is a result", async () => {
  await using team = await scopeTeam();
  execFileSync("mkfifo", [join(team.runDir, "nodes/node-1/scratch/pipe")]);

  const tried = [
    await use(team.alice, "read_file", { path: "nodes/node-2/scratch/draft.md" }),
    await use(team.alice, "read_file", { path: "scratch/pipe" }),
    await use(team.alice, "read_file", { path: "../../../token" }),
    await use(team.alice, "read_file", { path: "scratch/drafts.md" }),
    await use(team.alice, "write_file", { path: "published/report.md", content: "x" }),
    await use(team.alice, "list_files", { path: "workers/bob" }),
  ];
  expect(tried).toEqual([
    { ok: false, content: expect.stringContaining("Of another node you may read only published/") },
    { ok: false, content: "scratch/pipe is not a regular file (a pipe, a socket or a device) and is not opened." },
    { ok: false, content: expect.stringContaining('".." is never followed') },
    { ok: false, content: "There is no scratch/drafts.md. In scratch there is: draft.md, deep/, pipe." },
    { ok: false, content: expect.stringContaining("You may write to scratch/…, e.g. scratch/report.md") },
    { ok: false, content: expect.stringContaining("Another worker's files are private") },
  ]);
});

test("even what nobody foresaw is a result", async () => {
  const broken = {
    openChecked: () => unforeseen(),
    writeFile: () => unforeseen(),
    list: () => unforeseen(),
  } as unknown as Scope;

  const content = "The file could not be used: EIO: i/o error, read";
  expect([
    await use(broken, "read_file", { path: "a" }),
    await use(broken, "write_file", { path: "a", content: "" }),
    await use(broken, "list_files", {}),
  ]).toEqual(Array(3).fill({ ok: false, content }));
});

test("a listing", async () => {
  await using team = await scopeTeam();

  expect(await use(team.alice, "list_files", { path: "scratch", recursive: true })).toBe(
    "scratch/deep/\nscratch/deep/data.jsonl (77 bytes)\nscratch/draft.md (70 bytes)",
  );
  expect(await use(team.alice, "list_files", {})).toContain("\nproject/\n");
  for (let i = 0; i < 600; i++) put(team, `f${i}`, "");
  expect(await use(team.alice, "list_files", { path: "scratch" })).toMatch(
    /\[Only 500 entries are shown; there are more\. List a folder of them\.\]$/,
  );
});

test("a ref is read by its name, a file or a folder", async () => {
  await using team = await scopeTeam();
  const published = join(team.runDir, "nodes/node-2/published");
  const refs = {
    report: "node-2/published/report.md",
    all: "nodes/node-2/published/",
    node: "node-2",
    stolen: "node-2/scratch/draft.md",
  };
  const tool = readRefTool(team.alice, refs);
  const read = (ref_name: string) => tool.run({ ref_name }, AbortSignal.timeout(5000));

  const report = "1\tCANARY home/agents/agent-test/runs/run-1/nodes/node-2/published/report.md";
  expect([await read("report"), await read("all"), await read("node")]).toEqual([report, report, report]);
  writeFileSync(join(published, "more.md"), "more");
  expect(await read("all")).toBe(
    "nodes/node-2/published is a folder:\n\nnodes/node-2/published/more.md (4 bytes)\nnodes/node-2/published/report.md (73 bytes)",
  );
  expect([await read("stolen"), await read("constructor")]).toEqual([
    { ok: false, content: "The ref leads to node-2/scratch/draft.md, which is neither published nor given along." },
    {
      ok: false,
      content: expect.stringMatching(
        /^There is no ref "constructor". You have: report \(node-2\/published\/report.md\)/,
      ),
    },
  ]);
});

function put(team: ScopeTeam, name: string, content: string | Buffer): void {
  writeFileSync(join(team.runDir, "nodes/node-1/scratch", name), content);
}

/** As the toolbox does it: arguments are parsed first. */
async function use(scope: Scope, name: string, args: unknown): Promise<unknown> {
  const tool = fileTools(scope).find((one) => one.spec.name === name);
  const parsed = tool?.parse(args);
  if (!tool || !parsed?.ok) throw new Error(`${name} did not take its arguments.`);
  return tool.run(parsed.args, AbortSignal.timeout(5000));
}

function unforeseen(): never {
  throw new Error("EIO: i/o error, read");
}
