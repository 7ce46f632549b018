import { COORDINATOR, DEADLINE, type Fact, HUMAN } from "../../../src/protocol/index.ts";
import { MODELS } from "../../../src/wording/model-sentences.ts";
import {
  clauseOf,
  lineOf,
  predicateOf,
  type Sentence,
  type Tone as SentenceTone,
  type Style,
} from "../../../src/wording/sentence.ts";
import { TEAM } from "../../../src/wording/team-sentences.ts";
import { TRIGGERS } from "../../../src/wording/trigger-sentences.ts";
import { WORK } from "../../../src/wording/work-sentences.ts";
import { clockTime, gist, stageTitle } from "../text/figures.ts";
import { visible, visibleLines } from "../text/visible.ts";
import type { LineSubject, RowTone, StreamItem } from "./stream-item.ts";

type LineItem = Extract<StreamItem, { kind: "line" }>;

/** The row for a fact in an entity's stream, if it has one. */
export function itemOf(fact: Fact, worker: string): StreamItem | undefined {
  return (
    talkOf(fact, worker) ??
    workOf(fact, worker) ??
    (worker === COORDINATOR ? (teamNewsOf(fact) ?? agentNewsOf(fact)) : undefined)
  );
}

function talkOf(fact: Fact, worker: string): StreamItem | undefined {
  switch (fact.type) {
    case "run.started": {
      if (worker !== COORDINATOR) return;
      const from = fact.data.trigger ? "agiraph" : HUMAN;
      return {
        kind: "message",
        from,
        to: COORDINATOR,
        text: fact.data.goal,
        receipt: null,
        is: "goal",
        ...stamp(fact),
      };
    }
    case "message.sent": {
      const { message_id, from, to, reader = to, text } = fact.data;
      if (![from, to, reader].includes(worker) && to !== "*") return;
      return { kind: "message", from, to, text, receipt: "queued", is: null, ...stamp(fact, message_id) };
    }
    case "human.question":
      if (fact.data.worker_id !== worker) return;
      return {
        kind: "question",
        question: fact.data,
        answer: null,
        isOver: false,
        ...stamp(fact, fact.data.question_id),
      };
    case "human.response":
      if (fact.data.worker_id !== worker || fact.data.channel !== DEADLINE) return;
      return said(fact);
    case "human.nudge":
      if (worker !== COORDINATOR) return;
      return {
        kind: "message",
        from: HUMAN,
        to: COORDINATOR,
        text: fact.data.text,
        receipt: null,
        is: "hint",
        ...stamp(fact),
      };
    default:
      return;
  }
}

function workOf(fact: Fact, worker: string): StreamItem | undefined {
  if (!("worker_id" in fact.data) || fact.data.worker_id !== worker) return;
  switch (fact.type) {
    case "model.responded":
      if (fact.data.correction) return;
      return { kind: "words", worker_id: worker, ...stamp(fact) };
    case "tool.called": {
      const { call_id, tool, gist } = fact.data;
      return {
        kind: "tool",
        call_id,
        worker_id: worker,
        tool,
        gist: gist === "{}" ? "" : gist,
        result: null,
        ...stamp(fact, call_id),
      };
    }
    case "node.published": {
      const { node_id, summary, files } = fact.data;
      return { kind: "published", node_id, worker_id: worker, summary, files, ...stamp(fact) };
    }
    case "node.assigned":
    case "node.failed":
    case "node.retried":
      return said(fact, { node: fact.data.node_id });
    case "worker.waiting":
      return fact.data.for === "rate_limit" || fact.data.for === "budget" ? said(fact) : undefined;
    case "insight.offered":
      return said(fact, { isMemory: true });
    case "model.failed":
    case "memory.compacted":
    case "suggestion.made":
    case "worker.retired":
    case "worker.checkpointed":
      return said(fact);
    default:
      return;
  }
}

