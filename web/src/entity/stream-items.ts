import {
  COORDINATOR,
  DEADLINE,
  type Fact,
  type FactOf,
  HUMAN,
  type PublishedFile,
} from "../../../src/protocol/index.ts";
import { gist, stageTitle } from "../text/figures.ts";

/** One row of an entity's stream. Replaced, never changed, so that a row is drawn again only when it is another. */
export type StreamItem = { key: string; seq: number; ts: number } & (
  | { kind: "message"; from: string; to: string; text: string; receipt: Receipt | null; isGoal: boolean }
  | { kind: "words"; worker_id: string }
  | { kind: "tool"; call_id: string; worker_id: string; tool: string; gist: string; result: ToolResult | null }
  | { kind: "question"; question: FactOf<"human.question">["data"]; answer: Answer | null; isOver: boolean }
  | { kind: "published"; node_id: string; worker_id: string; summary: string; files: readonly PublishedFile[] }
  | { kind: "result"; text: string; ok: boolean }
  | { kind: "line"; tone: Tone; text: string; who?: string; node?: string; worker?: string }
);
export type Receipt = "queued" | "seen" | "expired";
export type Tone = "plain" | "stage" | "bad" | "wait";
export type ToolResult = { ok: boolean; ms: number; gist: string };
export type Answer = { text: string; channel: string; ts: number };

/** Calls whose effect is in the stream by itself: a row of their own would say it twice. */
const TOLD_OTHERWISE = new Set([
  "send_message",
  "ask_human",
  "publish",
  "finish",
  "conclude",
  "spawn_worker",
  "reconvene",
]);

/**
 * The stream of one entity, folded from the facts as they come: a fact costs the same however long the stream is.
 */
export class EntityStream {
  readonly worker: string;
  items: StreamItem[] = [];
  #at = new Map<string, number>();
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
    this.#settle(fact);
    const item = itemOf(fact, this.worker);
    if (!item) return;
    // Words said aloud are in the same append as the reply they were said in.
    if (fact.type === "message.sent" && fact.data.aloud) {
      const spoken = this.items.findLastIndex(({ kind, ts }) => kind === "words" && ts === fact.ts);
      if (spoken >= 0)
        this.items[spoken] = { kind: "line", tone: "plain", text: "", ...stamp(fact, `quiet-${fact.seq}`) };
    }
    this.#at.set(item.key, this.items.length);
    this.items.push(item);
  }

  /** What a later fact says about an earlier row. */
  #settle(fact: Fact): void {
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

export function isShown(item: StreamItem): boolean {
  if (item.kind === "line") return item.text !== "";
  if (item.kind !== "tool") return true;
  return !TOLD_OTHERWISE.has(item.tool) || item.result?.ok === false;
}

function stamp({ seq, ts }: Fact, key = `fact-${seq}`) {
  return { key, seq, ts };
}

function itemOf(fact: Fact, worker: string): StreamItem | undefined {
  return talkOf(fact, worker) ?? workOf(fact, worker) ?? (worker === COORDINATOR ? newsOf(fact) : undefined);
}

function talkOf(fact: Fact, worker: string): StreamItem | undefined {
  switch (fact.type) {
    case "run.started": {
      if (worker !== COORDINATOR) return;
      const from = fact.data.trigger ? "agiraph" : HUMAN;
      return {
        kind: "message",
        from,
        to: COORDINATOR,
        text: fact.data.goal,
        receipt: null,
        isGoal: true,
        ...stamp(fact),
      };
    }
    case "message.sent": {
      const { message_id, from, to, reader = to, text } = fact.data;
      if (![from, to, reader].includes(worker) && to !== "*") return;
      return { kind: "message", from, to, text, receipt: "queued", isGoal: false, ...stamp(fact, message_id) };
    }
    case "human.question":
      if (fact.data.worker_id !== worker) return;
      return {
        kind: "question",
        question: fact.data,
        answer: null,
        isOver: false,
        ...stamp(fact, fact.data.question_id),
      };
    case "human.response":
      if (fact.data.worker_id !== worker || fact.data.channel !== DEADLINE) return;
      return line(fact, "wait", "Nobody answered in time; the default counts.");
    case "human.nudge":
      if (worker !== COORDINATOR) return;
      return {
        kind: "message",
        from: HUMAN,
        to: COORDINATOR,
        text: fact.data.text,
        receipt: null,
        isGoal: false,
        ...stamp(fact),
      };
    default:
      return;
  }
}

