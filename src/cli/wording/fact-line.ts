import type { Fact, FactOf, Outcome } from "../../protocol/index.ts";
import { waitingWords } from "./activity.ts";
import { amount, milliseconds, money, spentOf } from "./format.ts";
import { meshWordsOf } from "./mesh-words.ts";
import { POLICY, stageTitle } from "./stage-words.ts";
import { triggerWords } from "./trigger-words.ts";
import { headline, plain } from "./width.ts";

/** A fact in one readable line, without its number and time. A test holds that there are words for every kind. */
export function factLine(fact: Fact): string {
  return plain(wordsOf(fact));
}

function wordsOf(fact: Fact): string {
  switch (fact.type) {
    case "agent.created":
      return `${fact.data.name} (${fact.data.model}): ${headline(fact.data.goal)}`;
    case "agent.started":
      return `${fact.data.why}, pid ${fact.data.pid}`;
    case "agent.stopped":
    case "agent.archived":
    case "agent.restored":
      return `by ${fact.data.by}`;
    case "agent.paused":
      return headline(fact.data.why ?? "");
    case "agent.resumed":
      return "";
    case "agent.completed":
      return headline(fact.data.summary);
    case "agent.failed":
      return headline(fact.data.error);
    case "run.started":
      return `${fact.data.run_id}: ${headline(fact.data.goal)}`;
    case "run.finished":
      return `${fact.data.run_id}: ${headline(outcomeWords(fact.data.outcome))}`;
    default:
      return (
        workWordsOf(fact) ??
        peopleWordsOf(fact) ??
        thoughtWordsOf(fact) ??
        triggerWords(fact) ??
        meshWordsOf(fact) ??
        JSON.stringify(fact.data)
      );
  }
}

function workWordsOf(fact: Fact): string | undefined {
  switch (fact.type) {
    case "stage.started": {
      const { stage, name, contract } = fact.data;
      return (
        `${stageTitle({ number: stage, name })}: ${POLICY[contract.checkpoint_policy]}, at most ` +
        `${contract.max_iterations_per_node} turns and ${contract.timeout_seconds} s a node`
      );
    }
    case "stage.reconvened":
      return `stage ${fact.data.stage}: ${headline(fact.data.assessment)}`;
    case "stage.completed":
      return `stage ${fact.data.stage}`;
    case "node.created": {
      const { node_id, task, dependencies, parent_node_id } = fact.data;
      const part = parent_node_id ? ` part of ${parent_node_id}` : "";
      const after = dependencies.length > 0 ? ` after ${dependencies.join(", ")}` : "";
      return `${node_id}${part}${after}: ${headline(task)}`;
    }
    case "node.released":
      return fact.data.node_id;
    case "node.reserved":
      return `${fact.data.node_id} for ${fact.data.worker_id}`;
    case "node.assigned":
    case "node.started":
      return `${fact.data.node_id} ${fact.data.worker_id}`;
    case "node.published":
      return `${fact.data.node_id} ${fact.data.worker_id}: ${fact.data.files.map((file) => file.path).join(", ")}`;
    case "node.completed":
      return `${fact.data.node_id} ${fact.data.worker_id}: ${headline(fact.data.summary)}`;
    case "node.retried":
      return `${fact.data.node_id} ${fact.data.worker_id}: ${headline(fact.data.error)}`;
    case "node.failed":
      return `${fact.data.node_id} ${fact.data.worker_id}: ${headline(outcomeWords(fact.data.outcome))}`;
    case "node.cancelled":
      return `${fact.data.node_id} by ${fact.data.by}: ${headline(fact.data.reason)}`;
    case "node.updated": {
      const { node_id, by, task, deliverables, checks } = fact.data;
      const changed = Object.entries({ task, deliverables, checks }).flatMap(([name, value]) => (value ? [name] : []));
      return `${node_id} by ${by}: ${changed.join(", ")}`;
    }
    case "node.reopened":
      return [
        fact.data.node_id,
        ...(fact.data.reserved_for ? [`for ${fact.data.reserved_for}`] : []),
        ...(fact.data.from ? [`from ${fact.data.from}`] : []),
      ].join(" ");
    case "log.repaired":
      return `${fact.data.file}: ${fact.data.what}`;
    default:
      return undefined;
  }
}

