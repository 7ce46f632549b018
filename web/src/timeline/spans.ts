import type { Fact } from "../../../src/protocol/index.ts";

/** A stretch of one worker's time. */
export interface Span {
  worker: string;
  kind: "busy" | "waiting" | "asking";
  node: string | null;
  from: number;
  to: number;
  /** The fact it began with. */
  seq: number;
}

/** Who worked and waited when, folded from the log. What has not ended lasts to `now`. */
export function spansOf(facts: readonly Fact[], now: number): Span[] {
  const spans: Span[] = [];
  const open = new Map<string, Span>();
  const end = (worker: string, ts: number) => {
    const span = open.get(worker);
    if (!span) return;
    open.delete(worker);
    spans.push({ ...span, to: ts });
  };
  for (const fact of facts) {
    const { ts, seq } = fact;
    switch (fact.type) {
      case "worker.busy":
      case "worker.waiting": {
        const { worker_id: worker, node_id: node } = fact.data;
        end(worker, ts);
        const kind = fact.type === "worker.busy" ? "busy" : fact.data.for === "human" ? "asking" : "waiting";
        open.set(worker, { worker, kind, node, from: ts, to: ts, seq });
        break;
      }
      case "worker.idle":
      case "worker.stopped":
      case "worker.retired":
        end(fact.data.worker_id, ts);
        break;
      case "agent.stopped":
      case "agent.paused":
      case "agent.completed":
      case "agent.failed":
        for (const worker of [...open.keys()]) end(worker, ts);
        break;
    }
  }
  for (const worker of [...open.keys()]) end(worker, now);
  return spans;
}

/** Time as a place from 0 to 1, with the stretches in which nobody worked folded to a narrow gap. */
export interface Axis {
  place(ts: number): number;
  folds: { at: number; seconds: number }[];
}

const FOLD_FROM = 20;
const GAP_SHARE = 0.02;

export function axisOf(spans: readonly Span[]): Axis {
  const busy = merged(spans.filter(({ kind }) => kind === "busy"));
  const first = busy[0];
  const last = busy.at(-1);
  if (!first || !last) return { place: () => 0, folds: [] };
  const total = busy.reduce((sum, { from, to }) => sum + (to - from), 0);
  const gap = Math.max(total, 1) * GAP_SHARE;
  const pieces: { from: number; to: number; start: number; length: number }[] = [];
  const folds: { start: number; seconds: number }[] = [];
  let length = 0;
  busy.forEach((piece, index) => {
    const before = busy[index - 1];
    if (before) {
      const idle = piece.from - before.to;
      const isFolded = idle > FOLD_FROM && idle > gap;
      if (isFolded) folds.push({ start: length + gap / 2, seconds: idle });
      const share = isFolded ? gap : idle;
      pieces.push({ from: before.to, to: piece.from, start: length, length: share });
      length += share;
    }
    pieces.push({ ...piece, start: length, length: piece.to - piece.from });
    length += piece.to - piece.from;
  });
  const whole = Math.max(length, 0.001);
  return {
    folds: folds.map(({ start, seconds }) => ({ at: start / whole, seconds })),
    place(ts) {
      if (ts <= first.from) return 0;
      const piece = pieces[firstThat(pieces.length, (index) => ts <= (pieces[index]?.to ?? 0))];
      if (!piece) return 1;
      const share = piece.to > piece.from ? (ts - piece.from) / (piece.to - piece.from) : 0;
      return (piece.start + Math.max(0, share) * piece.length) / whole;
    },
  };
}

/** By halves: a long log has thousands of pieces, and asks for each of its spans. */
function firstThat(length: number, isSo: (index: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isSo(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Narrower than this, as a share of the whole, one cannot tell two stretches apart. */
const NARROW = 0.002;

/** What is drawn: of each worker narrow stretches of one kind, side by side, are one. A long log stays a small picture. */
export function drawnOf(spans: readonly Span[], { place }: Axis): Span[] {
  const drawn: Span[] = [];
  const last = new Map<string, Span>();
  for (const span of spans.toSorted((a, b) => a.seq - b.seq)) {
    const key = `${span.worker} ${span.kind}`;
    const before = last.get(key);
    if (before && place(span.to) - place(before.from) < NARROW) {
      before.to = span.to;
      continue;
    }
    const next = { ...span };
    last.set(key, next);
    drawn.push(next);
  }
  return drawn;
}

function merged(spans: readonly Span[]): { from: number; to: number }[] {
  const out: { from: number; to: number }[] = [];
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    const last = out.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else out.push({ from, to });
  }
  return out;
}
