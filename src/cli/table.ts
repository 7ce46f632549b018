import { cut, pad, widthOf } from "./width.ts";

export interface Cell {
  text: string;
  /** Put on after the text was cut, so that no colour is cut through. */
  paint?: (text: string) => string;
}

/** Columns as wide as their widest cell; the last one takes what is left of `width` and is cut there. */
export function table(rows: readonly (readonly Cell[])[], width: number): string[] {
  const columns = rows[0]?.length ?? 0;
  const widths = Array.from({ length: columns }, (_, i) => Math.max(...rows.map((row) => widthOf(row[i]?.text ?? ""))));
  return rows.map((row) => {
    let line = "";
    let used = 0;
    row.forEach((cell, i) => {
      const isLast = i === columns - 1;
      const room = Math.max(0, Math.min(widths[i] ?? 0, width - used));
      const text = cut(cell.text, isLast ? width - used : room);
      const painted = cell.paint ? cell.paint(text) : text;
      line += isLast ? painted : painted + pad("", room - widthOf(text)) + GAP;
      used += room + GAP.length;
    });
    return line.trimEnd();
  });
}

const GAP = "  ";
