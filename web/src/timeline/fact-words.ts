import type { Fact, FactOf } from "../../../src/protocol/index.ts";
import { amount, gist } from "../text/figures.ts";

/** What happened, in one line; `name` says how somebody is called. */
export function factWords(fact: Fact, name: (id: string) => string): string {
  switch (fact.type) {
    case "tool.called":
      return `${name(fact.data.worker_id)} calls ${fact.data.tool} ${fact.data.gist}`;
    case "tool.result":
      return `${name(fact.data.worker_id)}: ${fact.data.tool} ${fact.data.ok ? "✓" : "✗"} ${fact.data.gist}`;
    case "model.called":
      return `${name(fact.data.worker_id)} thinks, turn ${fact.data.turn}`;
    case "model.responded":
      if (fact.data.correction) return `${name(fact.data.worker_id)}: the cost so far is corrected`;
      return `${name(fact.data.worker_id)} replied, ${amount(fact.data.usage.input + fact.data.usage.output)} tokens`;
    case "message.sent":
      return `${name(fact.data.from)} to ${fact.data.to === "*" ? "everyone" : name(fact.data.to)}: ${gist(fact.data.text)}`;
    case "message.received":
      return `${name(fact.data.by)} read ${fact.data.message_id}`;
    case "human.question":
      return `${name(fact.data.worker_id)} asks you: ${gist(fact.data.text)}`;
    case "human.response":
      return `${name(fact.data.worker_id)} is answered: ${gist(fact.data.text)}`;
    case "worker.spawned":
      return `${fact.data.name} joined (${fact.data.model})`;
    case "worker.busy":
      return `${name(fact.data.worker_id)} is at work${fact.data.node_id ? ` on ${fact.data.node_id}` : ""}`;
    case "worker.waiting":
      return `${name(fact.data.worker_id)} waits for ${WAITED_FOR[fact.data.for]}`;
    case "worker.idle":
      return `${name(fact.data.worker_id)} is free`;
    case "node.created":
      return `${name(fact.data.created_by)} made ${fact.data.node_id}: ${gist(fact.data.task)}`;
    case "node.assigned":
      return `${fact.data.node_id} goes to ${name(fact.data.worker_id)}`;
    case "node.reserved":
      return `${fact.data.node_id} is kept for ${name(fact.data.worker_id)}`;
    case "node.started":
      return `${name(fact.data.worker_id)} begins ${fact.data.node_id}`;
    case "node.published":
      return `${name(fact.data.worker_id)} published ${fact.data.node_id}: ${gist(fact.data.summary)}`;
    case "node.completed":
      return `${fact.data.node_id} is done`;
    case "node.failed":
      return `${fact.data.node_id} failed: ${outcomeWords(fact.data.outcome)}`;
    case "run.finished":
      return `${fact.data.run_id} ended: ${outcomeWords(fact.data.outcome)}`;
    default:
      return otherWords(fact.data, name);
  }
}

const WAITED_FOR: Record<FactOf<"worker.waiting">["data"]["for"], string> = {
  human: "you",
  news: "news",
  rate_limit: "the rate limit",
  children: "the nodes below",
  budget: "room in the budget",
};

export function outcomeWords(outcome: FactOf<"node.failed">["data"]["outcome"]): string {
  return "error" in outcome ? gist(outcome.error) : outcome.kind.replaceAll("_", " ");
}

/** What is most worth knowing of the rest, by the names of its fields. */
const WORTH = [
  "summary",
  "text",
  "error",
  "goal",
  "name",
  "why",
  "path",
  "suggestion",
  "assessment",
  "message",
  "title",
];
const WHOSE = ["worker_id", "by", "node_id", "run_id", "trigger_id", "insight_id", "channel"];

function otherWords(data: Readonly<Record<string, unknown>>, name: (id: string) => string): string {
  const ids = WHOSE.flatMap((field) => (typeof data[field] === "string" ? [name(data[field])] : []));
  const told = WORTH.map((field) => data[field]).find((value) => typeof value === "string") ?? "";
  return [ids.slice(0, 2).join(", "), gist(String(told))].filter(Boolean).join(": ");
}
