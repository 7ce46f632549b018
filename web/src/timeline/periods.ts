import type { Fact } from "../../../src/protocol/index.ts";

/** A period of one worker's time. */
export interface Period {
  worker: string;
  kind: "busy" | "waiting" | "asking";
  node: string | null;
  from: number;
  to: number;
  /** The fact it began with. */
  seq: number;
}

const followed = new WeakMap<readonly Fact[], PeriodCollector>();

/** Who worked and waited when. A log only grows, so each fact is processed once; a replaced log is another list. */
export function periodsIn(log: readonly Fact[], now: number): Period[] {
  const periods = followed.get(log) ?? new PeriodCollector();
  followed.set(log, periods);
  return periods.follow(log, now);
}

class PeriodCollector {
  readonly #ended: Period[] = [];
  readonly #open = new Map<string, Period>();
  #seen = 0;

  /** What has not ended lasts to `now`. */
  follow(facts: readonly Fact[], now: number): Period[] {
    for (; this.#seen < facts.length; this.#seen++) this.#take(facts[this.#seen] as Fact);
    return [...this.#ended, ...[...this.#open.values()].map((period) => ({ ...period, to: now }))];
  }

  #take(fact: Fact): void {
    const { ts, seq } = fact;
    switch (fact.type) {
      case "worker.busy":
      case "worker.waiting": {
        const { worker_id: worker, node_id: node } = fact.data;
        this.#end(worker, ts);
        const kind = fact.type === "worker.busy" ? "busy" : fact.data.for === "human" ? "asking" : "waiting";
        this.#open.set(worker, { worker, kind, node, from: ts, to: ts, seq });
        break;
      }
      case "worker.idle":
      case "worker.stopped":
      case "worker.retired":
        this.#end(fact.data.worker_id, ts);
        break;
      case "agent.stopped":
      case "agent.paused":
      case "agent.completed":
      case "agent.failed":
        for (const worker of [...this.#open.keys()]) this.#end(worker, ts);
        break;
    }
  }

  #end(worker: string, ts: number): void {
    const period = this.#open.get(worker);
    if (!period) return;
    this.#open.delete(worker);
    this.#ended.push({ ...period, to: ts });
  }
}

/** Time as a position from 0 to 1, with periods in which nobody worked collapsed to a narrow gap. */
export interface Axis {
  place(ts: number): number;
  breaks: { at: number; seconds: number }[];
}

const BREAK_FROM = 20;
const GAP_SHARE = 0.02;
/** However many nights there were, the work is what is looked at. */
const GAPS_SHARE = 0.25;

export function axisOf(periods: readonly Period[]): Axis {
  const busy = merged(periods.filter(({ kind }) => kind === "busy"));
  const first = busy[0];
  const last = busy.at(-1);
  if (!first || !last) return { place: () => 0, breaks: [] };
  const total = busy.reduce((sum, { from, to }) => sum + (to - from), 0);
  const idles = busy.slice(1).map(({ from }, index) => from - (busy[index]?.to ?? from));
  const nights = idles.filter((seconds) => seconds > BREAK_FROM).length;
  const gap = Math.max(total, 1) * Math.min(GAP_SHARE, GAPS_SHARE / Math.max(1, nights));
  const pieces: { from: number; to: number; start: number; length: number }[] = [];
  const breaks: { start: number; seconds: number }[] = [];
  let length = 0;
  busy.forEach((piece, index) => {
    const before = busy[index - 1];
    const idle = idles[index - 1];
    if (before && idle !== undefined) {
      const isBreak = idle > BREAK_FROM && idle > gap;
      if (isBreak) breaks.push({ start: length + gap / 2, seconds: idle });
      const share = isBreak ? gap : idle;
      pieces.push({ from: before.to, to: piece.from, start: length, length: share });
      length += share;
    }
    pieces.push({ ...piece, start: length, length: piece.to - piece.from });
    length += piece.to - piece.from;
  });
  const whole = Math.max(length, 0.001);
  return {
    breaks: breaks.map(({ start, seconds }) => ({ at: start / whole, seconds })),
    place(ts) {
      if (ts <= first.from) return 0;
      const piece = pieces[firstThat(pieces.length, (index) => ts <= (pieces[index]?.to ?? ts))];
      if (!piece) return 1;
      const share = piece.to > piece.from ? (ts - piece.from) / (piece.to - piece.from) : 0;
      return (piece.start + Math.max(0, share) * piece.length) / whole;
    },
  };
}

/** Narrower than this, as a share of the whole, one cannot tell two stretches apart. */
const NARROW = 0.002;
/** More than this would be too much for the page, and for anyone who looks at it. */
const DRAWN = 1000;

/** What is drawn: narrow adjacent periods of one kind are merged, so that a long log stays a small picture. */
export function drawnOf(periods: readonly Period[], { place }: Axis): Period[] {
  const placed = periods
    .toSorted((a, b) => a.seq - b.seq)
    .map((period) => ({
      period,
      row: `${period.worker} ${period.kind}`,
      from: place(period.from),
      to: place(period.to),
    }));
  for (let narrow = NARROW; ; narrow *= 2) {
    const drawn = joined(placed, narrow);
    if (drawn.length <= DRAWN || narrow > 1) return drawn;
  }
}

function joined(
  placed: readonly { period: Period; row: string; from: number; to: number }[],
  narrow: number,
): Period[] {
  const drawn: Period[] = [];
  const last = new Map<string, { period: Period; from: number }>();
  for (const { period, row, from, to } of placed) {
    const before = last.get(row);
    if (before && to - before.from < narrow) {
      before.period.to = period.to;
      continue;
    }
    const next = { ...period };
    last.set(row, { period: next, from });
    drawn.push(next);
  }
  return drawn;
}

function merged(periods: readonly Period[]): { from: number; to: number }[] {
  const out: { from: number; to: number }[] = [];
  for (const { from, to } of periods.toSorted((a, b) => a.from - b.from)) {
    const last = out.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else out.push({ from, to });
  }
  return out;
}

/** The first index for which it holds, of a row in which it holds for all that follow too; its length if for none. */
function firstThat(length: number, holds: (index: number) => boolean): number {
  let [from, to] = [0, length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