function workOf(fact: Fact, worker: string): StreamItem | undefined {
  if (!("worker_id" in fact.data) || fact.data.worker_id !== worker) return;
  switch (fact.type) {
    case "model.responded":
      return { kind: "words", worker_id: worker, ...stamp(fact) };
    case "tool.called": {
      const { call_id, tool, gist } = fact.data;
      return {
        kind: "tool",
        call_id,
        worker_id: worker,
        tool,
        gist: gist === "{}" ? "" : gist,
        result: null,
        ...stamp(fact, call_id),
      };
    }
    case "node.published": {
      const { node_id, summary, files } = fact.data;
      return { kind: "published", node_id, worker_id: worker, summary, files, ...stamp(fact) };
    }
    case "node.assigned":
      return line(fact, "plain", `took on ${fact.data.node_id}`, { node: fact.data.node_id });
    case "node.failed":
      return line(fact, "bad", `${fact.data.node_id} failed`, { node: fact.data.node_id });
    case "node.retried":
      return line(fact, "bad", `tries ${fact.data.node_id} once more: ${fact.data.error}`, { node: fact.data.node_id });
    case "model.failed": {
      const next = fact.data.retry_in_ms === null ? "gave up" : "trying again";
      return line(fact, "bad", `${fact.data.model}: ${fact.data.message} (${next})`);
    }
    case "worker.waiting":
      return fact.data.for === "rate_limit" || fact.data.for === "budget"
        ? line(
            fact,
            "wait",
            fact.data.for === "budget" ? "waits for room in the budget" : "waits for the rate limit to pass",
          )
        : undefined;
    case "memory.compacted":
      return line(fact, "plain", `summed up ${fact.data.entries} entries to make room`);
    case "suggestion.made":
      return line(fact, "plain", `suggests: ${fact.data.suggestion}`);
    case "insight.offered":
      return line(fact, "plain", `offers to memory: ${fact.data.title}`);
    case "worker.retired":
      return line(fact, "plain", "was retired");
    case "worker.checkpointed":
      return line(fact, "plain", `checkpoint: ${fact.data.summary}`);
    default:
      return;
  }
}

/** What the coordinator's stream tells beyond its own doing: how the run and the team fare. */
function newsOf(fact: Fact): StreamItem | undefined {
  switch (fact.type) {
    case "stage.started":
      return line(fact, "stage", stageTitle(fact.data.stage, fact.data.name));
    case "stage.reconvened":
      return line(fact, "stage", `Stage ${fact.data.stage} reconvened: ${fact.data.assessment}`);
    case "worker.spawned":
      return fact.data.worker_id === COORDINATOR
        ? undefined
        : line(fact, "plain", `${fact.data.name} joined (${fact.data.model})`, { worker: fact.data.worker_id });
    case "worker.retired":
      return line(fact, "plain", "was retired", {
        who: fact.data.worker_id,
        worker: fact.data.worker_id,
      });
    case "node.completed":
      return line(fact, "plain", `finished ${fact.data.node_id}: ${gist(fact.data.summary)}`, {
        who: fact.data.worker_id,
        node: fact.data.node_id,
      });
    case "node.failed":
      return line(fact, "bad", `could not finish ${fact.data.node_id}`, {
        who: fact.data.worker_id,
        node: fact.data.node_id,
      });
    case "suggestion.made":
      return line(fact, "plain", `suggests: ${fact.data.suggestion}`, {
        who: fact.data.worker_id,
        worker: fact.data.worker_id,
      });
    case "human.question":
      return line(fact, "wait", `asks you: ${gist(fact.data.text)}`, {
        who: fact.data.worker_id,
        worker: fact.data.worker_id,
      });
    case "agent.completed":
      return fact.data.summary === "HEARTBEAT_OK"
        ? undefined
        : { kind: "result", ok: true, text: fact.data.summary, ...stamp(fact) };
    case "agent.failed":
      return { kind: "result", ok: false, text: fact.data.error, ...stamp(fact) };
    case "agent.stopped":
      return line(fact, "wait", "Stopped. Write to go on.");
    case "agent.paused":
      return line(fact, "wait", fact.data.why && fact.data.why !== "human" ? `Paused: ${fact.data.why}` : "Paused");
    case "agent.resumed":
      return line(fact, "plain", "Goes on");
    case "budget.warned":
      return line(
        fact,
        "wait",
        fact.data.budget_tokens === undefined
          ? `Most of the budget is spent: $${fact.data.spent_usd.toFixed(2)} of $${fact.data.budget_usd?.toFixed(2)}`
          : `Most of the tokens are spent: ${fact.data.spent_tokens} of ${fact.data.budget_tokens}`,
      );
    case "budget.exceeded":
      return line(fact, "bad", "The budget is spent");
    case "trigger.created":
      return line(fact, "plain", `${fact.data.trigger_id} set: ${fact.data.when.type.replace("_", " ")}`);
    case "trigger.fired":
      return line(fact, "plain", `${fact.data.trigger_id} fired`);
    case "memory.written":
      return line(fact, "plain", `remembered in ${fact.data.path}`);
    default:
      return;
  }
}

function line(
  fact: Fact,
  tone: Tone,
  text: string,
  about: { who?: string; node?: string; worker?: string } = {},
): StreamItem {
  return { kind: "line", tone, text, ...about, ...stamp(fact) };
}
