import type { Model, ModelRequest } from "../models/model.ts";
import { NO_USAGE, type Part, type ReplyEntry } from "../protocol/index.ts";
import { type Conversation, readConversation } from "./conversation.ts";
import { coordinatorMove } from "./coordinator.ts";
import { cut, escaped } from "./markdown.ts";
import { meshMove } from "./mesh-member.ts";
import { act, HOW_TO_GET_A_MODEL, type Move } from "./move.ts";
import { SURVEYOR } from "./survey.ts";
import { humanMessagesIn } from "./tool-text.ts";
import { workerMove } from "./worker.ts";

/**
 * A rule-based stand-in for a model: it surveys files through the same loop, tools and board as any model, so that the
 * program can be tried without a key.
 *
 * DEMO-SURVEY-1. It is stateless: the next step is decided from the request alone, so it can be killed and resumed
 *     anywhere.
 * DEMO-SURVEY-2. The same request gets the same reply, including call ids.
 * DEMO-SURVEY-3. It never pretends: every reply says that it is the demo, and everything it reports is counted or
 *     quoted.
 * DEMO-SURVEY-4. A goal that is not a survey is refused, with what it can do and how to get a model that can do more.
 *     Of a goal that is a survey only in part, the report and the summary first say what is not done.
 */
export function createSurveyor(): Model {
  return {
    id: SURVEYOR,
    // It has no context to fill; a summary would only hide from it what it has read.
    contextWindow: 1_000_000_000,
    searchesWeb: false,
    async reply(request, signal) {
      signal.throwIfAborted();
      const conversation = readConversation(request);
      const { words, calls } = moveFor(request, conversation);
      const text = `${opening(conversation)}${words}`;
      for (const piece of pieces(text)) request.onDelta?.({ kind: "text", text: piece });
      const parts = calls.map(
        ({ name, args }, at): Part => ({ type: "call", id: callId(conversation, at), name, args }),
      );
      return replyOf([{ type: "text", text }, ...parts], calls.length > 0);
    },
  };
}

function moveFor({ tools }: ModelRequest, conversation: Conversation): Move {
  const names = new Set(tools.map(({ name }) => name));
  if (names.has("publish")) return workerMove(conversation);
  if (names.has("finish") || names.has("create_work_node")) return coordinatorMove(conversation, names);
  if (names.has("tx_done")) return meshMove(conversation);
  return act(`Without tools there is nothing that I could do: I survey files, and cannot think. ${HOW_TO_GET_A_MODEL}`);
}

/** The first time at length, later in a word; and an honest answer to anyone who writes to it. */
function opening({ replies, news }: Conversation): string {
  const written = news.flatMap(({ content }) => humanMessagesIn(content)).map((text) => `“${escaped(cut(text, 80))}”`);
  const answer =
    written.length > 0
      ? `You wrote ${written.join(" and ")}; I read it, but I am rules only and cannot act on it. `
      : "";
  const hello = replies.length === 0 ? `I am ${SURVEYOR}, the built-in demo: rules, no language model. ` : "";
  return `[demo] ${hello}${answer}`;
}

function callId({ label, calls }: Conversation, at: number): string {
  return `demo-${label}-${calls + at + 1}`;
}

const PIECE = 48;

/** A few words at a time, as they would come from afar. */
function pieces(text: string): string[] {
  return text.match(new RegExp(`[\\s\\S]{1,${PIECE}}(?:\\s|$)|[\\s\\S]{1,${PIECE}}`, "gu")) ?? [];
}

function replyOf(content: Part[], calls: boolean): ReplyEntry {
  return {
    role: "assistant",
    content,
    model: SURVEYOR,
    usage: { ...NO_USAGE },
    cost_usd: 0,
    finish: calls ? "tool-calls" : "stop",
  };
}
