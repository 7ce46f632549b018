import { apply, begin, type Situation, withOwnKeys } from "../../../src/projections/index.ts";
import type { Fact } from "../../../src/protocol/index.ts";
import { agents } from "./agents.ts";
import { Listeners } from "./animation-frame.ts";
import { eventsAfter } from "./api.ts";
import type { AgentView, PendingWords, StreamedWords, ViewState } from "./view.ts";

const PAGE = 1000;
const CHECKPOINT_EVERY = 500;
const MOST_CHECKPOINTS = 40;
const SHOWN = 600;
const AGAIN_MS = 3000;

/** An agent's whole log, read once and in order: for the timeline and for replay. */
class WholeLog {
  readonly facts: Fact[] = [];
  readonly life: number;
  readonly #id: string;
  #checkpoints: Situation[] = [];
  #every = CHECKPOINT_EVERY;
  #reading: Promise<void> = Promise.resolve();

  constructor(id: string, life: number) {
    this.#id = id;
    this.life = life;
  }

  /** At least up to this fact. */
  upTo(seq: number): Promise<void> {
    this.#reading = this.#reading.then(async () => {
      this.catchUp();
      while (this.facts.length < seq) {
        const page = await eventsAfter(this.#id, this.facts.length, PAGE);
        const first = this.facts.length + 1;
        // What has a hole, or is of another log, cannot be folded.
        if (page.length === 0 || page.some((fact, index) => fact.seq !== first + index)) return;
        this.facts.push(...page);
        // Page by page: all of a long log at once would hold up the page for seconds.
        this.situationAt(this.facts.length);
      }
    });
    const reading = this.#reading;
    this.#reading = reading.catch(() => {});
    return reading;
  }

  /** What the live feed has at hand need not be asked for again. */
  catchUp(): void {
    const { facts } = agents.feed(this.#id);
    const first = facts[0]?.seq ?? Number.POSITIVE_INFINITY;
    if (first <= this.facts.length + 1) this.facts.push(...facts.slice(this.facts.length + 1 - first));
  }

  /**
   * What was true at this fact. Every few hundred facts a copy is kept, so that a scrubber need not begin at the first; of
   * a long log fewer, further apart.
   */
  situationAt(seq: number): Situation | null {
    const first = this.facts[0];
    if (!first || seq < 1) return null;
    const kept = this.#checkpoints.findLast((each) => each.seq <= seq);
    const now = kept ? withOwnKeys(structuredClone(kept)) : begin(first);
    for (const fact of this.facts.slice(now.seq, seq)) {
      try {
        apply(now, fact);
      } catch {
        // A fact of a newer kind than this page.
        now.seq = fact.seq;
      }
      const isNew = now.seq > (this.#checkpoints.at(-1)?.seq ?? 0);
      if (now.seq % this.#every === 0 && isNew) this.#checkpoints.push(withOwnKeys(structuredClone(now)));
    }
    if (this.#checkpoints.length > MOST_CHECKPOINTS) {
      this.#every *= 2;
      this.#checkpoints = this.#checkpoints.filter((each) => each.seq % this.#every === 0);
    }
    return now;
  }
}

/** An agent as it was at a moment. */
class Replay implements AgentView {
  readonly id: string;
  readonly life: number;
  state: ViewState = "loading";
  situation: Situation | null = null;
  facts: readonly Fact[] = [];
  readonly words: ReadonlyMap<string, StreamedWords> = new Map();
  readonly pending: readonly PendingWords[] = [];
  readonly #listeners = new Listeners();
  #at = 0;
  #first = Number.POSITIVE_INFINITY;
  #again: ReturnType<typeof setTimeout> | undefined;

  constructor(id: string, life: number) {
    this.id = id;
    this.life = life;
  }

  /** Changes with everything that is read from here, and when the live feed comes: the end of the log is read there. */
  get version(): number {
    return this.#listeners.version + Number(agents.feed(this.id).situation !== null);
  }

  get newest(): number {
    return agents.feed(this.id).newest;
  }

  moveTo(at: number): this {
    if (at === this.#at) return this;
    this.#at = at;
    clearTimeout(this.#again);
    const log = wholeLog(this.id);
    if (log.facts.length >= at) this.#show(at);
    else
      log.upTo(at).then(
        () => this.#at === at && this.#show(at),
        () => {
          if (this.#at !== at) return;
          this.state = "lost";
          this.#listeners.changed();
          // Else it would be loading for ever.
          this.#again = setTimeout(() => this.#readAgain(), AGAIN_MS);
        },
      );
    return this;
  }

  subscribe(listener: () => void): () => void {
    const forget = this.#listeners.add(listener);
    const forgetFeed = agents.feed(this.id).subscribe(listener);
    return () => {
      forget();
      forgetFeed();
    };
  }

  /** Where nobody looks any more, nothing is asked; looking again asks. */
  #readAgain(): void {
    const at = this.#at;
    this.#at = 0;
    if (this.#listeners.size > 0) this.moveTo(at);
  }

  async loadOlder(): Promise<void> {
    if (this.#first <= 1) return;
    this.#first = Math.max(1, this.#first - SHOWN);
    this.facts = wholeLog(this.id).facts.slice(this.#first - 1, this.#at);
    this.#listeners.changed();
  }

  #show(at: number): void {
    const log = wholeLog(this.id);
    this.situation = log.situationAt(at);
    this.#first = Math.max(1, at - SHOWN);
    this.facts = log.facts.slice(this.#first - 1, at);
    this.state = "replay";
    this.#listeners.changed();
  }
}

const logs = new Map<string, WholeLog>();
const replays = new Map<string, Replay>();

export function wholeLog(id: string): WholeLog {
  return kept(logs, id, (life) => new WholeLog(id, life));
}

export function replayAt(id: string, at: number): AgentView {
  return kept(replays, id, (life) => new Replay(id, life)).moveTo(at);
}

/** For names, and for what else does not change: as it is now, or as far as it is known before that has come. */
export function knownOf(id: string): Situation | null {
  return agents.feed(id).situation ?? replays.get(id)?.situation ?? null;
}

/** Of each agent the one of the log that it has now: what it was before is nothing to anybody any more. */
function kept<T extends { readonly life: number }>(map: Map<string, T>, id: string, make: (life: number) => T): T {
  const { life } = agents.feed(id);
  const known = map.get(id);
  if (known?.life === life) return known;
  const made = make(life);
  map.set(id, made);
  return made;
}
