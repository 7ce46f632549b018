import { apply, type Situation } from "../../../src/projections/index.ts";
import { COORDINATOR, type Fact, HUMAN } from "../../../src/protocol/index.ts";
import { Listeners } from "./animation-frame.ts";
import { eventsAfter } from "./api.ts";
import { entryBook, forgetBooks } from "./entries.ts";
import { type EventFrame, eventFrameOf } from "./event-frames.ts";
import { LiveSocket } from "./socket.ts";
import { broughtBack, keepUnsent } from "./unsent.ts";
import type { AgentView, PendingWords, SaidWords, StreamedWords, ViewState } from "./view.ts";

const PAGE = 300;
/** More would only fill memory; older facts are loaded again when the person scrolls there. */
const MOST_FACTS = 12_000;
const REST_MS = 60_000;
const LEFT = "The page was closed before the server confirmed this. Check whether it arrived.";
let made = 0;

/**
 * One agent, live.
 *
 * PAGE-FEED-1. Facts are applied once and in order of `seq`: repeated facts after a reconnection change nothing, and if
 *     one is missing, the connection is opened again from there.
 * PAGE-FEED-2. After a lost connection everything stays visible; what was missed is merged in.
 * PAGE-FEED-3. Listeners are told at most once a frame; `version` changes at once (animation-frame.ts says why).
 * PAGE-FEED-4. If the log was replaced (a home restored from a copy) or has a gap, the feed starts again; what was
 *     shown stays visible until the new snapshot has arrived. An unknown kind of fact is ignored.
 * PAGE-FEED-5. After a minute without listeners it disconnects, and continues from there when somebody listens.
 * PAGE-FEED-6. A message that the server has not accepted survives a reload of the page; one that the log has is not
 *     shown as unsent.
 */
export class AgentFeed implements AgentView {
  readonly id: string;
  life = 0;
  state: ViewState = "loading";
  situation: Situation | null = null;
  facts: Fact[] = [];
  readonly words = new Map<string, StreamedWords>();
  pending: readonly PendingWords[];
  readonly #socket: LiveSocket;
  readonly #listeners = new Listeners();
  #older: Promise<void> | undefined;
  /** The newest fact that was heard; nothing where we are to begin anew. */
  #last: Pick<Fact, "seq" | "ts" | "type"> | undefined;
  /** After which fact one was missing the last time. */
  #hole = -1;
  #resting: ReturnType<typeof setTimeout> | undefined;