function peopleWordsOf(fact: Fact): string | undefined {
  switch (fact.type) {
    case "worker.spawned": {
      const { worker_id, kind, model, identity } = fact.data;
      return `${worker_id} (${kind}, ${model})${identity ? `: ${headline(identity)}` : ""}`;
    }
    case "worker.briefed":
      return `${fact.data.worker_id}: ${headline(fact.data.identity)}`;
    case "worker.busy":
      return onNode(fact.data);
    case "worker.idle":
    case "worker.stopped":
    case "worker.retired":
      return fact.data.worker_id;
    case "worker.waiting":
      // Alone, it does not tell a team that works from the sleep between two cycles.
      return `${onNode(fact.data)} ${fact.data.for === "news" ? "waits for news" : waitingWords(fact.data)}`;
    case "worker.session":
      return `${onNode(fact.data)}: ${fact.data.session_id}`;
    case "worker.permitted":
      return `${fact.data.worker_id}: ${fact.data.what ?? fact.data.tool}`;
    case "permission.revoked":
      return `${fact.data.worker_id}: ${fact.data.key.slice(0, 8)}`;
    case "worker.checkpointed":
      return `${onNode(fact.data)}: ${headline(fact.data.summary)}`;
    case "message.sent": {
      const { message_id, from, to, reader, text } = fact.data;
      return `${message_id} ${from} → ${to}${reader ? ` (read by ${reader})` : ""}: ${text}`;
    }
    case "message.received":
      return `${fact.data.message_id} by ${fact.data.by}`;
    case "message.forwarded":
      return `${fact.data.message_id} to ${fact.data.to}`;
    case "message.expired":
      return `${fact.data.message_id}: ${fact.data.why}`;
    case "channel.opened":
      return `${fact.data.channel}: ${fact.data.to.join(", ")}`;
    case "channel.closed":
      return fact.data.channel;
    case "channel.delivered":
      return `${fact.data.of} by ${fact.data.channel}`;
    case "channel.delayed": {
      const { of, channel, why, attempts, retry_in_ms } = fact.data;
      return `${of} by ${channel}: ${why} (try ${attempts}; again in ${milliseconds(retry_in_ms)})`;
    }
    case "channel.failed": {
      const { of, channel, why, attempts } = fact.data;
      return `${of} by ${channel}: ${why} (gave up after ${attempts === 1 ? "one try" : `${attempts} tries`})`;
    }
    case "human.question": {
      const { question_id, worker_id, text, choices = [], mesh_trust } = fact.data;
      const offered = choices.length > 0 ? ` (${choices.join(" | ")})` : "";
      return `${question_id} ${mesh_trust ? "agiraph" : worker_id}: ${headline(text)}${offered}`;
    }
    case "question.deferred":
      return `${fact.data.question_id} ${fact.data.worker_id}: goes on, the question stays open`;
    case "human.response":
      return `${fact.data.question_id} ${fact.data.worker_id} by ${fact.data.channel}: ${headline(fact.data.text)}`;
    case "human.nudge":
      return `by ${fact.data.channel}: ${headline(fact.data.text)}`;
    case "suggestion.made":
      return `${onNode(fact.data)}: ${headline(fact.data.suggestion)}`;
    case "memory.written":
      return `${fact.data.path} by ${fact.data.by}, ${fact.data.bytes} bytes`;
    case "insight.offered":
      return `${onNode(fact.data)}: ${headline(fact.data.title)}`;
    case "insight.accepted":
      return `${fact.data.insight_id} in ${fact.data.path}`;
    case "insight.declined":
      return `${fact.data.insight_id}: ${headline(fact.data.why)}`;
    default:
      return undefined;
  }
}

