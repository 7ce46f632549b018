import type { DiffRow } from "./diff-rows.ts";

/** Of one line of code; styles.css has the same. */
export const LINE_HEIGHT = 20;

/** How many characters fit beside the numbers: an estimate, until it is drawn. */
export interface Columns {
  unified: number;
  half: number;
}

const CHARACTER = 7.23;
const UNIFIED_GUTTER = 112;
const HALF_GUTTER = 68;

export function columnsIn(width: number): Columns {
  const columns = (room: number) => Math.max(10, Math.floor(room / CHARACTER));
  return { unified: columns(width - UNIFIED_GUTTER), half: columns(width / 2 - HALF_GUTTER) };
}

/** How high a row is expected to be; it is measured when it is drawn. */
export function expectedHeight(row: DiffRow | undefined, columns: Columns): number {
  switch (row?.kind) {
    case "line":
      return heightOf(row.line.text, columns.unified);
    case "pair":
      return Math.max(heightOf(row.left?.text ?? "", columns.half), heightOf(row.right?.text ?? "", columns.half));
    case "file":
      return 44;
    case "gap":
      return 32;
    case "note":
      return 48;
    case "comments":
      return 96 * row.comments.length;
    case "composer":
      return 180;
    default:
      return 160;
  }
}

function heightOf(text: string, columns: number): number {
  if (text.length <= columns && !text.includes("\t")) return LINE_HEIGHT;
  let width = 0;
  for (const char of text) width += char === "\t" ? 4 - (width % 4) : 1;
  return Math.max(1, Math.ceil(width / columns)) * LINE_HEIGHT;
}
