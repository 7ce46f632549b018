import { mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { agentMemoryFiles } from "../store/run/memory-files.ts";
import { temporaryHome } from "../testing/index.ts";
import { contradicted } from "./contradictions.ts";
import { noteMarks, withoutMark } from "./marks.ts";
import { Memory } from "./memory.ts";
import { recall } from "./recall.ts";
import { searchMemory } from "./search.ts";
import { differ, type Statement, statementsOf } from "./statements.ts";

let dir: string;
let now: number;
let memory: Memory;

beforeEach(async () => {
  const home = await temporaryHome();
  dir = home.path;
  mkdirSync(join(dir, "memory"));
  now = Date.UTC(2026, 1, 11, 14, 5);
  memory = new Memory(agentMemoryFiles(dir), { now: () => now, timeZone: "UTC" });
  return () => home.remove();
});
const DAY = 86_400_000;
const text = (path: string) => readFileSync(join(dir, "memory", path), "utf8");

describe("the day of a note", () => {
  test("is at its end, also where one note replaces another, and goes with it", async () => {
    await memory.write("knowledge/release.md", "- The release is on 5 May.", "append", "run-1");
    await memory.write("knowledge/release.md", "## Team\n\nAnn leads.", "append", "run-1");
    now += DAY;
    await memory.supersede(
      "knowledge/release.md",
      "- The release is on 5 May.",
      "- The release is on 12 May.",
      "run-2",
    );
    expect(text("knowledge/release.md")).toBe(
      "- The release is on 12 May. (2026-02-12, run-2)\n\n## Team\n\nAnn leads.\n\n(2026-02-11, run-1)\n",
    );
    await memory.supersede("knowledge/release.md", "12 May", "19 May", "run-3");
    expect(text("knowledge/release.md")).toContain("- The release is on 19 May. (2026-02-12, run-3)\n");
    await memory.forget("knowledge/release.md", "- The release is on 19 May.");
    expect(text("knowledge/release.md")).toBe("## Team\n\nAnn leads.\n\n(2026-02-11, run-1)\n");
  });

  test("does not make the same note another one, and tables stay tables", async () => {
    await memory.write("knowledge/a.md", "Hot.", "append", "run-1");
    now += DAY;
    await memory.write("knowledge/a.md", "Hot.", "append", "run-2");
    expect(text("knowledge/a.md")).toBe("Hot. (2026-02-11, run-1)\n");
    await memory.write("knowledge/b.md", "| a | b |", "append", "run-1");
    expect(text("knowledge/b.md")).toBe("| a | b |\n\n(2026-02-12, run-1)\n");
  });

  test("is what a search shows and ranks by, whenever the file was changed", async () => {
    for (const [at, words] of ["The printer stands in room one.", "The printer stands in room two."].entries()) {
      await memory.write("knowledge/office.md", `## Printer, note ${at}\n\n${words}`, "append", "run-1");
      now += 30 * DAY;
    }
    const file = join(dir, "memory/knowledge/office.md");
    utimesSync(file, new Date(0), new Date(0));
    const found = await searchMemory(memory.files, "In which room stands the printer?", {
      timeZone: "UTC",
      tokens: 1000,
    });
    expect(found.map(({ day }) => day)).toEqual(["2026-03-13", "2026-02-11"]);
    expect(found[0]?.text).toContain("room two");
  });
});

const said = (words: string): Statement => [...statementsOf("a.md", words)][0] as Statement;

test.each([
  ["Amara is responsible for billing.", "Chen is responsible for billing.", true],
  ["Likes short answers.", "Likes long answers.", true],
  ["## Release day\n\n5 May 2027.", "## Release day\n\n12 May.", true],
  ["## Owner of billing\n\nAnn.", "## Owner of billing\n\nBob.", true],
  ["Amara is responsible for billing.", "Chen is responsible for search.", false],
  ["Likes tea.", "Likes tea in the morning.", false],
  ["## Berlin office\n\n20 people.", "## Berlin office\n\nOpens at nine o'clock.", false],
  ["The office in Berlin has 20 desks.", "Invoices are sent on Mondays.", false],
])("%j and %j differ: %j", (a, b, answer) => {
  expect([differ(said(a), said(b)), differ(said(b), said(a))]).toEqual([answer, answer]);
});

describe("contradictions", () => {
  test("of another run are named at a write with place, day and run; of the same run they are not", async () => {
    await memory.write("knowledge/owners.md", "# Owners\n\nAmara is responsible for billing.", "append", "run-1");
    const others = await contradicted(memory, "knowledge/team.md", "Chen is responsible for billing.", "run-2");
    expect(others.map(({ path, line, day, by, text: words }) => [path, line, day, by, words])).toEqual([
      ["knowledge/owners.md", 3, "2026-02-11", "run-1", "Amara is responsible for billing."],
    ]);
    expect(await contradicted(memory, "knowledge/team.md", "Chen is responsible for billing.", "run-1")).toEqual([]);
    expect(await contradicted(memory, "2026-02-11.md", "Chen is responsible for billing.", "run-2")).toEqual([]);
    expect(await contradicted(memory, "knowledge/team.md", "Amara is responsible for billing.", "run-2")).toEqual([]);
  });

  test("between preferences are said when a run begins, with which is newer", async () => {
    await memory.write("preferences/mail.md", "Likes long mails.", "append", "run-1");
    now += DAY;
    await memory.write("preferences/writing.md", "Likes short mails.", "append", "run-2");
    expect(await recall(memory, 1000)).toContain(
      "These seem to contradict each other: preferences/writing.md:1 · 2026-02-12 · run-2 (newer) and preferences/mail.md:1 · 2026-02-11 · run-1.",
    );
    writeFileSync(join(dir, "memory/preferences/mail.md"), "");
    expect(await recall(memory, 1000)).not.toContain("contradict");
  });
});

test("the mark of each part of a text is the last one in it, else the next below", () => {
  const piece = fc.constantFrom("word ", "(2026-01-05, run-1)", "(2026-02-06)", "\n", "\r\n", "\n\n");
  fc.assert(
    fc.property(fc.array(piece), fc.array(fc.nat(20)), (pieces, widths) => {
      const text = pieces.join("");
      const ends = [...text.matchAll(/\(\d{4}-\d\d-\d\d(?:, run-1)?\)[ \t]*$/gm)].map((m) => m.index + m[0].length);
      const markOf = noteMarks(text);
      let from = 0;
      for (const width of widths) {
        const to = from + width;
        const expected = ends.findLast((end) => end > from && end <= to) ?? ends.find((end) => end > to);
        expect(markOf(from, to)?.end).toBe(expected);
        from = to;
      }
    }),
  );
});

test("a note is without its mark and the blanks before it, and a long row of blanks is searched once", () => {
  const note = `a${" ".repeat(300_000)}b`;
  expect([withoutMark(`${note} \n(2026-02-11, run-3)\n`), withoutMark(note)]).toEqual([note, note]);
});
