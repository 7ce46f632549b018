import type { Entry, Fact, NewFact } from "../../src/protocol/index.ts";
import type { openStore } from "../../src/store/open-store.ts";
import type { AgentLog, Store } from "../../src/store/store.ts";
import { CrashDisk } from "../../src/testing/crash-disk.ts";
import type { WriteAttempt } from "../../src/testing/crash-medium.ts";

/**
 * What a home goes through in the crash tests: appends by several agents to several files, bursts, rotations,
 * snapshots, full disks, failing disks, kills and restarts, chosen by a seed. It keeps what was promised, and when.
 */
export const ROOT = "/home";
export const AGENTS = ["agent-aaaa", "agent-bbbb"] as const;
export const FILES = ["conversation.jsonl", "runs/run-1/workers/alice/conversation.jsonl"] as const;
export const JOURNAL_LIMIT = 700;

export type Agent = (typeof AGENTS)[number];

/** One append, and from which change of the log on it must or must not be found. */
export interface Promised {
  agent: Agent;
  facts: readonly Fact[];
  file: string | undefined;
  /** `content` and `ts` of each entry. */
  entries: readonly { content: string; ts: number }[];
  calledAt: number;
  mustAt: number;
  neverAt: number;
}

export interface History {
  disk: CrashDisk;
  appends: Promised[];
  createdAt: Map<Agent, number>;
}

/** `trouble` says how much more often than usual something goes wrong. */
export async function live(
  open: typeof openStore,
  random: () => number,
  { steps, trouble }: { steps: number; trouble: number },
): Promise<History> {
  const home = new Home(open, random);
  await home.start();
  for (let step = 0; step < steps; step++) await home.step(trouble);
  await home.settle();
  return home;
}

class Home implements History {
  readonly disk = new CrashDisk();
  readonly appends: Promised[] = [];
  readonly createdAt = new Map<Agent, number>();
  readonly #open: typeof openStore;
  readonly #random: () => number;
  #store!: Store;
  #now = 1_700_000_000_000;
  #waiting: Promise<unknown>[] = [];

  constructor(open: typeof openStore, random: () => number) {
    this.#open = open;
    this.#random = random;
  }

