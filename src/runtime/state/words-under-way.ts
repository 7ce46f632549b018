import type { Fact } from "../../protocol/index.ts";
import type { Delta } from "../../workers/loop/recorded-loop.ts";

type Listener = (delta: Delta) => void;

/** Words as they are streamed; what was said of unfinished replies is kept for those who begin to listen in the middle. */
export class WordsUnderWay {
  readonly #saying = new Map<string, Delta>();

  readonly #listeners = new Set<Listener>();

  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }

  /** Returns the unsubscribe. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  hear(delta: Delta): void {
    this.#keep(delta);
    for (const listener of this.#listeners) listener(delta);
  }

  #keep(delta: Delta): void {
    if (delta.kind !== "text") return;
    const before = this.#saying.get(delta.worker_id);
    this.#saying.set(delta.worker_id, before ? { ...delta, text: before.text + delta.text } : delta);
  }

  /** The reply is on disk, or nothing of it will be used. */
  note(fact: Fact): void {
    if (ENDS.has(fact.type) && "worker_id" in fact.data) this.#saying.delete(fact.data.worker_id);
  }

  underWay(): Delta[] {
    return [...this.#saying.values()];
  }
}

const ENDS: ReadonlySet<string> = new Set([
  ...["model.responded", "model.failed", "worker.idle", "worker.stopped", "worker.retired"],
]);
