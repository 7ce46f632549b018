import { cutToWidth, pad, widthOf } from "./width.ts";

export interface Cell {
  text: string;
  /** Put on after the text was cut, so that no colour is cut through. */
  paint?: (text: string) => string;
}

/** Columns are as wide as their widest cell; the last one takes the rest of `width` and is cut there. */
export function table(rows: readonly (readonly Cell[])[], width: number): string[] {
  const columns = rows[0]?.length ?? 0;
  const widths = Array.from({ length: columns }, (_, i) => Math.max(...rows.map((row) => widthOf(row[i]?.text ?? ""))));
  return rows.map((row) => {
    let line = "";
    let used = 0;
    row.forEach((cell, i) => {
      // Not even a gap: what is wider than the terminal is torn there.
      if (used >= width) return;
      const isLast = i === columns - 1;
      const room = Math.max(0, Math.min(widths[i] ?? 0, width - used));
      const text = cutToWidth(cell.text, isLast ? width - used : room);
      const painted = cell.paint ? cell.paint(text) : text;
      const gap = Math.min(GAP.length, width - used - room);
      line += isLast ? painted : painted + pad("", room - widthOf(text) + gap);
      used += room + GAP.length;
    });
    return line.trimEnd();
  });
}

/** The width of the table if nothing is cut. */
export function tableWidth(rows: readonly (readonly Cell[])[]): number {
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => widthOf(row[i]?.text ?? "")))) ?? [];
  return widths.reduce((sum, width) => sum + width, (widths.length - 1) * GAP.length);
}

const GAP = "  ";
