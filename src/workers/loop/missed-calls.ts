import type { ToolSpec } from "../../models/model.ts";
import { unmadeCall } from "../../models/unmade-call.ts";
import { type CallPart, callsOf, type ReplyEntry, textOf } from "../../protocol/index.ts";

/** What to tell a model that meant to call a tool and did not. `certain`: its reply cannot be just words. */
export interface MissedCall {
  words: string;
  certain: boolean;
}

/** The call that a reply without calls meant to make; undefined for words that are just words. */
export function missedCallIn(reply: ReplyEntry, tools: readonly ToolSpec[]): MissedCall | undefined {
  if (tools.length === 0) return undefined;
  if (reply.finish === "length") return { words: CUT_REPLY, certain: true };
  const meant = unmadeCall(textOf(reply), tools);
  if (meant === undefined) return undefined;
  const which = meant.tool === "" ? "a tool" : meant.tool;
  return {
    words: `Nothing was run: you wrote about calling ${which}, but made no call. ${RIGHT_FORM}`,
    certain: meant.certain,
  };
}

const RIGHT_FORM = "Make the call itself, in the form in which your tools are given to you.";
const CUT_REPLY =
  "Your reply was cut off at the output limit. Go on from there in smaller pieces: write long files in several calls.";

/** Why this call is not run: the reply ended in the middle of it. */
export function whyCutOff(call: CallPart, reply: ReplyEntry): string | undefined {
  if (reply.finish !== "length" || callsOf(reply).at(-1)?.id !== call.id) return undefined;
  return reply.content.at(-1)?.type === "call" ? CUT_CALL : undefined;
}

const CUT_CALL =
  "your reply was cut off at the output limit, and this call may be incomplete. Send it again in smaller pieces; write long files in several calls";

/** A longer text says more than a promise, an apology or a refusal. */
const SHORT = 600;
const PROMISE =
  /\b(?:I['’]ll|I will|I am going to|I['’]m going to|let me)\s+(?:(?:now|also|then|just|keep|get|go ahead and)\s+)*(?:continue|proceed|start|begin|work|go on|move on|look|check|get|try|finish|do)/i;
const SORRY = /\bI(?:['’]m| am)? (?:(?:so|very|truly|deeply) )?(?:sorry|apologi[sz]e)\b|\bapologies\b/i;
const REFUSAL =
  /\bI(?:['’]m| am) (?:unable|not able)\b|\bI (?:can['’]?t|cannot|won['’]t|will not) (?:help|assist|do|comply|provide|continue|create|answer|fulfil)/i;

/** Words that promise, apologise or decline: no goal is met by them, however often they are repeated. */
export function isNoAnswer(text: string): boolean {
  return text.length <= SHORT && [PROMISE, SORRY, REFUSAL].some((form) => form.test(text));
}
