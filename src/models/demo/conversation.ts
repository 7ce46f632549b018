import { type CallPart, callsOf, type Entry, type ReplyEntry, type ResultEntry, type UserEntry } from "../../protocol/index.ts";
import type { ModelRequest } from "../model.ts";

/** A call of ours and what came of it. */
export interface Exchange {
  call: CallPart;
  args: Readonly<Record<string, unknown>>;
  result: ResultEntry;
}

/** What was said and done since the present assignment began: all that the surveyor knows. */
export interface Conversation {
  /** What was asked. */
  task: string;
  /** Names this assignment, so that the ids of its calls are like no others. */
  label: string;
  exchanges: readonly Exchange[];
  /** How many calls were made, answered or not. */
  calls: number;
  replies: readonly ReplyEntry[];
  /** What others said after the task, oldest first. */
  heard: readonly UserEntry[];
  /** The part of it that came after our last reply. */
  news: readonly UserEntry[];
}

export function readConversation({ history, system }: Pick<ModelRequest, "history" | "system">): Conversation {
  const start = history.findLastIndex(beginsAssignment);
  const first = history[start];
  const since = history.slice(start + 1);
  const replies = since.filter((entry) => entry.role === "assistant");
  const lastReply = since.findLastIndex((entry) => entry.role === "assistant");
  const isHeard = (entry: Entry) => entry.role === "user";
  return {
    // A summary may hide the first words; the prompt still has them.
    task: first?.role === "user" ? first.content : taskInPrompt(system),
    label: (first?.role === "user" ? (first.node_id ?? first.run_id) : undefined) ?? "later",
    exchanges: exchangesIn(since),
    calls: replies.flatMap(callsOf).length,
    replies,
    heard: since.filter(isHeard),
    news: since.slice(lastReply + 1).filter(isHeard),
  };
}

/** The calls of one tool, with their results. */
export function madeTo(tool: string, { exchanges }: Conversation): Exchange[] {
  return exchanges.filter(({ call }) => call.name === tool);
}

function beginsAssignment(entry: Entry): boolean {
  return entry.role === "user" && (entry.node_id !== undefined || entry.run_id !== undefined);
}

function exchangesIn(entries: readonly Entry[]): Exchange[] {
  const results = new Map(entries.flatMap((entry) => (entry.role === "tool" ? [[entry.call_id, entry] as const] : [])));
  const calls = entries.flatMap((entry) => (entry.role === "assistant" ? callsOf(entry) : []));
  return calls.flatMap((call) => {
    const result = results.get(call.id);
    return result ? [{ call, args: argsOf(call), result }] : [];
  });
}

function argsOf({ args }: CallPart): Readonly<Record<string, unknown>> {
  return typeof args === "object" && args !== null ? { ...args } : {};
}

function taskInPrompt(system: string): string {
  const section = /^# (?:Your goal|Current assignment)\n+([\s\S]*?)(?:\n+---\n|$(?![\s\S]))/m.exec(system);
  return section?.[1]?.trim() ?? "";
}
