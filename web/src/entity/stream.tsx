import { useVirtualizer, type VirtualItem, type Virtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { HUMAN } from "../../../src/protocol/index.ts";
import type { AgentView, PendingWords, StreamedWords } from "../live/view.ts";
import { ErrorBoundary } from "../shell/error-boundary.tsx";
import { PendingRow, StreamedRow } from "./live-rows.tsx";
import type { StreamItem } from "./stream-item.ts";
import { EntityStream, isShown } from "./stream-items.ts";
import { StreamRow } from "./stream-row.tsx";

type Row =
  | { kind: "item"; key: string; item: StreamItem; previous: StreamItem | undefined }
  | { kind: "streamed"; key: string; words: StreamedWords }
  | { kind: "pending"; key: string; pending: PendingWords };

/** The scroll position in a stream when it was left. Null means at its end. */
const places = new Map<string, { offset: number; measured: VirtualItem[] } | null>();

/**
 * What an entity does and says, virtualised: only visible rows are in the page. At its end it follows new rows;
 * elsewhere nothing moves, even when older facts are loaded above.
 */
export function StreamView({ view, worker }: { view: AgentView; worker: string }) {
  const stream = useMemo(() => new EntityStream(worker), [worker]);
  const items = stream.follow(view.facts);
  const rows = rowsOf(items, view, worker);
  const scroller = useRef<HTMLDivElement>(null);
  const key = `${view.id} ${worker}`;
  const { isAtEnd, isAtTop, look } = useScroll(key, scroller, view);
  const latest = useRef(rows);
  latest.current = rows;
  const virtual = useVirtualRows(key, scroller, latest);
  useKeptPlace(key, scroller, virtual);

  const hasOlder = hasOlderThan(view);
  const isShort = rows.length < FULL;
  const { seek, isSeeking } = useSeek(view, latest);
  const moment = view.state === "replay" ? view.facts.at(-1)?.seq : null;
  // A stream that does not fill the page has no scrolling to load more by.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each stream and moment; then when it is asked for
  useEffect(() => {
    if (hasOlder && isShort) void seek(FULL, PAGES_AT_FIRST);
  }, [hasOlder, moment, view]);

  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={scroller}
        onScroll={look}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        role="log"
        aria-label="Stream"
        aria-live="off"
        className="h-full overflow-y-auto overscroll-contain bg-page [overflow-anchor:none]"
      >
        {rows.length === 0 && !hasOlder && <p className="p-6 text-dim">Nothing has happened here yet.</p>}
        <div className="relative w-full" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start, key: itemKey }) => {
            const row = rows[index];
            return (
              <div
                key={itemKey}
                data-index={index}
                ref={virtual.measureElement}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${start}px)` }}
              >
                {row && <RowOf row={row} view={view} worker={worker} />}
              </div>
            );
          })}
        </div>
      </div>
      {hasOlder && !isSeeking && (isShort || isAtTop) && (
        <Earlier onClick={() => void seek(rows.length + 1, PAGES_ASKED)} />
      )}
      {!isAtEnd && <Newest onClick={() => virtual.scrollToEnd()} />}
    </div>
  );
}

/** So many rows fill any page. */
const FULL = 30;
const PAGES_AT_FIRST = 15;
const PAGES_ASKED = 20;
const FLOATING =
  "absolute right-4 flex min-h-11 items-center gap-1.5 rounded-full border border-line bg-page px-3 text-xs font-semibold shadow-md hover:bg-hover md:min-h-8";

type Rows = Virtualizer<HTMLDivElement, Element>;

/** The rows to be drawn, out of the latest ones. */
function useVirtualRows(
  key: string,
  scroller: RefObject<HTMLDivElement | null>,
  latest: RefObject<readonly Row[]>,
): Rows {
  const place = places.get(key) ?? null;
  // The same functions for ever: others would have every row measured anew.
  const estimateSize = useCallback((index: number) => estimate(latest.current[index]), [latest]);
  const getItemKey = useCallback((index: number) => latest.current[index]?.key ?? index, [latest]);
  return useVirtualizer({
    count: latest.current.length,
    getScrollElement: () => scroller.current,
    estimateSize,
    getItemKey,
    overscan: 8,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: 60,
    paddingStart: 12,
    paddingEnd: 12,
    ...(place && { initialOffset: place.offset, initialMeasurementsCache: place.measured }),
  });
}

/** Where in a stream one is. Near its beginning older facts are loaded. */
function useScroll(key: string, scroller: RefObject<HTMLDivElement | null>, view: AgentView) {
  const [isAtEnd, setAtEnd] = useState(!places.get(key));
  const [isAtTop, setAtTop] = useState(false);
  const look = () => {
    const log = scroller.current;
    if (!log) return;
    // By the element itself: the virtualiser hears of this scroll only after us.
    const isThere = log.scrollHeight - log.clientHeight - log.scrollTop < 60;
    setAtEnd(isThere);
    setAtTop(log.scrollTop < 40);
    // Noted while it is in the page: when it is left, there is nothing to measure any more.
    places.set(key, isThere ? null : { offset: log.scrollTop, measured: [] });
    if (log.scrollTop < 400) void view.loadOlder();
  };
  return { isAtEnd, isAtTop, look };
}

/** Someone who comes back to a stream finds it where they left it; someone at its end stays there. */
function useKeptPlace(key: string, scroller: RefObject<HTMLDivElement | null>, virtual: Rows): void {
  useEffect(() => {
    if (!places.get(key)) virtual.scrollToEnd();
    return () => {
      const left = places.get(key);
      if (left) places.set(key, { ...left, measured: virtual.takeSnapshot() });
    };
  }, [key, virtual]);

  // Rows are of another height in a narrower page, and fewer fit above a growing field: someone at the end stays there.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the element stays the same for each stream
  useEffect(() => {
    const log = scroller.current;
    if (!log) return;
    const observer = new ResizeObserver(() => {
      if (!places.get(key)) virtual.scrollToEnd();
    });
    observer.observe(log);
    return () => observer.disconnect();
  }, [key, virtual]);
}

function useSeek(view: AgentView, latest: RefObject<readonly Row[]>) {
  const [isSeeking, setSeeking] = useState(false);
  /** Many facts may hold nothing of a quiet worker: reads on until there are `enough` rows, for so many pages at most. */
  const seek = async (enough: number, pages: number) => {
    setSeeking(true);
    for (let page = 0; page < pages && hasOlderThan(view) && latest.current.length < enough; page++) {
      const [first] = view.facts;
      await view.loadOlder();
      // Where nothing comes, it is of no use to ask again at once.
      if (view.facts[0] === first) break;
    }
    setSeeking(false);
  };
  return { seek, isSeeking };
}

function Earlier({ onClick }: { onClick: () => void }) {
  return (
    <button type="button" onClick={onClick} className={`${FLOATING} top-3`}>
      <ArrowUp className="size-3.5" aria-hidden /> Earlier
    </button>
  );
}

function Newest({ onClick }: { onClick: () => void }) {
  return (
    <button type="button" data-newest onClick={onClick} className={`${FLOATING} bottom-3`}>
      <ArrowDown className="size-3.5" aria-hidden /> Newest
    </button>
  );
}

function hasOlderThan({ facts }: AgentView): boolean {
  return (facts[0]?.seq ?? 1) > 1;
}

interface RowProps {
  row: Row;
  view: AgentView;
  worker: string;
}

/** A row that cannot be drawn breaks nothing else. */
function RowOf(props: RowProps) {
  return (
    <ErrorBoundary what="This" of={props.row.key} isSmall>
      <RowContent {...props} />
    </ErrorBoundary>
  );
}

function RowContent({ row, view, worker }: RowProps) {
  switch (row.kind) {
    case "item":
      return <StreamRow agent={view.id} worker={worker} item={row.item} previous={row.previous} />;
    case "streamed":
      return <StreamedRow agent={view.id} worker={worker} words={row.words} />;
    case "pending":
      return <PendingRow view={view} pending={row.pending} />;
  }
}

function rowsOf(items: readonly StreamItem[], view: AgentView, worker: string): Row[] {
  const shown = items.filter(isShown);
  const rows: Row[] = shown.map((item, index) => ({ kind: "item", key: item.key, item, previous: shown[index - 1] }));
  const words = view.words.get(worker);
  if (words && (words.text || words.reasoning)) rows.push({ kind: "streamed", key: "streamed", words });
  for (const pending of view.pending)
    if (pending.to === worker || pending.to === "*" || worker === HUMAN)
      rows.push({ kind: "pending", key: pending.key, pending });
  return rows;
}

function estimate(row: Row | undefined): number {
  if (row?.kind !== "item") return 60;
  switch (row.item.kind) {
    case "tool":
      return 34;
    case "line":
      return row.item.tone === "stage" ? 40 : 26;
    case "words":
      return 1;
    case "question":
      return 180;
    default:
      return 80;
  }
}
