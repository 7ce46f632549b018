import { COORDINATOR, type Fact, type NewFact } from "../../src/protocol/index.ts";
import type { AgentLog, Batch, Store } from "../../src/store/store.ts";

/**
 * Looks over the program's shoulder at its own log: what it was told is on disk, and what it decided when. It keeps its
 * own account of who works, so that a wrong fold does not excuse a wrong decision.
 */
export class Watch {
  readonly #max: number;
  readonly #told: Map<number, string>;
  readonly #problems: string[];
  readonly #working = new Map<string, "busy" | "waits at no cost" | "away">();
  /** The coordinator asked to be woken, and by nobody in particular. */
  waitsByWish = false;

  constructor(max: number, told: Map<number, string>, problems: string[]) {
    this.#max = max;
    this.#told = told;
    this.#problems = problems;
  }

  /** How many work now, those who wait at no cost left out. */
  get working(): number {
    return [...this.#working.values()].filter((state) => state === "busy").length;
  }

  over(store: Store): Store {
    const watched = async (opening: Promise<AgentLog>) => this.#watched(await opening);
    return {
      get root() {
        return store.root;
      },
      get repairs() {
        return store.repairs;
      },
      agents: () => store.agents(),
      create: (id) => watched(store.create(id)),
      open: (id) => watched(store.open(id)),
      announce: (address) => store.announce(address),
      get writeError() {
        return store.writeError;
      },
      onWriteError: (listener) => store.onWriteError(listener),
      room: () => store.room(),
      close: () => store.close(),
    };
  }

  async #watched(log: AgentLog): Promise<AgentLog> {
    for (const fact of await log.read({ after: 0, limit: 1_000_000 })) this.#learn(fact);
    log.subscribe((fact) => void this.#told.set(fact.seq, JSON.stringify(fact)));
    const append = log.append.bind(log);
    log.append = (batch: Batch) => {
      this.#judge(batch.facts ?? []);
      const appended = append(batch);
      for (const fact of appended.facts) this.#learn(fact);
      return appended;
    };
    return log;
  }

  /** TEAM-4, at the moment of the decision. */
  #judge(facts: readonly NewFact[]): void {
    const begun = facts.filter((fact) => fact.type === "node.assigned").length;
    if (begun === 0) return;
    const all = this.working + begun;
    if (all > this.#max) this.#problems.push(`TEAM-4: ${all} would work at the same time, ${this.#max} may`);
  }

  #learn(fact: Fact): void {
    if (fact.type === "model.responded" && fact.data.worker_id === COORDINATOR) this.waitsByWish = false;
    if (fact.type === "tool.called" && fact.data.worker_id === COORDINATOR)
      this.waitsByWish ||= fact.data.tool === "check_messages";
    // A crash may have left people busy in a run that has ended.
    if (fact.type === "run.started") this.#working.clear();
    if (!("worker_id" in fact.data) || fact.data.worker_id === COORDINATOR) return;
    const { worker_id } = fact.data;
    switch (fact.type) {
      case "worker.busy":
        this.#working.set(worker_id, "busy");
        return;
      case "worker.waiting":
        this.#working.set(worker_id, ["budget", "rate_limit"].includes(fact.data.for) ? "busy" : "waits at no cost");
        return;
      case "worker.idle":
      case "worker.stopped":
        this.#working.set(worker_id, "away");
        return;
    }
  }
}
