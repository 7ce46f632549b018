import type { Fact, FactOf, WorkerId } from "../protocol/index.ts";
import { outcomeWords } from "./fact-line.ts";
import { milliseconds, money } from "./format.ts";
import { Speech } from "./speech.ts";
import { headline, plain, plainLines } from "./width.ts";

/** One line of what a person sees happen: who, with which mark, what. */
export interface StoryLine {
  who: string;
  mark: "says" | "done" | "failed" | "begins" | "new" | "warning";
  text: string;
}

/** Tells what a team does as it happens: what is said, each tool call with how it ended, work made and done, its cost. */
export class Story {
  readonly #speech = new Speech();
  /** What each call is about, until its result says how it went. */
  readonly #calls = new Map<string, string>();
  readonly #costs = new Map<string, number>();

  hear(delta: { worker_id: WorkerId; kind: "text" | "reasoning"; text: string }): StoryLine[] {
    if (delta.kind === "reasoning") return [];
    return said(delta.worker_id, this.#speech.hear(delta.worker_id, delta.text));
  }

  tell(fact: Fact): StoryLine[] {
    // The words of a try that failed come again with the next one.
    if (fact.type === "model.failed") this.#speech.pause(fact.data.worker_id);
    switch (fact.type) {
      case "model.responded":
        this.#count(fact);
        return said(fact.data.worker_id, this.#speech.pause(fact.data.worker_id));
      case "tool.called":
        this.#calls.set(fact.data.call_id, fact.data.gist);
        return [];
      case "tool.result":
        return [this.#toolLine(fact)];
      case "node.created":
        return [line(fact.data.node_id, "new", headline(fact.data.task))];
      case "node.started":
        return [line(fact.data.node_id, "begins", fact.data.worker_id)];
      case "node.completed":
        return [
          line(
            fact.data.node_id,
            "done",
            `${fact.data.worker_id}: ${headline(fact.data.summary)}${this.#costOf(fact.data.node_id)}`,
          ),
        ];
      case "node.failed":
        return [
          line(
            fact.data.node_id,
            "failed",
            `${fact.data.worker_id}: ${headline(outcomeWords(fact.data.outcome))}${this.#costOf(fact.data.node_id)}`,
          ),
        ];
      default:
        return asideOf(fact);
    }
  }

  /** Nothing more will come: what was said last, finished or not. */
  end(workers: Iterable<WorkerId>): StoryLine[] {
    return [...workers].flatMap((id) => said(id, this.#speech.pause(id)));
  }

  #toolLine({ data }: FactOf<"tool.result">): StoryLine {
    const about = `${data.tool} ${this.#calls.get(data.call_id) ?? ""}`.trimEnd();
    this.#calls.delete(data.call_id);
    const ending = data.ok ? `  ${milliseconds(data.ms)}` : ` — ${data.gist}`;
    return line(data.worker_id, data.ok ? "done" : "failed", `${plain(about)}${ending}`);
  }

  #count({ data }: FactOf<"model.responded">): void {
    if (data.node_id === null || data.cost_usd === null) return;
    this.#costs.set(data.node_id, (this.#costs.get(data.node_id) ?? 0) + data.cost_usd);
  }

  #costOf(node: string): string {
    const cost = this.#costs.get(node) ?? 0;
    return cost > 0 ? ` (${money(cost)})` : "";
  }
}

/** What goes wrong or changes beside the work itself. */
function asideOf(fact: Fact): StoryLine[] {
  switch (fact.type) {
    case "message.sent":
      return [line(fact.data.from, "says", `→ ${fact.data.to}: ${fact.data.text}`)];
    case "model.failed": {
      const { retry_in_ms, reason, message } = fact.data;
      const next = retry_in_ms === null ? "" : `; tries again in ${milliseconds(retry_in_ms)}`;
      return [
        line(
          fact.data.worker_id,
          retry_in_ms === null ? "failed" : "warning",
          `${fact.data.model} (${reason}): ${message}${next}`,
        ),
      ];
    }
    case "model.warned":
      return [line(fact.data.worker_id, "warning", fact.data.message)];
    case "worker.waiting":
      return fact.data.for === "news"
        ? []
        : [line(fact.data.worker_id, "warning", `waits for ${fact.data.for === "human" ? "you" : "the rate limit"}`)];
    case "budget.warned":
      return [line("budget", "warning", `${money(fact.data.spent_usd)} of ${money(fact.data.budget_usd)} is spent`)];
    case "budget.exceeded":
      return [
        line(
          "budget",
          "failed",
          `${money(fact.data.spent_usd)} of ${money(fact.data.budget_usd)} is spent; no more model calls`,
        ),
      ];
    case "log.repaired":
      return [line("repair", "warning", `${fact.data.file}: ${fact.data.what}`)];
    default:
      return [];
  }
}

function said(who: WorkerId, lines: string[]): StoryLine[] {
  return lines.map((text) => line(who, "says", text)).filter(({ text }) => text !== "");
}

function line(who: string, mark: StoryLine["mark"], text: string): StoryLine {
  // Indentation tells something in what is said; elsewhere it is only noise.
  return { who, mark, text: mark === "says" ? plainLines(text).join(" ").trimEnd() : plain(text) };
}
