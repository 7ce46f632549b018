import type { ModelRequest } from "../models/model.ts";
import { type CallPart, callsOf, type Entry, type ReplyEntry, type ResultEntry } from "../protocol/index.ts";
import { isPostponed } from "./tool-text.ts";

/** A tool call of ours and its result. */
export interface Exchange {
  call: CallPart;
  args: Readonly<Record<string, unknown>>;
  result: ResultEntry;
  /** Where in the conversation the result stands. */
  at: number;
}

export interface HeardText {
  content: string;
  at: number;
}

/** What was said and done since the current assignment began: all that the surveyor knows. */
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
  heard: readonly HeardText[];
  /** The part of it that came after our last reply. */
  news: readonly HeardText[];
}

export function readConversation({ history, system }: Pick<ModelRequest, "history" | "system">): Conversation {
  const start = history.findLastIndex(beginsAssignment);
  const first = history[start];
  const since = history.slice(start + 1);
  const replies = since.filter((entry) => entry.role === "assistant");
  const lastReply = since.findLastIndex((entry) => entry.role === "assistant");
  const heard = since.flatMap((entry, at) => (entry.role === "user" ? [{ content: entry.content, at }] : []));
  return {
    // A summary may hide the first words, and says them again.
    task: first?.role === "user" ? first.content : (taskInSummary(history) ?? goalInPrompt(system)),
    label: (first?.role === "user" ? (first.node_id ?? first.run_id) : undefined) ?? messageLabel(heard) ?? "later",
    exchanges: exchangesIn(since),
    calls: replies.flatMap(callsOf).length,
    replies,
    heard,
    news: heard.filter(({ at }) => at > lastReply),
  };
}

/** In a mesh an assignment has the name of its letter. */
function messageLabel([first]: readonly HeardText[]): string | undefined {
  return /^\[tx\] \w+ (\S+?)(?:\.md)? /.exec(first?.content ?? "")?.[1];
}

/** The calls of one tool, with their results. */
export function madeTo(tool: string, { exchanges }: Conversation): Exchange[] {
  return exchanges.filter(({ call }) => call.name === tool);
}

function beginsAssignment(entry: Entry): boolean {
  return entry.role === "user" && (entry.node_id !== undefined || entry.run_id !== undefined);
}

/** A call that was postponed for a message is none: it was not made, so what it was for is still to be done. */
function exchangesIn(entries: readonly Entry[]): Exchange[] {
  const calls = new Map(
    entries.flatMap((entry) => (entry.role === "assistant" ? callsOf(entry) : [])).map((call) => [call.id, call]),
  );
  return entries.flatMap((result, at): Exchange[] => {
    const call = result.role === "tool" ? calls.get(result.call_id) : undefined;
    return result.role === "tool" && call && (result.ok || !isPostponed(result.content))
      ? [{ call, args: argsOf(call), result, at }]
      : [];
  });
}

function argsOf({ args }: CallPart): Readonly<Record<string, unknown>> {
  return typeof args === "object" && args !== null ? { ...args } : {};
}

function taskInSummary(history: readonly Entry[]): string | undefined {
  const summary = history.findLast((entry) => entry.role === "summary")?.content ?? "";
  return /^## Your assignment \(node-\d+\)\n+([\s\S]*?)(?:\n+## |$(?![\s\S]))/m.exec(summary)?.[1]?.trim();
}

function goalInPrompt(system: string): string {
  const section = /^# Your goal\n+([\s\S]*?)(?:\n+---\n|$(?![\s\S]))/m.exec(system);
  return (section?.[1] ?? "").trim();
}
