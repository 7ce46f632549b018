import { expect, test } from "vitest";
import type { FileDiff, ReviewComment } from "../live/repository-api.ts";
import { type DiffRow, type FileLook, FileRows, isLarge, rowsOfFile } from "./diff-rows.ts";
import { indexOfFile, indexOfLine, nextFile, nextHunk, nextLine } from "./moves.ts";

const LOOK: FileLook = {
  isSplit: false,
  isOpen: true,
  known: { lines: new Map(), total: null },
  comments: [],
  composing: null,
};

function file(path: string, more: Partial<FileDiff> = {}): FileDiff {
  const lines = [" one", "-two", "+2", "+2.5", " three", " four", " five"];
  const hunk = { old_start: 1, old_lines: 5, new_start: 1, new_lines: 6, header: "", lines };
  return { path, status: "modified", binary: false, insertions: 2, deletions: 1, hunks: [hunk], ...more };
}

function comment(path: string, line: number, quote: string, more: Partial<ReviewComment> = {}): ReviewComment {
  const about = { node_id: "node-1", worker_id: "alice", side: "new" as const, answered_by: null };
  return { seq: line, ts: 0, path, line, quote, text: "why?", ...about, ...more };
}

const shape = (rows: readonly DiffRow[]) =>
  rows.map((row) => {
    switch (row.kind) {
      case "line":
        return `${row.line.sign}${row.line.text}`;
      case "pair":
        return `${row.left?.text ?? ""}|${row.right?.text ?? ""}`;
      case "comments":
        return `comments ${row.comments.map(({ line }) => line).join()}`;
      case "gap":
        return `gap ${row.gap.from}`;
      case "note":
        return row.why;
      default:
        return row.kind;
    }
  });

test("a file is its name, its lines, and what is hidden; side by side its pairs", () => {
  const lines = ["file", " one", "-two", "+2", "+2.5", " three", " four", " five", "gap 7"];
  expect(shape(rowsOfFile(file("a"), LOOK))).toEqual(lines);
  const pairs = ["file", "one|one", "two|2", "|2.5", "three|three", "four|four", "five|five", "gap 7"];
  expect(shape(rowsOfFile(file("a"), { ...LOOK, isSplit: true }))).toEqual(pairs);
  expect(shape(rowsOfFile(file("a"), { ...LOOK, isOpen: false }))).toEqual(["file"]);
});

test("what has no lines to show says so: binary, too long, empty or only renamed", () => {
  const notes = [{ binary: true }, { cut: true as const }, {}].map((more) => file("a", { hunks: [], ...more }));
  expect(notes.map((each) => shape(rowsOfFile(each, LOOK)))).toEqual([
    ["file", "binary"],
    ["file", "cut"],
    ["file", "same"],
  ]);
});

test("a comment stands below its line, also where that line is elsewhere by now; a lost one below the name", () => {
  const comments = [
    comment("a", 2, "2"),
    comment("a", 90, "  three"),
    comment("a", 2, "two", { side: "old" }),
    comment("a", 3, "gone"),
  ];
  const rows = rowsOfFile(file("a"), { ...LOOK, comments });
  expect(shape(rows)).toEqual([
    ...["file", "comments "],
    ...[" one", "-two", "comments 2", "+2", "comments 2", "+2.5", " three", "comments 4"],
    ...[" four", " five", "gap 7"],
  ]);
});

test("a comment is found by the line that is marked in its quote, among those around it", () => {
  const quote = "1 one\n2→2\n3 2.5";
  expect(shape(rowsOfFile(file("a"), { ...LOOK, comments: [comment("a", 2, quote)] }))[4]).toBe("comments 2");
});

test("of two lines that read the same, a comment stands at the nearer one; an empty line is no other", () => {
  const lines = ["+x", "+", "+y", "+x", "+", "+x"];
  const hunk = { old_start: 0, old_lines: 0, new_start: 1, new_lines: 6, header: "", lines };
  const added = file("a", { status: "added", hunks: [hunk] });
  const at = (line: number, quote: string) =>
    shape(rowsOfFile(added, { ...LOOK, comments: [comment("a", line, quote)] })).indexOf(
      `comments ${quote === "" ? "" : { 3: 4, 7: 6 }[line]}`,
    );
  expect([at(3, "x"), at(7, "x"), at(3, "")]).toEqual([5, 7, 1]);
});

test("what is being written stands below its line, on its side", () => {
  const at = { path: "a", side: "old" as const, line: 2 };
  expect(shape(rowsOfFile(file("a"), { ...LOOK, composing: at })).slice(0, 5)).toEqual([
    ...["file", " one", "-two", "composer", "+2"],
  ]);
});

test("the rows of a file are the same objects until the file looks otherwise", () => {
  const made = new FileRows();
  const [a, b] = [file("a"), file("b")];
  const before = [made.rowsOf(a, LOOK), made.rowsOf(b, LOOK)];
  const composing = { path: "b", side: "new" as const, line: 2 };
  const after = [made.rowsOf(a, { ...LOOK }), made.rowsOf(b, { ...LOOK, composing })];
  expect(after.map((rows, at) => rows === before[at])).toEqual([true, false]);
});

test("no two rows have one key, and a line keeps its key when something comes in above it", () => {
  const made = new FileRows();
  const files = [file("a"), file("b")];
  const keysOf = (look: FileLook) => files.flatMap((each) => made.rowsOf(each, look).map(({ key }) => key));
  const marker = ["-a", "\\ No newline at end of file", "+b", "\\ No newline at end of file"];
  const hunk = { old_start: 1, old_lines: 1, new_start: 1, new_lines: 1, header: "", lines: marker };
  const bare = file("c", { hunks: [hunk] });
  for (const isSplit of [false, true]) {
    const keys = [...keysOf({ ...LOOK, isSplit }), ...made.rowsOf(bare, { ...LOOK, isSplit }).map(({ key }) => key)];
    expect(new Set(keys).size).toBe(keys.length);
  }
  const said = keysOf({ ...LOOK, comments: [comment("a", 1, "one")] });
  expect(keysOf(LOOK).filter((key) => !said.includes(key))).toEqual([]);
});

test("keys lead from file to file, from change to change, and from line to line", () => {
  const rows = [
    ...rowsOfFile(file("a"), { ...LOOK, comments: [comment("a", 2, "2")] }, 1),
    ...rowsOfFile(file("b"), LOOK, 2),
  ];
  const b = indexOfFile(rows, "b") ?? 0;
  expect([nextFile(rows, 0, 1), nextFile(rows, b + 3, -1), nextFile(rows, b, -1), nextFile(rows, b, 1)]).toEqual([
    b,
    b,
    0,
    null,
  ]);
  const first = nextHunk(rows, 0, 1) ?? 0;
  const second = nextHunk(rows, first, 1) ?? 0;
  expect(shape(rows).slice(first, first + 1)).toEqual(["-two"]);
  // The comment between two changed lines parts no run of changes.
  expect([second, nextHunk(rows, second, 1), nextHunk(rows, second, -1)]).toEqual([b + 2, null, first]);
  const after = nextLine(rows, first + 1, 1);
  expect([after?.at, indexOfLine(rows, after?.at ?? null)]).toEqual([
    { path: "a", side: "new", line: 3 },
    after?.index,
  ]);
});

test("a file so much of which changed is hidden at first", () => {
  expect([isLarge(file("a")), isLarge(file("a", { insertions: 1500 }))]).toEqual([false, true]);
});
