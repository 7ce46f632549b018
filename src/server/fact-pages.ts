import type { Fact } from "../protocol/index.ts";
import type { AgentLog } from "../store/store.ts";

/** A fact as it is sent. */
export interface FramedFact {
  seq: number;
  fact: Fact;
  frame: Buffer;
  /** What was said in the reply that it ends, for anyone who watches. */
  words?: Buffer;
}

/**
 * The pages that were read last. Those who begin together read the same ones. A page that ends with the file is never
 * shared: facts may have come since it was read that the next reader was not told.
 */
export class FactPages {
  readonly #log: Pick<AgentLog, "read">;
  readonly #last = new Map<number, Promise<readonly FramedFact[]>>();

  constructor(log: Pick<AgentLog, "read">) {
    this.#log = log;
  }

  async read(after: number, limit: number): Promise<readonly FramedFact[]> {
    const known = await this.#last.get(after)?.catch(() => undefined);
    if (known && known.length >= limit) return known;
    const reading = this.#log.read({ after, limit }).then((facts) => facts.map(framed));
    this.#last.set(after, reading);
    if (this.#last.size > KEPT_PAGES) this.#last.delete(this.#last.keys().next().value ?? after);
    try {
      const facts = await reading;
      const bytes = facts.reduce((sum, { frame }) => sum + frame.length, 0);
      if (facts.length < limit || bytes > LARGEST_PAGE) this.#last.delete(after);
      return facts;
    } catch (error) {
      this.#last.delete(after);
      throw error;
    }
  }
}

const KEPT_PAGES = 4;
const LARGEST_PAGE = 512 * 1024;

export function framed(fact: Fact): FramedFact {
  return { seq: fact.seq, fact, frame: factFrame(fact) };
}

export function factFrame({ seq, type, agent_id, ts, data, actor }: Fact): Buffer {
  return Buffer.from(JSON.stringify({ seq, type, agent_id, ts, data, actor }));
}
