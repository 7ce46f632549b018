import { useEffect, useRef } from "react";
import { agents } from "../live/agents.ts";
import { useOverlay } from "../shell/overlay.ts";
import { isTyping } from "../shell/shortcuts.ts";
import { addressesOf, type DiffRow, isChange, type LineAddress } from "./diff-rows.ts";
import { hashOf } from "./file-hash.ts";
import { indexOfLine, nextFile, nextHunk, nextLine } from "./moves.ts";
import type { ShownDiff } from "./use-diff.ts";
import type { DiffScroller } from "./virtual-rows.ts";

interface Keys {
  rows: readonly DiffRow[];
  virtual: DiffScroller;
  cursor: LineAddress | null;
  setCursor: (at: LineAddress | null) => void;
  shown: ShownDiff;
  onSplit: () => void;
  canComment: boolean;
}

/** The keys of a diff come before those of the page: here `n` is the next change, not a new agent. */
export function useDiffKeys(keys: Keys): void {
  const overlay = useOverlay();
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    if (overlay !== "none") return;
    const press = (event: KeyboardEvent) => {
      if (agents.state === "locked" || event.isComposing || isTyping(event.target)) return;
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const act = ACTIONS[event.key];
      if (!act?.(latest.current)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    window.addEventListener("keydown", press, true);
    return () => window.removeEventListener("keydown", press, true);
  }, [overlay]);
}

/** What a key does; false where it does nothing here. */
const ACTIONS: Readonly<Partial<Record<string, (keys: Keys) => boolean>>> = {
  j: (keys) => toFile(keys, 1),
  k: (keys) => toFile(keys, -1),
  n: (keys) => toHunk(keys, 1),
  p: (keys) => toHunk(keys, -1),
  ArrowDown: (keys) => toLine(keys, 1),
  ArrowUp: (keys) => toLine(keys, -1),
  s: ({ onSplit }) => {
    onSplit();
    return true;
  },
  o: (keys) => {
    const row = keys.rows[topOf(keys)];
    if (row?.file) keys.shown.toggle(row.file);
    return true;
  },
  c: comment,
  Escape: ({ cursor, setCursor }) => {
    setCursor(null);
    return cursor !== null;
  },
};

/** The first row in sight. */
function topOf({ virtual }: Keys): number {
  return virtual.getVirtualItemForOffset(virtual.scrollOffset ?? 0)?.index ?? 0;
}

/** Where the next step begins: at the line that is marked, if it is in sight. */
function placeOf(keys: Keys): number {
  const marked = indexOfLine(keys.rows, keys.cursor);
  const { range } = keys.virtual;
  const isInSight = marked !== null && range !== null && marked >= range.startIndex && marked <= range.endIndex;
  return isInSight ? marked : topOf(keys);
}

function toFile(keys: Keys, step: 1 | -1): true {
  const at = nextFile(keys.rows, topOf(keys), step);
  const file = at === null ? null : keys.rows[at]?.file;
  if (at === null || !file) return true;
  keys.setCursor(null);
  keys.virtual.scrollToIndex(at, { align: "start" });
  history.replaceState(history.state, "", hashOf(file.path));
  return true;
}

function toHunk(keys: Keys, step: 1 | -1): true {
  const at = nextHunk(keys.rows, placeOf(keys), step);
  if (at !== null) mark(keys, at);
  return true;
}

function toLine(keys: Keys, step: 1 | -1): boolean {
  if (keys.cursor === null) return false;
  const next = nextLine(keys.rows, placeOf(keys), step);
  if (!next) return true;
  keys.setCursor(next.at);
  keys.virtual.scrollToIndex(next.index, { align: "auto" });
  return true;
}

function mark(keys: Keys, index: number): void {
  const row = keys.rows[index];
  const [at] = row ? addressesOf(row) : [];
  if (!at) return;
  keys.setCursor(at);
  keys.virtual.scrollToIndex(index, { align: "center" });
}

/** On the line that is marked; without one the first change in sight is marked. */
function comment(keys: Keys): boolean {
  if (!keys.canComment) return false;
  if (keys.cursor) {
    keys.shown.compose(keys.cursor);
    return true;
  }
  const { range } = keys.virtual;
  if (!range) return true;
  const at = keys.rows.findIndex((row, index) => index >= range.startIndex && isChange(row));
  if (at >= 0 && at <= range.endIndex) mark(keys, at);
  return true;
}
