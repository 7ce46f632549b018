import { visibleLines } from "../../protocol/visible.ts";
import type { DiffFile, RepositoryDiff } from "../../repository/index.ts";
import { bytes, count } from "./format.ts";
import type { Paint } from "./paint.ts";
import { type Cell, table } from "./table.ts";
import { plain } from "./width.ts";

/**
 * A patch as a terminal shows it. What controls a terminal is written out instead: it may be what the change is about.
 * The bytes of a binary file are left out.
 */
export function patchLines(patch: string, paint: Paint): string[] {
  let at: "head" | "hunk" | "binary" = "head";
  return patch
    .replace(/\n$/, "")
    .split("\n")
    .flatMap((line) => {
      // A line within a hunk begins with a sign of its own.
      if (line.startsWith("diff --git ")) at = "head";
      else if (line.startsWith("@@ ")) at = "hunk";
      else if (at === "binary") return [];
      if (at === "head" && line === "GIT binary patch") {
        at = "binary";
        return [paint.dim("(binary)")];
      }
      return [colourOf(line, at === "head", paint)(visibleLines(line))];
    });
}

function colourOf(line: string, isHead: boolean, paint: Paint): (text: string) => string {
  if (isHead) return paint.bold;
  if (line.startsWith("@@ ")) return paint.cyan;
  if (line.startsWith("+")) return paint.green;
  return line.startsWith("-") ? paint.red : String;
}

/** A line for each file, then the sum. */
export function statLines(diff: RepositoryDiff, columns: number, paint: Paint): string[] {
  const most = Math.max(1, ...diff.files.map(({ insertions, deletions }) => insertions + deletions));
  const rows = diff.files.map((file): Cell[] => [
    { text: nameOf(file) },
    { text: file.binary ? "binary" : `+${file.insertions} −${file.deletions}`, paint: paint.dim },
    barOf(file, most, paint),
  ]);
  const more = diff.files_total - diff.files.length;
  return [
    ...table(rows, columns),
    ...(more > 0 ? [`… and ${count(more, "more file")}`] : []),
    diffTotals({ ...diff, files: diff.files_total }),
  ];
}

/** `3 files changed, +12 −4` */
export function diffTotals(change: { files: number; insertions: number; deletions: number }): string {
  return `${count(change.files, "file")} changed, +${change.insertions} −${change.deletions}`;
}

function nameOf({ path, old_path, status }: DiffFile): string {
  const name = plain(path);
  if (old_path !== undefined && old_path !== path) return `${plain(old_path)} → ${name}`;
  const words: Partial<Record<DiffFile["status"], string>> = { added: " (new)", deleted: " (deleted)" };
  return `${name}${words[status] ?? ""}`;
}

const BAR = 24;

function barOf({ insertions, deletions, binary, bytes: size }: DiffFile, most: number, paint: Paint): Cell {
  if (binary) return { text: size === undefined ? "" : bytes(size), paint: paint.dim };
  // A sign for each line, as long as there is room for that.
  const columns = (lines: number) =>
    most <= BAR ? lines : lines === 0 ? 0 : Math.max(1, Math.round((lines / most) * BAR));
  const added = columns(insertions);
  return {
    text: "+".repeat(added) + "−".repeat(columns(deletions)),
    paint: (text) => paint.green(text.slice(0, added)) + paint.red(text.slice(added)),
  };
}