  async start(): Promise<void> {
    this.disk.fault = () => undefined;
    this.#store = await this.#open({
      root: ROOT,
      disk: this.disk.process(),
      clock: { now: () => this.#now },
      journalLimit: JOURNAL_LIMIT,
    });
    await this.#decideUndecided();
  }

  async step(trouble: number): Promise<void> {
    const steps: [weight: number, act: () => Promise<void>][] = [
      [40, () => this.#append()],
      [8, () => this.#burst()],
      [18, () => this.settle()],
      [8, () => this.#snapshot()],
      [5 * trouble, () => this.#withFault({ what: "through" }, { code: "ENOSPC", partial: this.#upTo(300) })],
      [
        5 * trouble,
        () => this.#withFault({ what: "write", path: "agents/" }, { code: "ENOSPC", partial: this.#upTo(120) }),
      ],
      [2 * trouble, () => this.#withFault({ what: "through" }, { code: "EIO", partial: this.#upTo(900) })],
      [
        2 * trouble,
        () => this.#withFault({ what: "write", path: "agents/" }, { code: "EIO", partial: this.#upTo(120) }),
      ],
      [3 * trouble, () => this.#brokenSync()],
      [4 * trouble, () => this.#restart()],
      [4 * trouble, () => this.#kill()],
      [4, () => this.#evict()],
    ];
    const total = steps.reduce((sum, [weight]) => sum + weight, 0);
    let left = this.#random() * total;
    for (const [weight, act] of steps) {
      left -= weight;
      if (left < 0) return act();
    }
  }

  async settle(): Promise<void> {
    await Promise.allSettled(this.#waiting);
    this.#waiting = [];
  }

  async #append(where: { agent: Agent; file: string } = this.#somewhere()): Promise<void> {
    const { agent } = where;
    const log = await this.#log(agent);
    this.#now += this.#upTo(5000) - 1000;
    const id = this.appends.length;
    const factCount = this.#upTo(3);
    const entryCount = factCount === 0 ? 1 : this.#upTo(3);
    const file = entryCount > 0 ? where.file : undefined;
    const facts = Array.from(
      { length: factCount },
      (_, index): NewFact => ({ type: "agent.completed", data: { summary: this.#words(id, index) } }),
    );
    const entries = Array.from(
      { length: entryCount },
      (_, index): Entry => ({ role: "user", from: "human", content: this.#words(id, index) }),
    );
    try {
      const calledAt = this.disk.log.length;
      const appended = log.append({ facts, ...(file === undefined ? {} : { entries: { file, entries } }) });
      const ts = Math.round(this.#now) / 1000;
      const said = entries.map((entry) => ({ content: entry.role === "user" ? entry.content : "", ts }));
      const promised: Promised = {
        agent,
        facts: appended.facts,
        file,
        entries: said,
        calledAt,
        mustAt: Infinity,
        neverAt: Infinity,
      };
      this.appends.push(promised);
      this.#waiting.push(
        appended.durable.then(
          () => this.#keep(promised),
          (error: unknown) => this.#refused(promised, error),
        ),
      );
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "ReadOnlyError") throw error;
      await this.#restart();
    }
  }

  async #burst(): Promise<void> {
    for (let count = 2 + this.#upTo(4); count > 0; count--) {
      await this.#append();
      await this.#turns(this.#upTo(2));
    }
  }

  /** Often of facts that are only just on their way. */
  async #snapshot(): Promise<void> {
    const where = this.#somewhere();
    if (this.#random() < 0.6) await this.#append(where);
    const log = await this.#log(where.agent);
    const { seq } = log;
    const last = this.appends.findLast(
      (one) => one.facts.at(-1)?.seq === seq && one.agent === log.id && one.neverAt === Infinity,
    );
    try {
      await log.saveSnapshot("fold", 1, seq, { seq, last: last?.facts.at(-1)?.data });
    } catch {
      // Its facts were refused, or the home is broken: then there is no snapshot.
    }
  }

  /** The next change of this kind fails, once; then life goes on as the store allows. */
  async #withFault(
    at: { what: WriteAttempt["what"]; path?: string },
    fault: { code: string; partial: number },
  ): Promise<void> {
    this.disk.fault = ({ what, path }) => {
      if (what !== at.what || !path.includes(at.path ?? "")) return undefined;
      this.disk.fault = () => undefined;
      return fault;
    };
    const where = this.#somewhere();
    await this.#append(where);
    await this.#turns(this.#upTo(3));
    if (this.#random() < 0.7) await this.#append(where);
    await this.settle();
    this.disk.fault = () => undefined;
    if (this.#random() < 0.7) await this.#append(where);
  }

  /** Every sync fails until the store has noticed when it removes a journal. */
  async #brokenSync(): Promise<void> {
    this.disk.fault = ({ what }) => (what === "sync" ? { code: "EIO" } : undefined);
    for (let count = 0; count < 4; count++) {
      await this.#append();
      await this.settle();
    }
    this.disk.fault = () => undefined;
    await this.#restart();
  }

  async #restart(): Promise<void> {
    await this.settle();
    await this.#store.close();
    await this.start();
  }

  /** In the middle of whatever is under way. */
  async #kill(): Promise<void> {
    await this.#turns(this.#upTo(4));
    this.disk.kill();
    this.#waiting = [];
    await this.start();
  }

  async #evict(): Promise<void> {
    const log = await this.#log(this.#one(AGENTS));
    await log.close();
  }

  /** Lets what is under way come a little further. */
  async #turns(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  #keep(promised: Promised): void {
    promised.mustAt = Math.min(promised.mustAt, this.disk.log.length);
  }

  /** No room: taken back for good. Anything else: nobody knows until the home is opened again. */
  #refused(promised: Promised, error: unknown): void {
    if (error instanceof Error && error.name === "DiskFullError") promised.neverAt = this.disk.log.length;
  }

  /** After a restart, what the new process was shown is there for good, and what it was not shown never was. */
  async #decideUndecided(): Promise<void> {
    const shown = new Set<string>();
    for (const agent of AGENTS) {
      if (!this.createdAt.has(agent)) continue;
      const log = await this.#store.open(agent);
      for (const fact of await log.read({ after: 0, limit: 1e6 }))
        if (fact.type === "agent.completed") shown.add(fact.data.summary);
      for (const file of FILES)
        for (const entry of await log.conversation(file)) if (entry.role === "user") shown.add(entry.content);
    }
    for (const one of this.appends) {
      if (one.mustAt !== Infinity || one.neverAt !== Infinity) continue;
      if (shown.has(firstWords(one))) this.#keep(one);
      else one.neverAt = this.disk.log.length;
    }
  }

  async #log(agent: Agent): Promise<AgentLog> {
    if (this.createdAt.has(agent)) return this.#store.open(agent);
    const log = await this.#store.create(agent);
    this.createdAt.set(agent, this.disk.log.length);
    return log;
  }

  #somewhere(): { agent: Agent; file: string } {
    return { agent: this.#one(AGENTS), file: this.#one(FILES) };
  }

  /** Every record says who it is, and records differ in length. */
  #words(id: number, index: number): string {
    return `append ${id}, record ${index}, ${"é".repeat(this.#upTo(30))}`;
  }

  #upTo(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #one<T>(list: readonly T[]): T {
    return list[this.#upTo(list.length)] as T;
  }
}

function firstWords(one: Promised): string {
  const fact = one.facts[0];
  if (fact?.type === "agent.completed") return fact.data.summary;
  return one.entries[0]?.content ?? "";
}

/** What is promised at an instant; it changes only when somebody is told something. */
export function promisesAt({ appends, createdAt }: History, at: number): string {
  const count = (when: "calledAt" | "mustAt" | "neverAt") => appends.filter((one) => one[when] <= at).length;
  const created = [...createdAt.values()].filter((when) => when <= at).length;
  return `${count("calledAt")} ${count("mustAt")} ${count("neverAt")} ${created}`;
}

/** Numbers that are the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
