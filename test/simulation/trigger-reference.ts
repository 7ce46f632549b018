/** One trigger as the reference sees it: all its times, and what becomes of those that nobody was there for. */
export interface Planned {
  id: string;
  what: string;
  /** The clock's reading when it was made, and which stretch that was in. */
  created: number;
  stretch: number;
  missed: "once" | "skip";
  times: readonly number[];
}

/** A stretch in which somebody looked at the clock all the time, by the clock's readings. */
export interface Looking {
  from: number;
  to: number;
}

/** For which of its times a trigger fires, and when: the policy in a few lines, over times that were found otherwise. */
export function expectedFirings(plan: Planned, lookings: readonly Looking[]): [due: number, at: number][] {
  const firings: [number, number][] = [];
  let last = plan.created;
  let next = firstAfter(plan.times, plan.created);
  for (const { from, to } of lookings.slice(plan.stretch)) {
    if (to < from) continue; // it ended before anybody looked
    if (next !== undefined && next <= from) {
      if (plan.missed === "once" || from - next <= 60) {
        firings.push([next, from]);
        last = next;
      } else if (plan.times.length === 1) return firings;
      next = firstAfter(plan.times, from);
    } else {
      next = firstAfter(plan.times, Math.max(from, last));
    }
    for (; next !== undefined && next <= to; next = firstAfter(plan.times, next)) {
      firings.push([next, next]);
      last = next;
    }
  }
  return firings;
}

function firstAfter(times: readonly number[], after: number): number | undefined {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) > after) high = middle;
    else low = middle + 1;
  }
  return times[low];
}
