import { useCallback, useMemo, useRef, useState } from "react";
import { diffOfFile, type FileDiff, linesOfFile, type ReviewComment } from "../live/repository-api.ts";
import { complain } from "../shell/overlay.ts";
import { inTreeOrder } from "./changed-tree.ts";
import { type DiffRow, FileRows, isLarge, type LineAddress } from "./diff-rows.ts";
import { type Gap, type KnownLines, wantedOf } from "./gaps.ts";
import type { ReviewTarget } from "./review-target.ts";

const NOTHING: KnownLines = { lines: new Map(), total: null };
const SILENCE: readonly ReviewComment[] = [];

export interface ShownDiff {
  files: readonly FileDiff[];
  rows: readonly DiffRow[];
  composing: LineAddress | null;
  compose(at: LineAddress | null): void;
  /** Collapses or expands a file. */
  toggle(file: FileDiff): void;
  expand(file: FileDiff, gap: Gap, which: "down" | "up" | "all"): void;
  /** Loads the lines of a file that did not come with the others. */
  load(file: FileDiff): Promise<void>;
}

/** A diff as the reader sees it: which files and gaps are open, and where a comment is being written. */
export function useDiff(
  { agent, compared, diff }: ReviewTarget,
  comments: readonly ReviewComment[],
  isSplit: boolean,
): ShownDiff {
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map());
  const { known, whole, expand, load } = useLoadedLines(agent, compared, diff.to);
  const [composing, compose] = useState<LineAddress | null>(null);
  const made = useRef(new FileRows());
  const said = useMemo(() => Map.groupBy(comments, ({ path }) => path), [comments]);
  const files = useMemo(() => inTreeOrder(diff.files), [diff]);
  const rows = useMemo(() => {
    const all = files.map((listed) => {
      const file = whole.get(listed.path) ?? listed;
      return made.current.rowsOf(file, {
        isSplit,
        isOpen: chosen.get(file.path) ?? !isLarge(file),
        known: known.get(file.path) ?? NOTHING,
        comments: said.get(file.path) ?? SILENCE,
        composing: composing?.path === file.path ? composing : null,
      });
    });
    return [ABOUT, ...all.flat()];
  }, [files, whole, chosen, known, said, composing, isSplit]);

  const toggle = useCallback(
    (file: FileDiff) =>
      setChosen((before) => new Map(before).set(file.path, !(before.get(file.path) ?? !isLarge(file)))),
    [],
  );
  return { files, rows, composing, compose, toggle, expand, load };
}

const ABOUT: DiffRow = { kind: "about", key: "about", file: null };

/** What was loaded on request, beside the diff: lines of its gaps, and files that came without their lines. */
function useLoadedLines(agent: string, compared: ReviewTarget["compared"], commit: string) {
  const [known, setKnown] = useState<ReadonlyMap<string, KnownLines>>(new Map());
  const [whole, setWhole] = useState<ReadonlyMap<string, FileDiff>>(new Map());
  const [loadedAt, setLoadedAt] = useState(commit);
  // Lines of another commit have other numbers.
  if (loadedAt !== commit) {
    setLoadedAt(commit);
    setKnown(new Map());
    setWhole(new Map());
  }
  const expand = useCallback(
    (file: FileDiff, gap: Gap, which: "down" | "up" | "all") => {
      const { from, to } = wantedOf(gap, which);
      linesOfFile(agent, commit, file.path, from, to).then(
        ({ from_line, lines, lines_total }) =>
          setKnown((before) => {
            const now = new Map(before.get(file.path)?.lines);
            for (const [at, line] of lines.entries()) now.set(from_line + at, line);
            return new Map(before).set(file.path, { lines: now, total: lines_total });
          }),
        complain,
      );
    },
    [agent, commit],
  );
  const load = useCallback(
    (file: FileDiff) =>
      diffOfFile(agent, compared, file.path).then((found) => {
        if (found) setWhole((before) => new Map(before).set(file.path, found));
      }, complain),
    [agent, compared],
  );
  return { known, whole, expand, load };
}
