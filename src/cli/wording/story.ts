import type { Roster } from "../../projections/index.ts";
import { AGIRAPH, type Fact, type FactOf, HUMAN, type WorkerId } from "../../protocol/index.ts";
import { lineOf, predicateOf, type Sentence, type Style } from "../../wording/sentence.ts";
import { sentenceOf } from "../../wording/sentence-of.ts";
import { milliseconds, money, timestamp } from "./format.ts";
import { displayName } from "./names.ts";
import { askerName, questionText } from "./question-text.ts";
import { openedLines } from "./repository-lines.ts";
import { SpokenLines } from "./spoken-lines.ts";
import { isTold } from "./stage-title.ts";
import { line, type StoryLine } from "./story-line.ts";
import { headline, plain, plainLines } from "./width.ts";

export type { StoryLine } from "./story-line.ts";

/** The effect of these tools is a fact of its own, which is shown; the call itself is shown only if it fails. */
const TOLD_BY_FACTS = new Set([
  "create_work_node",
  "publish",
  "checkpoint",
  "send_message",
  "ask_human",
  "suggest_next",
  "spawn_worker",
  "launch_roles",
  "reconvene",
  "finish",
  "conclude",
  "schedule",
  "cancel_trigger",
  "cancel_node",
  "update_node",
  "give_up",
  "offer_insight",
  "accept_insight",
  "decline_insight",
  "memory_write",
]);

/**
 * Shows what a team does as it happens: messages, each tool call with its outcome, work created and completed, the
 * cost.
 */
export class Story {
  readonly #roster: () => Roster;
  readonly #speech = new SpokenLines();
  /** What each call is about, until its result says how it went. */
  readonly #calls = new Map<string, string>();
  readonly #costs = new Map<string, number>();
  /** What everyone in the team comes upon, at every call; a person needs to hear it once. */
  readonly #heard = new Set<string>();
  readonly #style: Style;

  constructor(roster: () => Roster) {
    this.#roster = roster;
    this.#style = { name: (id) => displayName(this.#roster(), id), time: timestamp };
  }

  hear(delta: { worker_id: WorkerId; kind: "text" | "reasoning"; text: string }): StoryLine[] {
    if (delta.kind === "reasoning") return [];
    return this.#said(delta.worker_id, this.#speech.hear(delta.worker_id, delta.text));
  }