function thoughtWordsOf(fact: Fact): string | undefined {
  switch (fact.type) {
    case "model.called":
      return `${onNode(fact.data)} turn ${fact.data.turn}: ${fact.data.model}`;
    case "model.responded": {
      const { turn, usage, cost_usd, ms, correction } = fact.data;
      const cost = cost_usd === null ? "price unknown" : money(cost_usd);
      if (correction) return `${onNode(fact.data)} until now: ${correctionWords(cost_usd ?? 0)} than was counted`;
      return `${onNode(fact.data)} turn ${turn}: ${amount(usage.input)} in, ${amount(usage.output)} out, ${cost}, ${milliseconds(ms)}`;
    }
    case "model.failed": {
      const { reason, message, retry_in_ms } = fact.data;
      const next = retry_in_ms === null ? "gave up" : `tries again in ${milliseconds(retry_in_ms)}`;
      return `${onNode(fact.data)} ${reason}: ${message} (${next})`;
    }
    case "model.warned":
      return `${onNode(fact.data)} ${fact.data.message}`;
    case "mcp.changed":
      return `${onNode(fact.data)} ${fact.data.server} has changed its tool ${fact.data.tool}`;
    case "mcp.failed":
      return `${onNode(fact.data)} ${fact.data.server} is not there: ${fact.data.why}`;
    case "tool.called":
      return `${onNode(fact.data)} ${fact.data.tool} ${fact.data.gist}`;
    case "tool.result":
      return `${onNode(fact.data)} ${fact.data.ok ? "✓" : "✗"} ${fact.data.tool} ${milliseconds(fact.data.ms)}: ${fact.data.gist}`;
    case "goal.set":
      return headline(fact.data.goal);
    case "goal.refused":
      return fact.data.why;
    case "model.set":
      return modelChangeWords(fact.data);
    case "budget.set":
      return [usdLimit(fact.data.budget_usd), tokenLimit(fact.data.budget_tokens)].filter(Boolean).join(", ");
    case "memory.compacted": {
      const { entries, tokens_before, tokens_after } = fact.data;
      return `${onNode(fact.data)} ${entries} entries, ${amount(tokens_before)} → ${amount(tokens_after)} tokens`;
    }
    case "budget.warned":
    case "budget.exceeded":
      return spentOf(fact.data);
    case "process.started":
      return `${onNode(fact.data)} pid ${fact.data.pid} (${fact.data.sandbox}): ${headline(fact.data.command)}${omittedWords(fact.data.omitted)}`;
    case "process.exited": {
      const { pid, code, signal } = fact.data;
      return `${onNode(fact.data)} pid ${pid}: ${signal ?? `code ${code}`}`;
    }
    default:
      return undefined;
  }
}

function onNode({ worker_id, node_id }: { worker_id: string; node_id: string | null }): string {
  return node_id === null ? worker_id : `${worker_id} ${node_id}`;
}

function correctionWords(usd: number): string {
  return `${money(Math.abs(usd))} ${usd < 0 ? "less" : "more"}`;
}

export function outcomeWords(outcome: Outcome): string {
  switch (outcome.kind) {
    case "finished":
    case "published":
      return outcome.summary;
    case "failed":
    case "abandoned":
      return outcome.error;
    case "exhausted":
      return `used all its ${outcome.turns} turns`;
    case "budget_exhausted":
      return `the budget is spent (${outcome.spent_tokens === undefined ? money(outcome.spent_usd) : `${amount(outcome.spent_tokens)} tokens`})`;
    case "stopped":
      return "stopped";
  }
}

function usdLimit(usd: number | null | undefined): string {
  return usd === undefined ? "" : usd === null ? "no limit" : money(usd);
}

function tokenLimit(tokens: number | undefined): string {
  return tokens === undefined ? "" : `${tokens} tokens`;
}

/** What of the project a command does not see. */
function omittedWords(omitted: readonly string[] = []): string {
  return omitted.length === 0 ? "" : `. ${omitted.join(" ")}`;
}

export function modelChangeWords({ model, worker_model, was }: FactOf<"model.set">["data"]): string {
  const lead = model === was.model ? [] : [`${model} instead of ${was.model}`];
  const isSame = worker_model === model && was.worker_model === was.model;
  const workers =
    worker_model === was.worker_model || isSame ? [] : [`workers ${worker_model} instead of ${was.worker_model}`];
  return [...lead, ...workers].join(", ");
}
