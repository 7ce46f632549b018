import { COORDINATOR, DEADLINE, type Fact, HUMAN } from "../../../src/protocol/index.ts";
import { gist, stageTitle } from "../text/figures.ts";
import { conditionWords } from "../triggers/words.ts";
import type { LineSubject, StreamItem, Tone } from "./stream-item.ts";

/** The row that a fact makes in an entity's stream, if it makes one. */
export function itemOf(fact: Fact, worker: string): StreamItem | undefined {
  return talkOf(fact, worker) ?? workOf(fact, worker) ?? (worker === COORDINATOR ? newsOf(fact) : undefined);
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
      return line(fact, "wait", "Nobody answered in time; the default counts.");
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
      return line(fact, "plain", `took on ${fact.data.node_id}`, { node: fact.data.node_id });
    case "node.failed":
      return line(fact, "bad", `${fact.data.node_id} failed`, { node: fact.data.node_id });
    case "node.retried":
      return line(fact, "bad", `tries ${fact.data.node_id} once more: ${fact.data.error}`, { node: fact.data.node_id });
    case "model.failed": {
      const next = fact.data.retry_in_ms === null ? "gave up" : "trying again";
      const { model, message } = fact.data;
      // Most providers' words begin with the model; on a phone, twice would leave no room for what is wrong.
      return line(fact, "bad", `${message.startsWith(model) ? "" : `${model}: `}${message} (${next})`);
    }
    case "worker.waiting":
      return fact.data.for === "rate_limit" || fact.data.for === "budget"
        ? line(
            fact,
            "wait",
            fact.data.for === "budget" ? "waits for room in the budget" : "waits for the rate limit to pass",
          )
        : undefined;
    case "memory.compacted":
      return line(fact, "plain", `summed up ${fact.data.entries} entries to make room`);
    case "suggestion.made":
      return line(fact, "plain", `suggests: ${fact.data.suggestion}`);
    case "insight.offered":
      return line(fact, "plain", `offers to memory: ${fact.data.title}`, { isMemory: true });
    case "worker.retired":
      return line(fact, "plain", "was retired");
    case "worker.checkpointed":
      return line(fact, "plain", `checkpoint: ${fact.data.summary}`);
    default:
      return;
  }
}

/** What the coordinator's stream tells beyond its own doing: how the run and the team fare. */
function newsOf(fact: Fact): StreamItem | undefined {
  switch (fact.type) {
    case "stage.started":
      return line(fact, "stage", stageTitle(fact.data.stage, fact.data.name));
    case "stage.reconvened":
      return line(fact, "stage", `Stage ${fact.data.stage} reconvened: ${fact.data.assessment}`);
    case "worker.spawned":
      return fact.data.worker_id === COORDINATOR || fact.data.kind === "human"
        ? undefined
        : line(fact, "plain", `${fact.data.name} joined (${fact.data.model})`, { worker: fact.data.worker_id });
    case "worker.retired":
      return line(fact, "plain", "was retired", {
        who: fact.data.worker_id,
        worker: fact.data.worker_id,
      });
    case "node.completed":
      return line(fact, "plain", `finished ${fact.data.node_id}: ${gist(fact.data.summary)}`, {
        who: fact.data.worker_id,
        node: fact.data.node_id,
      });
    case "node.failed":
      return line(fact, "bad", `could not finish ${fact.data.node_id}`, {
        who: fact.data.worker_id,
        node: fact.data.node_id,
      });
    case "node.cancelled":
      return line(fact, "plain", `${fact.data.node_id} was cancelled: ${gist(fact.data.reason)}`, {
        node: fact.data.node_id,
      });
    case "suggestion.made":
      return line(fact, "plain", `suggests: ${fact.data.suggestion}`, {
        who: fact.data.worker_id,
        worker: fact.data.worker_id,
      });
    case "insight.offered":
      return line(fact, "plain", `offers to memory: ${fact.data.title}`, { who: fact.data.worker_id, isMemory: true });
    case "insight.accepted":
      return line(fact, "plain", `took ${fact.data.insight_id} into ${fact.data.path}`, { isMemory: true });
    case "insight.declined":
      return line(fact, "plain", `declined ${fact.data.insight_id}: ${fact.data.why}`, { isMemory: true });
    case "human.question":
      // A node of one's own is nobody's question: its words say what it is.
      if (fact.data.worker_id === HUMAN) return line(fact, "wait", gist(fact.data.text), { worker: HUMAN });
      if (fact.data.mesh_trust)
        return line(fact, "wait", `Agiraph asks whether you trust the mesh ${fact.data.mesh_trust.mesh}`, {
          worker: fact.data.worker_id,
        });
      return line(fact, "wait", `asks you: ${gist(fact.data.text)}`, {
        who: fact.data.worker_id,
        worker: fact.data.worker_id,
      });
    case "agent.completed":
      return fact.data.summary === "HEARTBEAT_OK"
        ? undefined
        : { kind: "result", ok: true, text: fact.data.summary, run_id: null, files: [], ...stamp(fact) };
    case "agent.failed":
      return { kind: "result", ok: false, text: fact.data.error, run_id: null, files: [], ...stamp(fact) };
    case "agent.stopped":
      return line(fact, "wait", "Stopped. Write to go on.");
    case "agent.paused":
      return line(
        fact,
        "wait",
        fact.data.why && fact.data.why !== HUMAN
          ? `Paused: ${fact.data.why}`
          : "Paused. It goes on when it is resumed.",
      );
    case "agent.resumed":
      return line(fact, "plain", "Goes on");
    case "budget.warned":
      return line(
        fact,
        "wait",
        fact.data.budget_tokens === undefined
          ? `Most of the budget is spent: $${fact.data.spent_usd.toFixed(2)} of $${fact.data.budget_usd?.toFixed(2)}`
          : `Most of the tokens are spent: ${fact.data.spent_tokens} of ${fact.data.budget_tokens}`,
      );
    case "budget.exceeded":
      return line(fact, "bad", "The budget is spent");
    case "trigger.created":
      return line(fact, "plain", `${fact.data.trigger_id} set: ${conditionWords(fact.data.when)}`, { isLater: true });
    case "trigger.fired":
      return line(fact, "plain", `${fact.data.trigger_id} fired`, { isLater: true });
    case "trigger.done":
      return fact.data.problem === undefined
        ? undefined
        : line(fact, "bad", `${fact.data.trigger_id} could not be done: ${fact.data.problem}`, { isLater: true });
    case "trigger.cancelled":
      return line(fact, "plain", `${fact.data.trigger_id} was cancelled`, { isLater: true });
    case "memory.written":
      // Of its own writing the call tells already.
      return fact.data.by === COORDINATOR
        ? undefined
        : line(fact, "plain", `remembered in ${fact.data.path}`, { who: fact.data.by, isMemory: true });
    default:
      return;
  }
}

function line(fact: Fact, tone: Tone, text: string, about: LineSubject = {}): StreamItem {
  return { kind: "line", tone, text, ...about, ...stamp(fact) };
}

function stamp({ seq, ts }: Fact, key = `fact-${seq}`) {
  return { key, seq, ts };
}