  constructor(id: string) {
    this.id = id;
    this.pending = broughtBack(id).map((said) => pendingOf(said, LEFT, this.life));
    this.#socket = new LiveSocket({
      // The last fact once more: by it one sees whether the log is still the same.
      address: () =>
        this.situation && this.#last
          ? `/agents/${this.id}/events?after=${this.situation.seq - 1}`
          : `/agents/${this.id}/events?snapshot=1&recent=${PAGE}`,
      forgetPlace: () => this.#beginAnew(),
      heard: (frame) => this.#hear(eventFrameOf(frame)),
      changed: (state) => {
        if (state === "open") this.state = this.situation ? "live" : "loading";
        if (state === "lost") this.state = this.situation ? "lost" : "loading";
        if (state === "refused") this.state = "gone";
        if (state !== "open") this.words.clear();
        this.#listeners.changed();
      },
    });
    this.#restSoon();
  }

  /** Changes with everything that is read from here. */
  get version(): number {
    return this.#listeners.version;
  }

  get newest(): number {
    return this.situation?.seq ?? 0;
  }

  subscribe(listener: () => void): () => void {
    const forget = this.#listeners.add(listener);
    clearTimeout(this.#resting);
    this.#socket.wake();
    return () => {
      forget();
      if (this.#listeners.size === 0) this.#restSoon();
    };
  }

  /** The facts before those at hand. */
  loadOlder(): Promise<void> {
    this.#older ??= this.#loadOlder().finally(() => {
      this.#older = undefined;
    });
    return this.#older;
  }

  /** Shown at once; taken off when the log has it. */
  expect(words: SaidWords): PendingWords {
    const pending = pendingOf(words, null, this.life);
    this.#keep([...this.pending, pending]);
    return pending;
  }

  refused(pending: PendingWords, problem: string): void {
    this.#keep(this.pending.map((each) => (each.key === pending.key ? { ...each, problem } : each)));
  }

  /** The server has it: it is in the log, or about to be. */
  taken(pending: PendingWords): void {
    // Of a log that was begun anew meanwhile the snapshot may have it already, and then no fact tells of it.
    if (pending.life !== this.life) {
      this.forget(pending);
      return;
    }
    this.#keep(this.pending.map((each) => (each.key === pending.key ? { ...each, isTaken: true } : each)));
  }

  /** Whether it was still there: a page shows the change only with its next frame. */
  forget(pending: PendingWords): boolean {
    const left = this.pending.filter(({ key }) => key !== pending.key);
    const wasThere = left.length < this.pending.length;
    this.#keep(left);
    return wasThere;
  }

  #restSoon(): void {
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => {
      this.words.clear();
      this.#socket.rest();
    }, REST_MS);
  }

  #hear(frame: EventFrame | undefined): void {
    switch (frame?.kind) {
      case "snapshot":
        if (this.situation) {
          this.life += 1;
          forgetBooks(this.id);
        }
        this.situation = frame.situation;
        this.state = "live";
        this.facts = [];
        this.#last = undefined;
        // What the server has taken is in it.
        this.#keep(this.pending.filter(({ isTaken }) => !isTaken));
        break;
      case "fact":
        this.#take(frame.fact);
        break;
      case "delta": {
        const words = this.words.get(frame.worker_id) ?? { text: "", reasoning: "" };
        this.words.set(frame.worker_id, { ...words, [frame.of]: words[frame.of] + frame.text });
        break;
      }
      case undefined:
        return;
    }
    this.#listeners.changed();
  }

  #take(fact: Fact): void {
    const { situation } = this;
    if (!situation) return;
    const last = this.#last;
    if (fact.seq <= situation.seq) {
      if (last?.seq === fact.seq && (last.ts !== fact.ts || last.type !== fact.type)) {
        this.#restart();
        return;
      }
      // A snapshot has these in it already; they are only to be shown.
      const next = (this.facts.at(-1)?.seq ?? fact.seq - 1) + 1;
      if (fact.seq === next) this.facts.push(fact);
      else if (fact.seq > next) this.facts = [fact];
      if (fact.seq >= next) this.#last = fact;
      return;
    }
    if (fact.seq > situation.seq + 1) {
      // Missing a second time, it is not on its way: it is not there.
      if (this.#hole === situation.seq) {
        this.#restart();
        return;
      }
      this.#hole = situation.seq;
      this.#socket.again();
      return;
    }
    try {
      apply(situation, fact);
    } catch {
      // A fact of a newer kind than this page: what follows is shown all the same.
      situation.seq = fact.seq;
    }
    this.#last = fact;
    this.facts.push(fact);
    if (this.facts.length > MOST_FACTS) this.facts = this.facts.slice(-PAGE * 10);
    const streamed = fact.type === "model.responded" ? this.words.get(fact.data.worker_id)?.text : undefined;
    if (fact.type === "model.responded" && streamed) entryBook(this.id, fact.data.worker_id).put(fact.ts, streamed);
    // Not with `model.called`: words come at once, and that fact only when it is on disk.
    if (fact.type === "model.responded" || fact.type === "model.failed") this.words.delete(fact.data.worker_id);
    const first = this.pending.find((each) => isOnRecord(each, fact));
    if (first) this.#keep(this.pending.filter((each) => each !== first));
  }

  #keep(pending: readonly PendingWords[]): void {
    this.pending = pending;
    keepUnsent(this.id, pending);
    this.#listeners.changed();
  }

  #beginAnew(): void {
    this.#last = undefined;
  }

  #restart(): void {
    this.#beginAnew();
    this.#socket.again();
  }

  async #loadOlder(): Promise<void> {
    const before = this.facts[0]?.seq ?? this.newest + 1;
    if (before <= 1) return;
    const after = Math.max(0, before - 1 - PAGE);
    const page = await eventsAfter(this.id, after, before - 1 - after).catch(() => []);
    const older = page.filter(({ seq }) => seq < before);
    if (older.length === 0 || (this.facts[0]?.seq ?? before) !== before) return;
    this.facts = [...older, ...this.facts];
    this.#listeners.changed();
  }
}

function pendingOf(words: SaidWords, problem: string | null, life: number): PendingWords {
  made += 1;
  return { key: `pending-${made}`, ...words, problem, isTaken: false, life };
}

/** Whether a fact tells of it: the same words to somebody else, or in answer to a question, are something else. */
function isOnRecord({ to, text, isHint }: SaidWords, fact: Fact): boolean {
  switch (fact.type) {
    case "message.sent":
      return !isHint && fact.data.from === HUMAN && fact.data.to === to && fact.data.text === text;
    case "human.nudge":
      return isHint && fact.data.text === text;
    // What is said to an agent that has finished is its next goal, also if it is said to everyone.
    case "run.started":
      return !isHint && (to === COORDINATOR || to === "*") && fact.data.goal === text;
    default:
      return false;
  }
}
