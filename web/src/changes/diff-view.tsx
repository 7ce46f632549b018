import { type MouseEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { ErrorBoundary } from "../shell/error-boundary.tsx";
import { DiffRowView } from "./diff-row.tsx";
import { addressesOf, type DiffRow, isAt, type LineAddress } from "./diff-rows.ts";
import { CHOSEN, pathInHash } from "./file-hash.ts";
import { indexOfFile } from "./moves.ts";
import type { ReviewTarget } from "./review-target.ts";
import type { ShownDiff } from "./use-diff.ts";
import { useDiffKeys } from "./use-diff-keys.ts";
import { type DiffScroller, useKeptRow, useVirtualRows } from "./virtual-rows.ts";

interface DiffViewProps {
  target: ReviewTarget;
  shown: ShownDiff;
  /** What is above the files. */
  about: ReactNode;
  onSplit: () => void;
}

/** The files of a diff one below the other, virtualised: only what is in sight is in the page. */
export function DiffView({ target, shown, about, onSplit }: DiffViewProps) {
  const { rows, composing, compose } = shown;
  const scroller = useRef<HTMLElement>(null);
  const [cursor, setCursor] = useState<LineAddress | null>(null);
  const { virtual, stuck } = useVirtualRows(rows, composing, scroller);
  useKeptRow(rows, virtual, scroller);
  useFileInHash(rows, virtual);
  const keys = { rows, virtual, cursor, setCursor, shown, onSplit, canComment: target.canComment };
  useDiffKeys(keys);

  const click = (event: MouseEvent<HTMLElement>) => {
    const at = addressUnder(event.target as Element, rows);
    // The click that ends a selection of text is about that text.
    if (!at || getSelection()?.isCollapsed === false) return;
    setCursor(at);
    if (target.canComment && (event.target as Element).closest(".diff-number")) compose(at);
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: by keyboard, lines are reached with n, p and the arrows
    <section
      ref={scroller}
      onClick={click}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label="Diff"
      className={`diff h-full overflow-y-auto overscroll-contain bg-page [overflow-anchor:none] ${target.canComment ? "diff-open" : ""}`}
    >
      <div className="relative w-full" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start, key }) => {
          const row = rows[index];
          const at = row && isAt(row, cursor) ? cursor : null;
          return (
            <div
              key={key}
              data-index={index}
              ref={virtual.measureElement}
              className={
                index === stuck.current ? "sticky top-0 z-10" : `absolute inset-x-0 top-0 ${at ? "z-[5]" : ""}`
              }
              style={index === stuck.current ? undefined : { transform: `translateY(${start}px)` }}
            >
              {row && (
                <ErrorBoundary what="This" of={String(key)} isSmall>
                  {row.kind === "about" ? about : <DiffRowView row={row} target={target} shown={shown} cursor={at} />}
                </ErrorBoundary>
              )}
            </div>
          );
        })}
      </div>
    </section>
  );
}

/** Scrolls to the file in the address, at first and whenever another one is chosen. */
function useFileInHash(rows: readonly DiffRow[], virtual: DiffScroller): void {
  const latest = useRef(rows);
  latest.current = rows;
  useEffect(() => {
    const look = () => {
      const path = pathInHash(location.hash);
      const index = path === null ? null : indexOfFile(latest.current, path);
      if (index !== null) virtual.scrollToIndex(index, { align: "start" });
    };
    look();
    window.addEventListener("hashchange", look);
    window.addEventListener(CHOSEN, look);
    return () => {
      window.removeEventListener("hashchange", look);
      window.removeEventListener(CHOSEN, look);
    };
  }, [virtual]);
}

function addressUnder(target: Element, rows: readonly DiffRow[]): LineAddress | null {
  if (target.closest("button, a, textarea, select, summary")) return null;
  const row = rows[Number(target.closest<HTMLElement>("[data-index]")?.dataset.index ?? -1)];
  if (!row) return null;
  const addresses = addressesOf(row);
  const side = target.closest<HTMLElement>("[data-side]")?.dataset.side;
  return addresses.find((each) => each.side === side) ?? addresses[0] ?? null;
}
