import { useCallback, useSyncExternalStore } from "react";
import type { ColouredToken } from "../files/highlight.ts";
import type { FileHunk } from "../live/repository-api.ts";
import { visibleLines } from "../text/visible.ts";

/** Of each line of a hunk, in its order; undefined where the line stays plain. */
type HunkColours = readonly (readonly ColouredToken[] | undefined)[];

interface ColouredHunk {
  colours: HunkColours | null;
  isWanted: boolean;
  readonly listeners: Set<() => void>;
}

/**
 * The colours of a hunk, once they are there. Only hunks in sight are read, the latest first: a person who scrolls
 * past a thousand files waits for none of them.
 */
export function useHunkColours(hunk: FileHunk, kind: string): HunkColours | null {
  const subscribe = useCallback(
    (listener: () => void) => {
      const of = knownOf(hunk);
      of.listeners.add(listener);
      want(hunk, kind);
      return () => void of.listeners.delete(listener);
    },
    [hunk, kind],
  );
  return useSyncExternalStore(subscribe, () => all.get(hunk)?.colours ?? null);
}

const all = new WeakMap<FileHunk, ColouredHunk>();
const queue: { hunk: FileHunk; kind: string }[] = [];
let isReading = false;
let lastWanted = 0;
/** While the page is scrolled fast, nothing is highlighted until it slows down. */
const QUIET_MS = 100;
/** Characters highlighted in one go; in between, the page draws a frame. */
const AT_ONCE = 600;

function knownOf(hunk: FileHunk): ColouredHunk {
  const known = all.get(hunk) ?? { colours: null, isWanted: false, listeners: new Set() };
  all.set(hunk, known);
  return known;
}

function want(hunk: FileHunk, kind: string): void {
  const known = knownOf(hunk);
  if (known.colours || known.isWanted) return;
  known.isWanted = true;
  queue.push({ hunk, kind });
  lastWanted = performance.now();
  if (!isReading) void read();
}

async function read(): Promise<void> {
  isReading = true;
  for (;;) {
    await quiet();
    const next = queue.pop();
    if (!next) break;
    const known = knownOf(next.hunk);
    known.isWanted = false;
    // Out of sight by now.
    if (known.listeners.size === 0) continue;
    known.isWanted = true;
    // What cannot be coloured can be read as it is.
    known.colours = await coloursOf(next.hunk, next.kind).catch(() => []);
    for (const listener of known.listeners) listener();
  }
  isReading = false;
}

async function quiet(): Promise<void> {
  for (;;) {
    const left = lastWanted + QUIET_MS - performance.now();
    if (left <= 0) return;
    await new Promise((next) => setTimeout(next, left));
  }
}

/** Longer text stays plain, as in the preview of files. */
const MOST = 60_000;

/** Each side by itself: only then is it a piece of code. */
async function coloursOf(hunk: FileHunk, kind: string): Promise<HunkColours> {
  const { coloured } = await import("../files/highlight.ts");
  const colours: (readonly ColouredToken[] | undefined)[] = [];
  const sides = hunk.lines.some((line) => line.startsWith("-")) ? ["+", "-"] : ["+"];
  for (const sign of sides) {
    const places = hunk.lines.flatMap((line, at) => (line.startsWith(sign) || line.startsWith(" ") ? [at] : []));
    const text = places.map((at) => visibleLines((hunk.lines[at] ?? "").slice(1))).join("\n");
    if (text.length > MOST) continue;
    const lines = await coloured(text, kind, AT_ONCE);
    for (const [index, at] of places.entries()) colours[at] ??= lines?.[index];
  }
  return colours;
}
