import type { Situation } from "../../../src/projections/index.ts";
import type { Fact } from "../../../src/protocol/index.ts";

export type Frame =
  | { kind: "snapshot"; situation: Situation }
  | { kind: "fact"; fact: Fact }
  | { kind: "delta"; worker_id: string; of: "text" | "reasoning"; text: string };

/**
 * What came over the wire, or nothing for what this page does not know. The server is our own and has checked what it
 * sends, so only the envelope is looked at: all schemas would weigh more than the page.
 */
export function frameOf(value: unknown): Frame | undefined {
  if (typeof value !== "object" || value === null || !("type" in value) || typeof value.type !== "string") return;
  if (value.type === "snapshot" && "situation" in value) {
    return { kind: "snapshot", situation: value.situation as Situation };
  }
  if (value.type === "delta" && "worker_id" in value && "text" in value) {
    const of = "kind" in value && value.kind === "reasoning" ? "reasoning" : "text";
    return { kind: "delta", worker_id: String(value.worker_id), of, text: String(value.text) };
  }
  if ("seq" in value && Number.isSafeInteger(value.seq) && "data" in value) {
    return { kind: "fact", fact: value as Fact };
  }
  return undefined;
}
