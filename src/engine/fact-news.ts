import type { AgentId } from "../protocol/index.ts";
import type { Database } from "./database.ts";
import { factWords } from "./watched-trees.ts";

/** How long facts are gathered before other hosts are told of them. */
const GATHER_MS = 100;
/** A notice has room for so many names, however long they are. */
const PER_NOTICE = 150;

/** Tells other hosts which agents have new facts: one notice for all facts of a tenth of a second. */
export class FactNews {
  readonly #database: Database;
  readonly #sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly #signal: AbortSignal;
  #agents = new Set<AgentId>();
  #isGathering = false;

  constructor(database: Database, sleep: (ms: number, signal: AbortSignal) => Promise<void>, signal: AbortSignal) {
    this.#database = database;
    this.#sleep = sleep;
    this.#signal = signal;
  }

  tell(agent: AgentId): void {
    this.#agents.add(agent);
    if (this.#isGathering) return;
    this.#isGathering = true;
    void this.#gather().catch(() => {});
  }

  async #gather(): Promise<void> {
    await this.#sleep(GATHER_MS, this.#signal).catch(() => {});
    const words = [...this.#agents].map(factWords);
    this.#agents = new Set();
    this.#isGathering = false;
    const notices = Array.from({ length: Math.ceil(words.length / PER_NOTICE) }, (_, at) =>
      words.slice(at * PER_NOTICE, (at + 1) * PER_NOTICE).join("\n"),
    );
    // Who misses it looks all the same, a little later.
    if (notices.length > 0 && !this.#signal.aborted)
      await this.#database.query("select pg_notify($1, said) from unnest($2::text[]) as said", [
        this.#database.address.schema,
        notices,
      ]);
  }
}
