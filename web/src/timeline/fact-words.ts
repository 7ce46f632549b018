import type { Fact } from "../../../src/protocol/index.ts";

/** A fact in one line: its type, and what is most worth knowing of it. */
export function factWords(fact: Fact): string {
  const what = fact.type.replace(".", " ");
  const said = gistOf(fact);
  return said ? `${what} · ${said}` : what;
}

function gistOf(fact: Fact): string {
  switch (fact.type) {
    case "tool.called":
      return `${fact.data.worker_id} ${fact.data.tool} ${fact.data.gist}`;
    case "tool.result":
      return `${fact.data.worker_id} ${fact.data.ok ? "✓" : "✗"} ${fact.data.tool}: ${fact.data.gist}`;
    case "message.sent":
      return `${fact.data.from} → ${fact.data.to}: ${fact.data.text}`;
    case "model.responded":
      return `${fact.data.worker_id}, ${fact.data.usage.input + fact.data.usage.output} tokens`;
    case "node.created":
      return `${fact.data.node_id}: ${fact.data.task}`;
    case "human.question":
      return `${fact.data.worker_id}: ${fact.data.text}`;
    default:
      return defaultGist(fact.data);
  }
}

const WORTH = ["summary", "text", "error", "goal", "name", "why", "path", "suggestion", "assessment", "for"];

function defaultGist(data: Readonly<Record<string, unknown>>): string {
  const who = [data.worker_id, data.node_id].filter((each) => typeof each === "string").join(" ");
  const told = WORTH.map((field) => data[field]).find((value) => typeof value === "string") ?? "";
  return [who, told].filter(Boolean).join(": ");
}
