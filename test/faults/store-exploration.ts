import type { openStore } from "../../src/store/open-store.ts";
import { CrashDisk } from "../../src/testing/crash-disk.ts";
import type { Tree } from "../../src/testing/crash-medium.ts";
import { crashPoints } from "../../src/testing/crash-points.ts";
import { judge, Violation } from "./store-verdict.ts";
import { type History, JOURNAL_LIMIT, live, promisesAt, ROOT, seeded } from "./store-workload.ts";

export interface Exploration {
  /** Different disks, each under different promises. */
  states: number;
  points: number;
}

export interface Life {
  seed: number;
  steps: number;
  trouble: number;
  /** How many disks are tried at one instant, at most. */
  budget: number;
  /** Of how many states one also loses power while recovering. */
  nestedEvery: number;
}

/** All of them in the soak (`AGIRAPH_STATES=all`), a twentieth in CI: each is judged by opening a home. */
export function statesToSee(all: number): number {
  return process.env.AGIRAPH_STATES === "all" ? all : all / 20;
}

/** One life of a home, every instant of it, and the disks that a power failure could leave there. */
export async function explore(open: typeof openStore, life: Life, most = Infinity): Promise<Exploration> {
  const random = seeded(life.seed);
  const history = await live(open, random, life);
  const bench = new Bench(open, history, life.seed);
  const seen = new Set<string>();
  let points = 0;
  for (const { at, states } of crashPoints(history.disk, { random, budget: life.budget })) {
    points++;
    const promises = promisesAt(history, at);
    for (const tree of states) {
      const known = seen.size;
      if (seen.add(`${tree.print} ${promises}`).size === known) continue;
      await bench.judge(at, tree);
      if (seen.size % life.nestedEvery === 0) await bench.judgeRecovery(at, tree);
      if (bench.states >= most) break;
    }
    if (bench.states >= most) break;
  }
  await bench.finish();
  return { states: bench.states, points };
}

/** Judges several states side by side: each waits for turns of the event loop, which then serve all of them. */
class Bench {
  states = 0;
  readonly #open: typeof openStore;
  readonly #history: History;
  readonly #seed: number;
  #underWay: Promise<void>[] = [];

  constructor(open: typeof openStore, history: History, seed: number) {
    this.#open = open;
    this.#history = history;
    this.#seed = seed;
  }

  async judge(at: number, tree: Tree): Promise<void> {
    this.states++;
    const verdict = this.#located(at, judge(this.#open, this.#history, at, tree));
    // Heard when the round is finished; until then a failure is not an unhandled one.
    verdict.catch(() => {});
    this.#underWay.push(verdict);
    if (this.#underWay.length >= 32) await this.finish();
  }

  /** The power fails a second time, while the first failure is being recovered from. */
  async judgeRecovery(at: number, tree: Tree): Promise<void> {
    const disk = new CrashDisk(tree);
    const clock = { now: () => 1_750_000_000_000 };
    await this.#open({ root: ROOT, disk: disk.process(), clock, journalLimit: JOURNAL_LIMIT });
    for (const { states } of crashPoints(disk, { random: seeded(this.#seed + at), budget: 6 })) {
      for (const left of states) await this.judge(at, left);
    }
  }

  async finish(): Promise<void> {
    await Promise.all(this.#underWay.splice(0));
  }

  async #located(at: number, verdict: Promise<void>): Promise<void> {
    try {
      await verdict;
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      throw new Violation(error.check, `${error.message} (seed ${this.#seed}, after change ${at})`);
    }
  }
}

/** One life after the other until this many states were judged. Says how many, how fast and with which seeds. */
export async function exploreUntil(
  open: typeof openStore,
  least: number,
  { firstSeed, ...life }: Omit<Life, "seed"> & { firstSeed: number },
): Promise<Exploration> {
  // Refusals are part of the workload, and the traces of their errors a tenth of its time.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const total: Exploration = { states: 0, points: 0 };
  const began = performance.now();
  let seed = firstSeed;
  try {
    for (; total.states < least; seed++) {
      const { states, points } = await explore(open, { ...life, seed }, least - total.states);
      total.states += states;
      total.points += points;
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  const speed = Math.round(total.states / ((performance.now() - began) / 1000));
  console.log(
    `${total.states} crash states at ${total.points} instants, ${speed} states/s, seeds ${firstSeed} to ${seed - 1}`,
  );
  return total;
}
