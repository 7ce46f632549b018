import type { DeltaFrame } from "../protocol/api/events.ts";
import type { Fact } from "../protocol/index.ts";

/** Passes on each word of a team once, even if a connection was lost in the middle of a reply. */
export class HeardWords {
  readonly #heard = new Map<string, string>();

  /** What of these words is new. */
  hear({ worker_id, kind, text, so_far }: DeltaFrame): string {
    if (kind !== "text") return so_far ? "" : text;
    const before = this.#heard.get(worker_id) ?? "";
    this.#heard.set(worker_id, so_far ? text : before + text);
    if (!so_far) return text;
    if (text.startsWith(before)) return text.slice(before.length);
    // It began again while nobody was connected: all of it, on a line of its own.
    return before.startsWith(text) ? "" : `\n${text}`;
  }

  /** The reply has ended, or nothing of it is used: the next words begin another. */
  note(fact: Fact): void {
    if (fact.type === "model.responded" || fact.type === "model.failed") this.#heard.delete(fact.data.worker_id);
  }
}
