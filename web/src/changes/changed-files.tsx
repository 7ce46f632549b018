import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronRight, MessageSquare } from "lucide-react";
import { type MouseEvent, useCallback, useMemo, useRef, useState } from "react";
import type { FileDiff, ReviewComment } from "../live/repository-api.ts";
import { visible } from "../text/visible.ts";
import { type ChangedRow, treeRows } from "./changed-tree.ts";
import { Counts } from "./counts.tsx";
import { CHOSEN, hashOf } from "./file-hash.ts";

interface ChangedFilesProps {
  files: readonly FileDiff[];
  comments: readonly ReviewComment[];
  /** The reader chose a file. */
  onChoose?: () => void;
}

/** The changed files as a tree, with how much changed in each. Only rows in sight are in the page. */
export function ChangedFiles({ files, comments, onChoose }: ChangedFilesProps) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => treeRows(files, (path) => closed.has(path)), [files, closed]);
  const said = useMemo(() => countBy(comments), [comments]);
  const scroller = useRef<HTMLDivElement>(null);
  const isNarrow = matchMedia("(max-width: 767px)").matches;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (isNarrow ? 44 : 28),
    getItemKey: useCallback((index: number) => rows[index]?.path ?? index, [rows]),
    overscan: 10,
  });
  const toggle = (path: string) =>
    setClosed((before) => {
      const now = new Set(before);
      if (!now.delete(path)) now.add(path);
      return now;
    });
  return (
    <nav
      ref={scroller}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label="Changed files"
      className="min-h-0 flex-1 overflow-y-auto px-2 pb-2"
    >
      <ul className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start, key, size }) => {
          const row = rows[index];
          return (
            <li
              key={key}
              className="absolute inset-x-0 top-0"
              style={{ transform: `translateY(${start}px)`, height: size }}
            >
              {row && (
                <Row
                  row={row}
                  isClosed={closed.has(row.path)}
                  comments={said.get(row.path) ?? 0}
                  onToggle={toggle}
                  onChoose={onChoose}
                />
              )}
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

function countBy(comments: readonly ReviewComment[]): Map<string, number> {
  const said = new Map<string, number>();
  for (const { path } of comments) said.set(path, (said.get(path) ?? 0) + 1);
  return said;
}

const ROW = "flex h-full w-full min-w-0 items-center gap-1.5 rounded-md pr-2 text-left text-[13px] hover:bg-hover";

interface ChangedRowProps {
  row: ChangedRow;
  isClosed: boolean;
  comments: number;
  onToggle: (path: string) => void;
  onChoose: (() => void) | undefined;
}

function Row({ row, isClosed, comments, onToggle, onChoose }: ChangedRowProps) {
  const { path, name, depth, file } = row;
  const indent = { paddingLeft: `${0.25 + Math.min(depth, DEEPEST) * 0.8}rem` };
  if (!file)
    return (
      <button type="button" aria-expanded={!isClosed} onClick={() => onToggle(path)} className={ROW} style={indent}>
        <ChevronRight
          className={`size-3 shrink-0 text-dim transition-transform ${isClosed ? "" : "rotate-90"}`}
          aria-hidden
        />
        <span className="min-w-0 flex-1 truncate text-dim">{name}</span>
        {isClosed && <Counts {...row} />}
      </button>
    );
  const choose = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    history.replaceState(history.state, "", hashOf(path));
    window.dispatchEvent(new Event(CHOSEN));
    onChoose?.();
  };
  return (
    <a href={hashOf(path)} onClick={choose} className={ROW} style={indent} title={visible(path)}>
      <span className={`ml-4 min-w-0 flex-1 truncate ${file.status === "deleted" ? "line-through" : ""}`}>{name}</span>
      {comments > 0 && (
        <span className="flex shrink-0 items-center gap-0.5 text-xs text-accent">
          <MessageSquare className="size-3" aria-hidden />
          {comments}
          <span className="sr-only">{comments === 1 ? " comment" : " comments"}</span>
        </span>
      )}
      {file.binary ? <span className="shrink-0 text-xs text-dim">binary</span> : <Counts {...row} />}
    </a>
  );
}

/** Deeper folders stand below one another. */
const DEEPEST = 8;
