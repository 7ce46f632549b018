import { apply, isAtWork, type Situation } from "../projections/index.ts";
import type { AgentId, Fact } from "../protocol/index.ts";
import type { AgentLog } from "../store/store.ts";
import type { Delta } from "../workers/loop/recorded-loop.ts";
import type { Hosting } from "./hosting.ts";
import { situationOf } from "./state/situations.ts";

/** An agent as those see it who only look on. */
export interface SeenAgent {
  readonly log: AgentLog;
  readonly now: Situation;
  onDelta(listener: (delta: Delta) => void): () => void;
  saying(): Delta[];
  idle(): Promise<void>;
  /** Fires when nothing more is told here: the agent was closed, or, of another host's, is this host's now. */
  readonly ended: AbortSignal;
  /** Nobody here looks on any more. */
  leave?(): void;
}

/** An agent of another host, followed from here. */
export class AgentElsewhere implements SeenAgent {
  readonly log: AgentLog;
  readonly now: Situation;
  readonly ended: AbortSignal;
  readonly #leave: () => void;
  readonly #unhear: () => void;
  readonly #idlers = new Set<() => void>();

  private constructor({ log, ended, leave }: Awaited<ReturnType<Hosting["watch"]>>, now: Situation) {
    this.log = log;
    this.now = now;
    this.ended = ended;
    this.#leave = leave;
    this.#unhear = log.subscribe((fact) => this.#hear(fact));
  }

  static async open(hosting: Pick<Hosting, "watch">, id: AgentId): Promise<AgentElsewhere> {
    const watched = await hosting.watch(id);
    try {
      const now = await situationOf(watched.log);
      return new AgentElsewhere(watched, now);
    } catch (error) {
      watched.leave();
      throw error;
    }
  }

  /** Streamed words stay with the host where they are said; each reply is there as a whole when it has ended. */
  onDelta(): () => void {
    return () => {};
  }

  saying(): Delta[] {
    return [];
  }

  idle(): Promise<void> {
    if (!isAtWork(this.now.agent.status)) return Promise.resolve();
    return new Promise((resolve) => this.#idlers.add(resolve));
  }

  leave(): void {
    this.#unhear();
    this.#leave();
  }

  #hear(fact: Fact): void {
    // What came while it was folded is in it.
    if (fact.seq <= this.now.seq) return;
    apply(this.now, fact);
    if (isAtWork(this.now.agent.status)) return;
    for (const resolve of this.#idlers) resolve();
    this.#idlers.clear();
  }
}
