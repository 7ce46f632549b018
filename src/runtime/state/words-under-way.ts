import type { Fact } from "../../protocol/index.ts";
import type { Delta } from "../../workers/loop/recorded-loop.ts";

/** What was streamed of unfinished replies: for clients that begin to watch in the middle of one. */
export class WordsUnderWay {
  readonly #saying = new Map<string, Delta>();

  hear(delta: Delta): void {
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
