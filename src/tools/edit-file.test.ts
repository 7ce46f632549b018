import { chmodSync, linkSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ScopeTeam, scopeTeam } from "../../test/faults/scope-team.ts";
import { editFileTool } from "./edit-file.ts";

test("one occurrence is replaced; line endings, mode and byte order mark stay", async () => {
  await using team = await scopeTeam();
  const file = put(team, "run.sh", "\ufeff#!/bin/sh\r\necho one\r\necho two\r\n");
  chmodSync(file, 0o755);

  expect(await edit(team, { path: "scratch/run.sh", old: "echo one\necho two", new: "echo three\necho four" })).toBe(
    "Edited scratch/run.sh: in line 2.",
  );
  expect(readFileSync(file, "utf8")).toBe("\ufeff#!/bin/sh\r\necho three\r\necho four\r\n");
  expect(statSync(file).mode & 0o777).toBe(0o755);
});

test("what is mixed stays mixed, and what looks like a pattern is taken literally", async () => {
  await using team = await scopeTeam();
  const file = put(team, "a.txt", "a\r\nprice: $1.*\nend\n");
  await edit(team, { path: "scratch/a.txt", old: "$1.*\nend", new: "$& $$\nstop" });
  expect(readFileSync(file, "utf8")).toBe("a\r\nprice: $& $$\nstop\n");
});

test("text that occurs several times is refused, with how often and where; all replaces every one", async () => {
  await using team = await scopeTeam();
  const file = put(team, "a.txt", "x = 1\ny = 2\nx = 1\n");
  expect(await edit(team, { path: "scratch/a.txt", old: "x = 1", new: "x = 3" })).toEqual({
    ok: false,
    content:
      "Not edited: old occurs 2 times in scratch/a.txt (lines 1, 3). Give more of the text around it, or all: true.",
  });
  expect(readFileSync(file, "utf8")).toBe("x = 1\ny = 2\nx = 1\n");
  expect(await edit(team, { path: "scratch/a.txt", old: "x = 1", new: "x = 11", all: true })).toBe(
    "Edited scratch/a.txt: 2 times, first in line 1.",
  );
  expect(readFileSync(file, "utf8")).toBe("x = 11\ny = 2\nx = 11\n");
});

test("text that does not occur is refused, with the lines that come near", async () => {
  await using team = await scopeTeam();
  put(team, "a.py", "def one():\n    return total_of(items)\n\ndef two():\n    return 2\n");
  const why = async (old: string) =>
    String(Reflect.get(Object(await edit(team, { path: "scratch/a.py", old })), "content"));
  expect(await why("  return total_of(items)  ")).toBe(
    "Not edited: old does not occur in scratch/a.py. White space counts; read the file again. Nearest:\n2\t    return total_of(items)",
  );
  expect(await why("return total_of(things)")).toContain("Nearest:\n2\t    return total_of(items)");
  expect(await why("2\t    return total_of(items)")).toBe(
    "Not edited: leave out the line numbers, which are not in scratch/a.py.",
  );
  expect(await why("nothing like it")).toBe(
    "Not edited: old does not occur in scratch/a.py. White space counts; read the file again.",
  );
});

test("edits made side by side all count", async () => {
  await using team = await scopeTeam();
  const file = put(team, "list.txt", Array.from({ length: 20 }, (_, i) => `item ${i};`).join("\n"));
  await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      edit(team, { path: "scratch/list.txt", old: `item ${i};`, new: `done ${i};` }),
    ),
  );
  expect(readFileSync(file, "utf8")).toBe(Array.from({ length: 20 }, (_, i) => `done ${i};`).join("\n"));
});

test("what may not be written, or is no text, stays as it is", async () => {
  await using team = await scopeTeam();
  const outside = join(team.base, "outside.txt");
  symlinkSync(outside, join(team.runDir, "nodes/node-1/scratch/link"));
  linkSync(outside, join(team.runDir, "nodes/node-1/scratch/hard"));
  put(team, "blob", Buffer.from([67, 65, 0xff, 0xfe, 78]));
  const refused = async (path: string) =>
    String(Reflect.get(Object(await edit(team, { path, old: "CANARY", new: "X" })), "content"));
  expect(await refused("scratch/link")).toMatch(/symbolic link/);
  expect(await refused("scratch/hard")).toMatch(/hard link/);
  expect(await refused("scratch/blob")).toMatch(/not UTF-8/);
  expect(await refused("nodes/node-1/published/report.md")).toMatch(/You may not write/);
  expect(await refused("nodes/node-2/scratch/draft.md")).toMatch(/You may not read/);
  expect(await refused("project/README.md")).toMatch(/You may not write project\/README.md/);
  expect(await refused("../../../../../outside.txt")).toMatch(/never followed/);
  expect(await refused("scratch/none.md")).toMatch(/There is no scratch\/none.md/);
  expect(readFileSync(outside, "utf8")).toBe("CANARY outside.txt");
});

function put(team: ScopeTeam, name: string, content: string | Buffer): string {
  const file = join(team.runDir, "nodes/node-1/scratch", name);
  writeFileSync(file, content);
  return file;
}

async function edit(team: ScopeTeam, args: { path: string; old: string; new?: string; all?: boolean }) {
  const tool = editFileTool(team.alice);
  const parsed = tool.parse({ new: "", ...args });
  if (!parsed.ok) throw new Error(parsed.problem);
  return tool.run(parsed.args, new AbortController().signal);
}