/** What the coordinator's stream tells beyond its own doing: how the team fares. */
function teamNewsOf(fact: Fact): StreamItem | undefined {
  switch (fact.type) {
    case "stage.started":
      return line(fact, "stage", stageTitle(fact.data.stage, fact.data.name));
    case "stage.reconvened":
      return { ...said(fact), tone: "stage" };
    case "worker.spawned": {
      const { worker_id, kind } = fact.data;
      return worker_id === COORDINATOR || kind === "human"
        ? undefined
        : said(fact, { who: worker_id, worker: worker_id });
    }
    case "worker.retired":
    case "suggestion.made":
      return said(fact, { who: fact.data.worker_id, worker: fact.data.worker_id });
    case "node.completed":
    case "node.failed":
      return said(fact, { who: fact.data.worker_id, node: fact.data.node_id });
    case "node.cancelled":
      return said(fact, { who: fact.data.by, node: fact.data.node_id });
    case "insight.offered":
      return said(fact, { who: fact.data.worker_id, isMemory: true });
    case "insight.accepted":
    case "insight.declined":
      return said(fact, { isMemory: true });
    case "human.question": {
      const { worker_id, mesh_trust } = fact.data;
      // A node of one's own is nobody's question: its words say what it is.
      const isTheirs = worker_id !== HUMAN && !mesh_trust;
      return said(fact, { ...(isTheirs && { who: worker_id }), worker: worker_id });
    }
    case "memory.written":
      // Of its own writing the call tells already.
      return fact.data.by === COORDINATOR ? undefined : said(fact, { who: fact.data.by, isMemory: true });
    default:
      return;
  }
}

/** And how the agent itself does. */
function agentNewsOf(fact: Fact): StreamItem | undefined {
  switch (fact.type) {
    case "agent.completed":
      return fact.data.summary === "HEARTBEAT_OK"
        ? undefined
        : { kind: "result", ok: true, text: fact.data.summary, run_id: null, files: [], ...stamp(fact) };
    case "agent.failed":
      return { kind: "result", ok: false, text: fact.data.error, run_id: null, files: [], ...stamp(fact) };
    case "agent.stopped":
      return line(fact, "wait", `Stopped${fact.data.why ? `: ${fact.data.why}` : ""}. Write to continue.`);
    case "agent.paused":
      return line(
        fact,
        "wait",
        fact.data.why && fact.data.why !== HUMAN
          ? `Paused: ${fact.data.why}`
          : "Paused. It continues when it is resumed.",
      );
    case "agent.resumed":
    case "budget.warned":
    case "budget.exceeded":
      return said(fact);
    case "trigger.created":
      return said(fact, { who: fact.data.created_by, isLater: true });
    case "trigger.fired":
    case "trigger.cancelled":
      return said(fact, { isLater: true });
    case "trigger.done":
      return fact.data.problem === undefined ? undefined : said(fact, { isLater: true });
    default:
      return;
  }
}

/** In the words that the log and the terminal have for it. Who does it is drawn by the row, or is whose stream it is. */
function said(fact: Extract<Fact, { type: keyof typeof TOLD }>, about: LineSubject = {}): LineItem {
  const write = TOLD[fact.type] as (data: Fact["data"], style: Style) => Sentence;
  const sentence = write(fact.data, STYLE);
  // "take on node-2" alone would read as an order to the reader.
  const isYours = sentence.who === HUMAN && about.who === undefined;
  const clause = sentence.who === undefined || isYours ? clauseOf(sentence) : predicateOf(sentence);
  const { text = "", next, tone } = sentence;
  const shown = SUMMED_UP.has(fact.type) ? gist(text) : visibleLines(text);
  return line(fact, TONES[tone] ?? "plain", lineOf(visible(clause), shown, next), about);
}

/** What a stream tells of, and no more: these are among the first things that a browser loads. */
const TOLD = { ...WORK, ...TEAM, ...MODELS, ...TRIGGERS };

/** Nobody but the subject, and the reader, is named in the rows of a stream. */
const STYLE: Style = { name: (id) => (id === HUMAN ? "you" : id), time: clockTime };

/** Long texts with marks of markdown, which are to be read elsewhere. */
const SUMMED_UP = new Set<Fact["type"]>(["node.completed", "node.cancelled", "human.question", "trigger.created"]);

const TONES: Partial<Record<SentenceTone, RowTone>> = { failed: "bad", warning: "wait", asks: "wait", stage: "stage" };

function line(fact: Fact, tone: RowTone, text: string, about: LineSubject = {}): LineItem {
  return { kind: "line", tone, text, ...about, ...stamp(fact) };
}

function stamp({ seq, ts }: Fact, key = `fact-${seq}`) {
  return { key, seq, ts };
}
