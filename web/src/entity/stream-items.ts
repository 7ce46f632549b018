import type { Fact, FactOf } from "../../../src/protocol/index.ts";
import { itemOf } from "./item-of-fact.ts";
import type { StreamItem } from "./stream-item.ts";

/** Calls whose effect has a row of its own: a row for the call would be a duplicate. */
const TOLD_OTHERWISE = new Set([
  "send_message",
  "ask_human",
  "publish",
  "finish",
  "conclude",
  "spawn_worker",
  "reconvene",
  "checkpoint",
  "suggest_next",
  "offer_insight",
  "accept_insight",
  "decline_insight",
  "schedule",
  "cancel_trigger",
]);

/**
 * The stream of one entity, folded from the facts as they come: a fact costs the same however long the stream is.
 */
export class EntityStream {
  readonly worker: string;
  items: StreamItem[] = [];
  #at = new Map<string, number>();
  /** The run that the facts at hand are of. */
  #run: string | null = null;
  /** What its coordinator named as the result. */
  #named: readonly string[] = [];
  #upTo = 0;
  #from = 0;

  constructor(worker: string) {
    this.worker = worker;
  }

  /** Takes what is new in a list of consecutive facts. Older facts before it, or another moment, begin it anew. */
  follow(facts: readonly Fact[]): StreamItem[] {
    const first = facts[0]?.seq ?? 0;
    const last = facts.at(-1)?.seq ?? 0;
    if (first !== this.#from || last < this.#upTo) {
      this.items = [];
      this.#at = new Map();
      this.#run = null;
      this.#named = [];
      this.#upTo = first - 1;
      this.#from = first;
    }
    if (last === this.#upTo) return this.items;
    const before = this.items.length;
    const kept = this.items;
    this.items = [...kept];
    for (const fact of facts.slice(this.#upTo - first + 1)) this.#take(fact);
    this.#upTo = last;
    if (this.items.length === before && this.items.every((item, index) => item === kept[index])) this.items = kept;
    return this.items;
  }

  #take(fact: Fact): void {
    this.#updateRows(fact);
    if (fact.type === "run.started" || fact.type === "run.finished") {
      this.#run = fact.data.run_id;
      this.#named = fact.type === "run.finished" ? namedIn(fact) : [];
    }
    const found = itemOf(fact, this.worker);
    if (!found) return;
    const item = found.kind === "result" ? { ...found, run_id: this.#run, files: this.#named } : found;
    // Words said aloud are in the same append as the reply they were said in: they stand where it stood.
    const isAloud = fact.type === "message.sent" && fact.data.aloud;
    const spoken = isAloud ? this.items.findLastIndex(({ kind, ts }) => kind === "words" && ts === fact.ts) : -1;
    const place = spoken >= 0 ? spoken : this.items.length;
    this.#at.set(item.key, place);
    this.items[place] = item;
  }

  /** What a later fact says about an earlier row. */
  #updateRows(fact: Fact): void {
    switch (fact.type) {
      case "tool.result":
        this.#change(fact.data.call_id, (item) =>
          item.kind === "tool"
            ? { ...item, result: { ok: fact.data.ok, ms: fact.data.ms, gist: fact.data.gist } }
            : item,
        );
        this.#endQuestions(
          (question) => question.call_id === fact.data.call_id && question.worker_id === fact.data.worker_id,
        );
        return;
      case "message.received":
      case "message.expired": {
        const receipt = fact.type === "message.received" ? "seen" : "expired";
        this.#change(fact.data.message_id, (item) => (item.kind === "message" ? { ...item, receipt } : item));
        return;
      }
      // Its call ends without an answer: the question is not over with it.
      case "question.deferred":
        this.#change(fact.data.question_id, (item) =>
          item.kind === "question" ? { ...item, question: { ...item.question, call_id: "" } } : item,
        );
        return;
      case "human.response": {
        const { text, channel } = fact.data;
        const answer = { text, channel, ts: fact.ts };
        this.#change(fact.data.question_id, (item) => (item.kind === "question" ? { ...item, answer } : item));
        return;
      }
      case "run.finished":
        this.#endQuestions(() => true);
        return;
      case "node.failed":
      case "node.completed":
      case "node.cancelled":
        this.#endQuestions((question) => question.node_id === fact.data.node_id);
        return;
    }
  }

  #endQuestions(isOver: (question: FactOf<"human.question">["data"]) => boolean): void {
    this.items.forEach((item, index) => {
      if (item.kind === "question" && !item.isOver && isOver(item.question))
        this.items[index] = { ...item, isOver: true };
    });
  }

  #change(key: string, next: (item: StreamItem) => StreamItem): void {
    const index = this.#at.get(key);
    const item = index === undefined ? undefined : this.items[index];
    if (index !== undefined && item) this.items[index] = next(item);
  }
}

function namedIn({ data }: FactOf<"run.finished">): readonly string[] {
  return data.outcome.kind === "finished" ? (data.outcome.files ?? []) : [];
}

export function isShown(item: StreamItem): boolean {
  if (item.kind !== "tool") return true;
  return !TOLD_OTHERWISE.has(item.tool) || item.result?.ok === false;
}
