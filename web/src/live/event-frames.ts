import type { Situation } from "../../../src/projections/index.ts";
import type { Fact } from "../../../src/protocol/index.ts";
import { tidyFact, tidySituation } from "./tidy.ts";

export type EventFrame =
  | { kind: "snapshot"; situation: Situation }
  | { kind: "fact"; fact: Fact }
  | { kind: "delta"; worker_id: string; of: "text" | "reasoning"; text: string };

/**
 * Parses what came over the wire; undefined for what this page does not know. The server is our own and has checked
 * what it sends, so only the envelope is checked: all schemas together would be larger than the page.
 */
export function eventFrameOf(value: unknown): EventFrame | undefined {
  if (!isRecord(value) || typeof value.type !== "string") return;
  if (value.type === "snapshot") {
    const { situation } = value;
    return isSituation(situation) ? { kind: "snapshot", situation: tidySituation(situation) } : undefined;
  }
  if (value.type === "delta" && "worker_id" in value && "text" in value) {
    const of = value.kind === "reasoning" ? "reasoning" : "text";
    return { kind: "delta", worker_id: String(value.worker_id), of, text: String(value.text) };
  }
  return isFact(value) ? { kind: "fact", fact: tidyFact(value) } : undefined;
}

export function isFact(value: unknown): value is Fact {
  return (
    isRecord(value) &&
    typeof value.type === "string" &&
    Number.isSafeInteger(value.seq) &&
    Number.isFinite(value.ts) &&
    isRecord(value.data)
  );
}

function isSituation(value: unknown): value is Situation {
  return isRecord(value) && Number.isSafeInteger(value.seq) && isRecord(value.agent) && isRecord(value.roster);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
