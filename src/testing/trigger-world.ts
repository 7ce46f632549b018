import { apply, begin, type Situation } from "../projections/index.ts";
import type { Clock } from "../protocol/clock.ts";
import type { AgentId, Fact, NewFact } from "../protocol/index.ts";
import { Alarms, type TriggerActions } from "../runtime/time/alarms.ts";
import { Schedule } from "../runtime/time/schedule.ts";
import type { Appended, Batch } from "../store/store.ts";
import { NOT_THERE } from "../triggers/change.ts";
import { type ManualClock, manualClock } from "./manual-clock.ts";

/**
 * An agent of which only the triggers are real: its log is in memory, its clock is turned by hand and can jump, and it
 * can die at any action. What its triggers asked for is counted by key.
 */
export class TriggerWorld {
  readonly time: ManualClock;
  readonly facts: Fact[] = [];
  /** What was asked for, in order: the key, and at which reading of the clock. Asked again after a crash it is not here twice. */
  readonly done: { key: string; what: string; at: number }[] = [];
  readonly failures: unknown[] = [];
  /** How often what was done already was asked for again. */
  repeats = 0;
  /** How often the triggers' file was to be written. */
  written = 0;
  /** At which reading of the clock the process died, until it is started again. */
  died: number | undefined;
  /** Decides whether the process dies now, and whether before or after doing what was asked for. */
  dies: (key: string) => "before" | "after" | undefined = () => undefined;
  /** What an action says that cannot be done. */
  refuses: (key: string) => string | undefined = () => undefined;
  readonly schedule: Schedule;
  readonly clock: Clock;
  now: Situation;
  readonly #keys = new Set<string>();
  #offset = 0;
  #listeners = new Set<(fact: Fact) => void>();
  #alarms: Alarms | undefined;
  readonly #longestNapMs: number;

  constructor({ start = Date.UTC(2026, 0, 1), longestNapMs = 60_000, timeZone = "UTC", callbacks = ["tidy"] } = {}) {
    this.time = manualClock(start);
    this.#longestNapMs = longestNapMs;
    this.clock = { now: () => this.time.now() + this.#offset, sleep: (ms, signal) => this.time.sleep(ms, signal) };
    const first = this.#number({
      type: "agent.created",
      data: {
        name: "Agent",
        goal: "Wait",
        mode: "finite",
        model: "m",
        worker_model: "m",
        budget_usd: null,
        project: null,
        tools: null,
      },
    });
    this.now = begin(first);
    const log = { append: (batch: Batch) => this.append(batch), drained: async () => {} };
    this.schedule = new Schedule({
      log,
      pending: () => this.now,
      clock: this.clock,
      timeZone: () => timeZone,
      callbacks,
      look: async () => NOT_THERE,
    });
  }

  /** The clock's reading, in seconds. */
  get at(): number {
    return this.clock.now() / 1000;
  }

  /** The process begins, from what the log says. */
  start(): void {
    this.died = undefined;
    // As from a snapshot: nothing but plain JSON survives.
    this.now = JSON.parse(JSON.stringify(this.now));
    this.#listeners = new Set();
    this.#alarms = new Alarms({
      log: { append: (batch) => this.append(batch), subscribe: (listener) => this.#subscribe(listener) },
      now: () => this.now,
      pending: () => this.now,
      clock: this.clock,
      actions: this.#actions(),
      changed: () => {
        this.written += 1;
      },
      failed: (error) => this.failures.push(error),
      longestNapMs: this.#longestNapMs,
    });
    this.#alarms.start();
  }

  async stop(): Promise<void> {
    const stopped = this.#alarms?.stop();
    this.#alarms = undefined;
    // A dead process waits for the disk forever.
    if (this.died === undefined) await stopped;
  }

  async pass(seconds: number): Promise<void> {
    await this.time.advance(seconds * 1000);
    await this.drained();
  }

  /** Resolves when everything that can go on by itself has gone on. */
  drained(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** The clock is set. */
  jump(seconds: number): void {
    this.#offset += seconds * 1000;
  }

  /** Something happens. */
  async happen(...facts: NewFact[]): Promise<void> {
    await this.append({ facts }).durable;
    await this.drained();
  }

  /** The facts of these types, without what never matters here. */
  told(...types: Fact["type"][]): { type: string; data: unknown }[] {
    return this.facts.filter((fact) => types.includes(fact.type)).map(({ type, data }) => ({ type, data }));
  }

  append({ facts = [] }: Batch): Appended {
    // A dead process writes nothing, and hears of nothing.
    if (this.died !== undefined) return { facts: [], durable: new Promise(() => {}) };
    const numbered = facts.map((fact) => this.#number(fact));
    for (const fact of numbered) apply(this.now, fact);
    const durable = Promise.resolve().then(() => {
      for (const fact of numbered) for (const listener of this.#listeners) listener(fact);
    });
    return { facts: numbered, durable };
  }

  #number(fact: NewFact): Fact {
    const seq = this.facts.length + 1;
    const numbered = { ...fact, seq, ts: this.at, agent_id: "agent-test" as AgentId } as Fact;
    this.facts.push(numbered);
    return numbered;
  }

  #subscribe(listener: (fact: Fact) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #actions(): TriggerActions {
    return {
      wake: (task, key) => this.#do(key, `wake: ${task}`),
      runNode: (id, key) => this.#do(key, `run ${id}`),
      sendMessage: (to, content, key) => this.#do(key, `to ${to}: ${content}`),
      callback: (name, args, key) => this.#do(key, `call ${name} ${JSON.stringify(args)}`),
    };
  }

  async #do(key: string, what: string): Promise<void> {
    if (this.died !== undefined) return new Promise(() => {});
    const refusal = this.refuses(key);
    if (refusal !== undefined) throw new Error(refusal);
    const death = this.dies(key);
    if (death !== "before") {
      if (this.#keys.has(key)) this.repeats += 1;
      else this.done.push({ key, what, at: this.at });
      this.#keys.add(key);
    }
    if (death === undefined) return;
    this.died = this.at;
    return new Promise(() => {});
  }
}
