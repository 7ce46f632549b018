import type { FailureReason } from "../models/model.ts";
import type { Usage } from "../protocol/index.ts";

/** What one reply of a scripted model says, does and costs. Steps are values: every method gives a new one. */
export class ScriptStep {
  readonly move: ScriptMove;
  readonly condition: ScriptStepCondition;

  constructor(move: ScriptMove, condition: ScriptStepCondition = { heard: [], ready: undefined }) {
    this.move = move;
    this.condition = condition;
  }

  /** Keeps the model silent until it has heard all these words, wherever in the conversation. */
  after(...words: string[]): ScriptStep {
    return new ScriptStep(this.move, { ...this.condition, heard: [...this.condition.heard, ...words] });
  }

  /** Keeps the model thinking until the promise resolves or the signal aborts. */
  until(ready: Promise<unknown>): ScriptStep {
    return new ScriptStep(this.move, { ...this.condition, ready });
  }

  /** What the reply took, so that budgets and compaction can be tested, and what the model thought before it. */
  with(details: ReplyDetails): ScriptStep {
    if (this.move.kind === "fail")
      throw new Error("A failure has no usage, no cost and no thoughts: put .with() on a reply.");
    return new ScriptStep({ ...this.move, details: { ...this.move.details, ...details } }, this.condition);
  }

  /** One line for a message to the test's author. */
  describe(): string {
    const { heard } = this.condition;
    return `${describeMove(this.move)}${heard.length === 0 ? "" : `.after(${heard.map(quote).join(", ")})`}`;
  }
}

/** The model calls a tool. */
export function call(name: string, args: unknown = {}): ScriptStep {
  return new ScriptStep({ kind: "reply", text: "", calls: [{ name, args }], details: {} });
}

/** The model says something and calls nothing. */
export function say(text: string): ScriptStep {
  return new ScriptStep({ kind: "reply", text, calls: [], details: {} });
}

/** One reply that holds everything the given steps say and call: `both(say("Two at once."), call("a"), call("b"))`. */
export function both(...steps: (ScriptStep | string)[]): ScriptStep {
  const moves = steps.map((step) => (typeof step === "string" ? say(step).move : step.move));
  const replies = moves.filter((move) => move.kind === "reply");
  if (replies.length < moves.length) throw new Error("both() joins say and call; a failure stands alone.");
  return new ScriptStep({
    kind: "reply",
    text: replies.map((move) => move.text).join(""),
    calls: replies.flatMap((move) => move.calls),
    details: Object.assign({}, ...replies.map((move) => move.details)),
  });
}

/** The model call fails, as it does when a provider gave up on it. */
export function fail(reason: FailureReason, details: FailureDetails = {}): ScriptStep {
  return new ScriptStep({ kind: "fail", reason, details });
}

/** The model thinks until it is stopped. */
export function hang(): ScriptStep {
  return say("").until(new Promise(() => {}));
}

export type ScriptMove =
  | { kind: "reply"; text: string; calls: readonly { name: string; args: unknown }[]; details: ReplyDetails }
  | { kind: "fail"; reason: FailureReason; details: FailureDetails };

export interface ScriptStepCondition {
  readonly heard: readonly string[];
  readonly ready: Promise<unknown> | undefined;
}

export interface ReplyDetails {
  usage?: Partial<Usage>;
  cost_usd?: number | null;
  thinking?: string;
  /** `stop` or `tool-calls` unless said otherwise. */
  finish?: string;
}

export interface FailureDetails {
  message?: string;
  status?: number;
  retryAfterMs?: number;
  /**
   * The attempt failed and the model tries again after so long by itself: listeners hear of it (`onFailure`), and the
   * next step follows in the same reply. Nobody waits. Without it the failure is the last and the reply rejects.
   */
  retriedInMs?: number;
}

function describeMove(move: ScriptMove): string {
  if (move.kind === "fail") return `fail(${quote(move.reason)})`;
  const said = move.text === "" ? [] : [`say(${quote(shorten(move.text))})`];
  const parts = [
    ...said,
    ...move.calls.map(({ name, args }) => `call(${quote(name)}, ${shorten(JSON.stringify(args) ?? "")})`),
  ];
  return parts.length === 1 ? `${parts[0]}` : `both(${parts.join(", ")})`;
}

function quote(text: string): string {
  return JSON.stringify(text);
}

function shorten(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`;
}