  tell(fact: Fact): StoryLine[] {
    switch (fact.type) {
      case "model.responded":
        this.#count(fact);
        return this.#said(fact.data.worker_id, this.#speech.pause(fact.data.worker_id));
      case "model.failed":
        return [...this.#brokenOff(fact.data.worker_id), ...this.#told(fact)];
      case "tool.called":
        this.#calls.set(fact.data.call_id, fact.data.gist === "{}" ? "" : fact.data.gist);
        return [];
      case "tool.result":
        return this.#toolLines(fact);
      case "budget.set":
        for (const type of ["budget.warned", "budget.exceeded"]) this.#heard.delete(type);
        return [];
      case "budget.warned":
      case "budget.exceeded":
        return this.#once(fact.type) ? this.#told(fact) : [];
      case "model.warned":
        return this.#once(`${fact.data.model}: ${fact.data.message}`) ? this.#told(fact) : [];
      case "repository.opened":
        return openedLines(fact.data).map((text, at) =>
          line(at === 0 ? "repository" : "", at === 0 ? "says" : "to_you", text),
        );
      // It keeps nothing out, so nobody else would say that it is of no use.
      case "check.finished":
        return fact.data.red_before && this.#once(`red before: ${fact.data.command}`) ? this.#told(fact) : [];
      case "human.question":
        return spread(askerName(this.#style.name, fact.data), "asks", questionText(fact.data));
      default:
        return isNews(fact) ? this.#told(fact) : [];
    }
  }

  #told(fact: Fact): StoryLine[] {
    const sentence = sentenceOf(fact, this.#style);
    if (!sentence) return [];
    const cost = ENDS.has(fact.type) && sentence.node !== undefined ? this.#costOf(sentence.node) : "";
    return linesOf(sentence, this.#style, cost);
  }

  #once(words: string): boolean {
    const isNew = !this.#heard.has(words);
    this.#heard.add(words);
    return isNew;
  }

  /** Nothing more will come: what was said last, finished or not. */
  end(workers: Iterable<WorkerId>): StoryLine[] {
    return [...workers].flatMap((id) => this.#said(id, this.#speech.pause(id)));
  }

  #said(id: WorkerId, lines: string[]): StoryLine[] {
    const who = displayName(this.#roster(), id);
    return lines.map((text) => line(who, "says", text)).filter(({ text }) => text !== "");
  }

  /** Nothing of it is used, and what is said next begins anew. */
  #brokenOff(id: WorkerId): StoryLine[] {
    return this.#said(
      id,
      this.#speech.pause(id).map((text) => `${text} … (broke off)`),
    );
  }

  #toolLines({ data }: FactOf<"tool.result">): StoryLine[] {
    const about = `${data.tool} ${this.#calls.get(data.call_id) ?? ""}`.trimEnd();
    this.#calls.delete(data.call_id);
    if (data.ok && TOLD_BY_FACTS.has(data.tool)) return [];
    const ending = data.ok ? `  ${milliseconds(data.ms)}` : ` — ${data.gist}`;
    return [line(this.#style.name(data.worker_id), data.ok ? "done" : "failed", `${plain(about)}${ending}`)];
  }

  #count({ data }: FactOf<"model.responded">): void {
    if (data.node_id === null || data.cost_usd === null) return;
    this.#costs.set(data.node_id, (this.#costs.get(data.node_id) ?? 0) + data.cost_usd);
  }

  #costOf(node: string): string {
    const cost = this.#costs.get(node) ?? 0;
    return cost > 0 ? ` (${money(cost)})` : "";
  }
}

const ENDS = new Set<Fact["type"]>(["node.completed", "node.failed", "node.cancelled"]);

/** What a person who looks on wants to know; the log has everything. */
function isNews(fact: Fact): boolean {
  switch (fact.type) {
    case "run.started":
      // The first goal is the one that was just given.
      return fact.data.run_id !== "run-1";
    case "stage.started":
      return isTold({ number: fact.data.stage, name: fact.data.name });
    case "worker.spawned":
      // Those who are hired because work waits are seen with their work.
      return Boolean(fact.data.identity);
    case "worker.waiting":
      // Waiting for each other is the usual thing, and the tree shows it; for a person it is their question that shows.
      return fact.data.for === "rate_limit" || fact.data.for === "budget";
    case "message.sent":
      // Said aloud is heard already.
      return !fact.data.aloud;
    case "trigger.created":
      return fact.data.created_by !== AGIRAPH;
    case "trigger.looked":
    case "trigger.done":
      return fact.data.problem !== undefined;
    case "memory.written":
      return fact.data.by !== AGIRAPH;
    case "channel.delayed":
      // Once is enough to know of; `logs` has the others.
      return fact.data.attempts === 1;
    case "setup.finished":
      return !fact.data.ok;
    case "branch.moved":
      // That a node's work came in is told by its end.
      return fact.data.why !== "node";
    default:
      return NEWS.has(fact.type);
  }
}

const NEWS = new Set<Fact["type"]>([
  ...(["stage.reconvened", "node.created", "node.started", "node.released", "node.updated", "node.reopened"] as const),
  ...(["node.retried", "node.completed", "node.failed", "node.cancelled"] as const),
  ...(["worker.briefed", "worker.retired", "worker.checkpointed", "suggestion.made"] as const),
  ...(["human.response", "human.nudge", "mcp.changed", "mcp.failed", "goal.set", "goal.refused", "model.set"] as const),
  ...(["trigger.fired", "trigger.rescheduled", "trigger.paused", "trigger.resumed", "trigger.cancelled"] as const),
  ...(["trigger.expired", "memory.compacted", "insight.offered", "insight.accepted", "insight.declined"] as const),
  ...(["merge.refused", "branch.delivered", "review.rejected"] as const),
  ...(["channel.opened", "channel.closed", "channel.delivered", "channel.failed", "log.repaired"] as const),
]);

function linesOf(sentence: Sentence, { name }: Style, cost: string): StoryLine[] {
  const { text = "", isWhole, next, tone, to } = sentence;
  const subject = plain(sentence.subject);
  const mark = tone === "plain" ? "begins" : tone;
  if (to !== undefined && tone === "to_you") return spread(subject, mark, plainLines(text));
  // What you say to a node of your own you say to us, who asked.
  const reader = to === HUMAN && sentence.who === HUMAN ? "Agiraph" : to && name(to);
  if (reader !== undefined) return [line(subject, mark, `${reader}: ${text}`)];
  const shown = isWhole ? text : headline(text);
  const { node, does } = sentence;
  if (node !== undefined) return [line(node, mark, `${lineOf(clauseOn(node, sentence), shown, next)}${cost}`)];
  return [line(subject, mark, lineOf(MARKED[tone] === does ? "" : predicateOf(sentence), shown, next))];
}

/** A node has its own column: `Alice`, where the mark says that she begins it, and `Alice tries it again`. */
function clauseOn(node: string, sentence: Sentence): string {
  const { subject, who, does, tone } = sentence;
  if (does === `created ${node}`) return "";
  if (does === `${MARKED[tone]} ${node}`) return subject;
  const words = predicateOf(sentence).replace(node, "it");
  return who === undefined ? words : `${subject} ${words}`;
}

/** What the mark before it says already. */
const MARKED: Partial<Record<Sentence["tone"], string>> = {
  begins: "begins",
  stage: "begins",
  done: "finished",
  failed: "could not finish",
};

/** What is for a person is shown as it was written, line by line. */
function spread(who: string, mark: StoryLine["mark"], lines: string[]): StoryLine[] {
  return lines.filter((text) => text.trim() !== "").map((text, at) => ({ who: at === 0 ? who : "", mark, text }));
}
