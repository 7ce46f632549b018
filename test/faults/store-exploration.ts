import type { openStore } from "../../src/store/open-store.ts";
import { CrashDisk, type Tree } from "../../src/testing/crash-disk.ts";
import { crashPoints } from "../../src/testing/crash-points.ts";
import { judge, Violation } from "./store-verdict.ts";
import { type History, JOURNAL_LIMIT, live, promisesAt, ROOT, seeded } from "./store-workload.ts";

export interface Exploration {
  /** Different disks, each under different promises. */
  states: number;
  points: number;
}

/** One workload, every instant of it, and the disks that a power failure could leave there; some also fail again while recovering. */
export async function explore(
  open: typeof openStore,
  options: { seed: number; steps: number; trouble: number; budget: number; nestedEvery: number },
): Promise<Exploration> {
  const random = seeded(options.seed);
  const history = await live(open, random, options);
  const seen: Exploration = { states: 0, points: 0 };
  const judged = new Set<string>();
  for (const { at, states } of crashPoints(history.disk, { random, budget: options.budget })) {
    seen.points++;
    const promises = promisesAt(history, at);
    for (const tree of states) {
      const known = judged.size;
      if (judged.add(`${tree.print} ${promises}`).size === known) continue;
      await located(options.seed, at, () => judge(open, history, at, tree));
      if (++seen.states % options.nestedEvery === 0) await exploreRecovery(open, history, at, tree, options.seed, seen);
    }
  }
  return seen;
}

/** The power fails a second time, while the first failure is being recovered from. */
async function exploreRecovery(
  open: typeof openStore,
  history: History,
  at: number,
  tree: Tree,
  seed: number,
  seen: Exploration,
): Promise<void> {
  const disk = new CrashDisk(tree);
  await open({
    root: ROOT,
    disk: disk.process(),
    clock: { now: () => 1_750_000_000_000 },
    journalLimit: JOURNAL_LIMIT,
  });
  const random = seeded(seed + at);
  for (const { states } of crashPoints(disk, { random, budget: 6 })) {
    for (const left of states) {
      await located(seed, at, () => judge(open, history, at, left));
      seen.states++;
    }
  }
}

async function located(seed: number, at: number, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (error instanceof Violation)
      throw new Violation(error.check, `${error.message} (seed ${seed}, after change ${at})`);
    throw error;
  }
}

/** Lives seeded one after the other until this many states were judged. Says how many, how fast and with which seeds. */
export async function exploreUntil(
  open: typeof openStore,
  least: number,
  options: { firstSeed: number; steps: number; trouble: number; budget: number },
): Promise<Exploration> {
  // Refusals are part of the workload, and the traces of their errors a tenth of its time.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const total: Exploration = { states: 0, points: 0 };
  const began = performance.now();
  let seed = options.firstSeed;
  try {
    for (; total.states < least; seed++) {
      const { states, points } = await explore(open, { ...options, seed, nestedEvery: 200 });
      total.states += states;
      total.points += points;
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  const speed = Math.round(total.states / ((performance.now() - began) / 1000));
  console.log(
    `${total.states} crash states at ${total.points} instants, ${speed} states/s, seeds ${options.firstSeed} to ${seed - 1}`,
  );
  return total;
}
