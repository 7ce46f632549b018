import type { FactOf, PublishedFile } from "../../../src/protocol/index.ts";

/** One row of an entity's stream. Replaced, never mutated, so that a row is redrawn only when it changes. */
export type StreamItem = { key: string; seq: number; ts: number } & (
  | { kind: "message"; from: string; to: string; text: string; receipt: Receipt | null; is: "goal" | "hint" | null }
  | { kind: "words"; worker_id: string }
  | { kind: "tool"; call_id: string; worker_id: string; tool: string; gist: string; result: ToolResult | null }
  | { kind: "question"; question: FactOf<"human.question">["data"]; answer: Answer | null; isOver: boolean }
  | { kind: "published"; node_id: string; worker_id: string; summary: string; files: readonly PublishedFile[] }
  | { kind: "result"; text: string; ok: boolean; run_id: string | null; files: readonly string[] }
  | ({ kind: "line"; tone: RowTone; text: string } & LineSubject)
);
/** What a line is about, and so where it leads. */
export interface LineSubject {
  who?: string;
  node?: string;
  worker?: string;
  isMemory?: true;
  isLater?: true;
}
export type Receipt = "queued" | "seen" | "expired";
export type RowTone = "plain" | "stage" | "bad" | "wait";
export type ToolResult = { ok: boolean; ms: number; gist: string };
export type Answer = { text: string; channel: string; ts: number };
