import { defaultRangeExtractor, type Range, useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { DiffRow, LineAddress } from "./diff-rows.ts";
import { columnsIn, expectedHeight } from "./row-height.ts";

export type DiffScroller = Virtualizer<HTMLElement, Element>;

/** The rows in sight, the name of the file that they are in, and what is being written, wherever that is. */
export function useVirtualRows(
  rows: readonly DiffRow[],
  composing: LineAddress | null,
  scroller: RefObject<HTMLElement | null>,
): { virtual: DiffScroller; stuck: RefObject<number> } {
  const width = useWidth(scroller);
  const columns = useMemo(() => columnsIn(width), [width]);
  const names = useMemo(() => rows.flatMap((row, at) => (row.kind === "file" ? [at] : [])), [rows]);
  const field = useMemo(() => (composing ? rows.findIndex(({ kind }) => kind === "composer") : -1), [rows, composing]);
  const stuck = useRef(-1);
  const rangeExtractor = useCallback(
    (range: Range) => {
      stuck.current = lastUpTo(names, range.startIndex);
      const drawn = defaultRangeExtractor(range);
      const also = [stuck.current, field].filter((at) => at >= 0 && !drawn.includes(at));
      return [...also, ...drawn].sort((a, b) => a - b);
    },
    [names, field],
  );
  const virtual = useVirtualizer<HTMLElement, Element>({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: useCallback((index: number) => expectedHeight(rows[index], columns), [rows, columns]),
    getItemKey: useCallback((index: number) => rows[index]?.key ?? index, [rows]),
    rangeExtractor,
    overscan: 12,
    paddingEnd: 120,
  });
  const before = useRef(columns);
  // In a narrower page lines break elsewhere. What is drawn is not measured again by itself, unless it changed its size.
  useEffect(() => {
    if (before.current === columns) return;
    before.current = columns;
    virtual.measure();
    virtual.getTotalSize();
    for (const row of virtual.elementsCache.values())
      if (row.isConnected) virtual.resizeItem(virtual.indexFromElement(row), (row as HTMLElement).offsetHeight);
  }, [virtual, columns]);
  return { virtual, stuck };
}

/** The last of ascending positions that is not after `at`; -1 if there is none. */
function lastUpTo(places: readonly number[], at: number): number {
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((places[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return places[low - 1] ?? -1;
}

function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(900);
  useEffect(() => {
    if (!element.current) return;
    const watch = new ResizeObserver(([entry]) => setWidth(Math.round(entry?.contentRect.width ?? 900)));
    watch.observe(element.current);
    return () => watch.disconnect();
  }, [element]);
  return width;
}

/** What is being read stays in place, whatever is added or removed above it. */
export function useKeptRow(
  rows: readonly DiffRow[],
  virtual: DiffScroller,
  scroller: RefObject<HTMLElement | null>,
): void {
  const top = useRef<{ rows: readonly DiffRow[]; key: DiffRow["key"]; offset: number } | null>(null);
  useEffect(() => {
    const log = scroller.current;
    if (!log) return;
    const before = top.current;
    if (before && before.rows !== rows && log.scrollTop > 0) {
      const index = rows.findIndex(({ key }) => key === before.key);
      const start = index < 0 ? undefined : virtual.getOffsetForIndex(index, "start")?.[0];
      if (start !== undefined && start !== before.offset) log.scrollTop += start - before.offset;
    }
    const note = () => {
      const item = virtual.getVirtualItemForOffset(log.scrollTop);
      top.current = item ? { rows, key: rows[item.index]?.key ?? "", offset: item.start } : null;
    };
    note();
    log.addEventListener("scroll", note, { passive: true });
    return () => log.removeEventListener("scroll", note);
  }, [rows, virtual, scroller]);
}
