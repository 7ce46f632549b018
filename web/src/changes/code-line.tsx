import { memo } from "react";
import { kindOf } from "../files/kind.ts";
import type { FileHunk } from "../live/repository-api.ts";
import { visibleLines } from "../text/visible.ts";
import type { DiffLine } from "./diff-lines.ts";
import type { LineRow, PairRow } from "./diff-rows.ts";
import { useHunkColours } from "./hunk-colours.ts";
import { linePieces } from "./line-pieces.ts";
import { wordChange } from "./word-change.ts";

/** One line of code, both numbers before it. */
export const UnifiedLine = memo(function UnifiedLine({ row }: { row: LineRow }) {
  const { line, file, hunk, facing } = row;
  return (
    <div className={`diff-line ${LOOKS[line.sign]}`}>
      <span className="diff-number" data-number={line.old ?? ""} data-side={line.sign === "-" ? "old" : "new"} />
      <span className="diff-number" data-number={line.new ?? ""} data-side={line.sign === "-" ? "old" : "new"} />
      <LineText line={line} hunk={hunk} path={file.path} facing={facing} />
    </div>
  );
});

/** What was there, and what is there now. */
export const SplitLine = memo(function SplitLine({ row: { left, right, file, hunk } }: { row: PairRow }) {
  return (
    <div className="diff-split">
      <Half line={left} side="old" facing={right} hunk={hunk} path={file.path} />
      <Half line={right} side="new" facing={left} hunk={hunk} path={file.path} />
    </div>
  );
});

interface HalfProps {
  line: DiffLine | null;
  side: "old" | "new";
  facing: DiffLine | null;
  hunk: FileHunk;
  path: string;
}

function Half({ line, side, facing, hunk, path }: HalfProps) {
  if (!line) return <div className="diff-line diff-nothing" />;
  const number = side === "old" ? line.old : line.new;
  const other = facing && facing.sign !== line.sign && facing.sign !== "\\" ? facing.text : null;
  return (
    <div className={`diff-line ${LOOKS[line.sign]}`}>
      <span className="diff-number" data-number={number ?? ""} data-side={side} />
      <LineText line={line} hunk={hunk} path={path} facing={other} />
    </div>
  );
}

const LOOKS: Record<DiffLine["sign"], string> = {
  " ": "",
  "+": "diff-added",
  "-": "diff-removed",
  "\\": "diff-marker",
};

interface TextProps {
  line: DiffLine;
  hunk: FileHunk;
  path: string;
  facing: string | null;
}

function LineText({ line, hunk, path, facing }: TextProps) {
  const colours = useHunkColours(hunk, kindOf(path));
  const text = shownText(line.text, facing);
  const change = facing === null || line.sign === " " ? null : wordChange(text, shownText(facing, line.text));
  const pieces = linePieces(text, colours?.[line.at], change);
  return (
    <>
      <span className="diff-sign" data-sign={line.sign} />
      <code className="diff-text">
        {line.sign === "\\"
          ? "No newline at the end of the file"
          : pieces.map(({ text: part, colour, isChanged }, at) => (
              <span
                // biome-ignore lint/suspicious/noArrayIndexKey: a piece has no identity but its place
                key={at}
                className={isChanged ? "diff-changed" : undefined}
                style={colour === null ? undefined : { color: colour }}
              >
                {part}
              </span>
            ))}
      </code>
    </>
  );
}

/** Code must not look different from what runs. The carriage return of a Windows line is shown where it is the change. */
function shownText(text: string, facing: string | null): string {
  if (!text.endsWith("\r")) return visibleLines(text);
  const isMeant = facing !== null && !facing.endsWith("\r");
  return visibleLines(text.slice(0, -1)) + (isMeant ? "⟨U+000D⟩" : "");
}
