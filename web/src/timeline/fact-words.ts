import { troubleWords } from "../../../src/projections/index.ts";
import { own } from "../../../src/protocol/dict.ts";
import { DEADLINE, type Fact, type FactOf, type FactType, HUMAN, type Outcome } from "../../../src/protocol/index.ts";
import { amount, clockTime, count, firstLine, gist, milliseconds, money, stageTitle } from "../text/figures.ts";
import { actionWords, conditionWords } from "../triggers/words.ts";

/**
 * What happened, in one line; `name` says how somebody is called.
 * FACT-WORDS-1. Every kind of fact has words: a new one does not compile before it has some.
 * FACT-WORDS-2. The person who reads it is spoken to: "You begin node-2", never "You begins" or "Human begins".
 */
export function factWords(fact: Fact, name: (id: string) => string): string {
  const words = WORDS[fact.type] as ((data: Fact["data"], say: Say) => string) | undefined;
  // A page that was open before the server was renewed may hear of things that it has no words for.
  return words?.(fact.data, sayingBy(name)) ?? fact.type;
}

interface Say {
  /** `Alice`, `You`. */
  who(id: string): string;
  /** `Alice begins`, `You begin`. */
  does(id: string, verb: string): string;
  /** `to Alice`, `to you`. */
  whom(id: string): string;
}

const YOURS: Readonly<Record<string, string>> = { is: "are", has: "have", tries: "try" };

function sayingBy(name: (id: string) => string): Say {
  const who = (id: string) => (id === HUMAN ? "You" : name(id));
  return {
    who,
    does(id, verb) {
      const [first = "", ...rest] = verb.split(" ");
      if (id !== HUMAN) return `${name(id)} ${verb}`;
      return ["You", own(YOURS, first) ?? first.replace(/s$/, ""), ...rest].join(" ");
    },
    whom: (id) => (id === HUMAN ? "you" : name(id)),
  };
}

type Words = { [T in FactType]: (data: FactOf<T>["data"], say: Say) => string };

const WORDS: Words = {
  "agent.created": ({ name, goal }) => `${name} was made: ${gist(goal)}`,
  "agent.started": ({ why }) => STARTED[why],
  "agent.paused": ({ why }) => (why === undefined || why === HUMAN ? "You paused it" : `Paused: ${gist(why)}`),
  "agent.resumed": () => "It goes on",
  "agent.stopped": ({ by }, { whom }) => `Stopped by ${whom(by)}`,
  "agent.completed": ({ summary }) => `Completed: ${gist(summary)}`,
  "agent.failed": ({ error }) => `Failed: ${gist(error)}`,
  "agent.archived": ({ by }, { whom }) => `Put away by ${whom(by)}`,
  "agent.restored": ({ by }, { whom }) => `Brought back by ${whom(by)}`,

  "run.started": ({ run_id, goal }) => `${run_id} begins: ${gist(goal)}`,
  "run.finished": ({ run_id, outcome }) => `${run_id} ended: ${outcomeWords(outcome)}`,
  "stage.started": ({ stage, name }) => `${stageTitle(stage, name)} begins`,
  "stage.reconvened": ({ stage, assessment }) => `Stage ${stage} is judged: ${gist(assessment)}`,
  "stage.completed": ({ stage }) => `Stage ${stage} is complete`,

  "node.created": ({ node_id, task, created_by }, { does }) => `${does(created_by, `made ${node_id}`)}: ${gist(task)}`,
  "node.released": ({ node_id }) => `${node_id} may begin`,
  "node.reserved": ({ node_id, worker_id }, { whom }) => `${node_id} is kept for ${whom(worker_id)}`,
  "node.assigned": ({ node_id, worker_id }, { whom }) => `${node_id} goes to ${whom(worker_id)}`,
  "node.started": ({ node_id, worker_id }, { does }) => does(worker_id, `begins ${node_id}`),
  "node.published": ({ node_id, worker_id, summary }, { does }) =>
    `${does(worker_id, `published ${node_id}`)}: ${gist(summary)}`,
  "node.completed": ({ node_id }) => `${node_id} is done`,
  "node.retried": ({ node_id, worker_id, error }, { does }) =>
    `${does(worker_id, `tries ${node_id} once more`)}: ${gist(error)}`,
  "node.failed": ({ node_id, outcome }) => `${node_id} failed: ${outcomeWords(outcome)}`,
  "node.cancelled": ({ node_id, by, reason }, { does }) => `${does(by, `cancelled ${node_id}`)}: ${gist(reason)}`,
  "node.updated": ({ node_id, by }, { does }) => does(by, `changed ${node_id}`),
  "node.reopened": ({ node_id, reserved_for, why }, { whom }) =>
    `${node_id} is open again${reserved_for === null ? "" : ` for ${whom(reserved_for)}`}${why ? REOPENED[why] : ""}`,

  "worker.spawned": ({ name, kind, model }) => (kind === "human" ? "You joined" : `${name} joined (${model})`),
  "worker.briefed": ({ worker_id, identity }, { does }) => `${does(worker_id, "is briefed anew")}: ${gist(identity)}`,
  "worker.retired": ({ worker_id }, { does }) => does(worker_id, "is retired"),
  "worker.busy": ({ worker_id, node_id }, { does }) => `${does(worker_id, "is at work")}${on(node_id)}`,
  "worker.idle": ({ worker_id }, { does }) => does(worker_id, "is free"),
  "worker.waiting": (data, { does }) => {
    const { worker_id, node_id, until_ts } = data;
    if (worker_id === HUMAN) return `${does(worker_id, "is at work")}${on(node_id)}`;
    const until = until_ts === undefined ? "" : `, until ${clockTime(until_ts)}`;
    return does(worker_id, `waits for ${WAITED_FOR[data.for]}${until}`);
  },
  "worker.stopped": ({ worker_id }, { does }) => does(worker_id, "is stopped"),
  "worker.session": ({ worker_id, node_id }, { does }) => `${does(worker_id, "has its program running")}${on(node_id)}`,
  "worker.permitted": ({ worker_id, tool, what }, { does }) =>
    what
      ? `${does(worker_id, "need not ask again")}: ${gist(what)}`
      : `${does(worker_id, `may use ${tool}`)} without asking`,
  "permission.revoked": ({ worker_id, key }, { does }) =>
    does(worker_id, `must ask again (${key.slice(0, 8)} was revoked)`),
  "worker.checkpointed": ({ worker_id, summary }, { does }) =>
    `${does(worker_id, "has a part done")}: ${gist(summary)}`,

  "message.sent": ({ from, to, text }, { who, whom }) =>
    `${who(from)} to ${to === "*" ? "everyone" : whom(to)}: ${gist(text)}`,
  "message.received": ({ message_id, by }, { does }) => does(by, `read ${message_id}`),
  "message.forwarded": ({ message_id, to }, { whom }) => `${message_id} goes on to ${whom(to)}`,
  "message.expired": ({ message_id, why }) => `Nobody will read ${message_id}: ${gist(why)}`,
  "suggestion.made": ({ worker_id, suggestion }, { does }) => `${does(worker_id, "suggests")}: ${gist(suggestion)}`,

  // Of a node that is theirs the words themselves say so.
  "human.question": ({ worker_id, text, mesh_trust }, { does }) =>
    mesh_trust
      ? `Agiraph asks whether you trust the mesh ${mesh_trust.mesh}`
      : worker_id === HUMAN
        ? gist(text)
        : `${does(worker_id, "asks you")}: ${gist(text)}`,
  "question.deferred": ({ worker_id, question_id }, { does }) => does(worker_id, `goes on; ${question_id} stays open`),
  "human.response": ({ worker_id, text, channel }, { whom }) => {
    if (channel === DEADLINE) return `Nobody answered ${whom(worker_id)} in time; this counts: ${gist(text)}`;
    return worker_id === HUMAN ? `You said: ${gist(text)}` : `You answered ${whom(worker_id)}: ${gist(text)}`;
  },
  "human.nudge": ({ text }) => `You hinted: ${gist(text)}`,
  "memory.written": ({ path, by }, { does }) => does(by, `wrote ${path}`),
  "memory.compacted": ({ worker_id, entries, tokens_before, tokens_after }, { does }) =>
    `${does(worker_id, `summed up ${count(entries, "entry", "entries")}`)}: ${amount(tokens_before)} → ${amount(tokens_after)} tokens`,
  "insight.offered": ({ worker_id, title }, { does }) => `${does(worker_id, "offers to memory")}: ${gist(title)}`,
  "insight.accepted": ({ insight_id, path }) => `${insight_id} is kept in ${path}`,
  "insight.declined": ({ insight_id, why }) => `${insight_id} is declined: ${gist(why)}`,

  "channel.opened": ({ channel, to }) => `${channel} carries ${to.join(", ")} from now on`,
  "channel.closed": ({ channel }) => `${channel} carries nothing any more`,
  "channel.delivered": ({ channel, of }) => `${of} went out by ${channel}`,
  "channel.delayed": ({ channel, of, why, retry_in_ms }) =>
    `${of} did not go out by ${channel}: ${gist(why)}; again in ${milliseconds(retry_in_ms)}`,
  "channel.failed": ({ channel, of, why, attempts }) =>
    `${of} could not go out by ${channel}: ${gist(why)}; given up after ${count(attempts, "try", "tries")}`,

  "model.called": ({ worker_id, turn }, { does }) => does(worker_id, `thinks, turn ${turn}`),
  "model.responded": ({ worker_id, correction, usage, cost_usd }, { does }) =>
    correction
      ? does(
          worker_id,
          `cost ${money(Math.abs(cost_usd ?? 0))} ${(cost_usd ?? 0) < 0 ? "less" : "more"} than was counted`,
        )
      : does(
          worker_id,
          usage.input + usage.output > 0 ? `replied, ${amount(usage.input + usage.output)} tokens` : "replied",
        ),
  "model.failed": ({ worker_id, reason, message, retry_in_ms }, { does }) => {
    const next = retry_in_ms === null ? "given up" : `again in ${milliseconds(retry_in_ms)}`;
    return `${does(worker_id, "has no answer")}, ${troubleWords({ reason })}: ${gist(message)} (${next})`;
  },
  "model.warned": ({ model, message }) => `${model} warns: ${gist(message)}`,
  "mcp.changed": ({ server, tool }) => `The MCP server ${server} has changed its tool ${tool}`,
  "mcp.failed": ({ worker_id, server, why }, { does }) =>
    `${does(worker_id, `goes on without ${server}`)}: ${gist(why)}`,
  "tool.called": ({ worker_id, tool, gist: what }, { does }) =>
    does(worker_id, `calls ${firstLine(tool)} ${firstLine(what)}`),
  "tool.result": ({ worker_id, tool, ok, gist: what }, { who }) =>
    `${who(worker_id)}: ${firstLine(tool)} ${ok ? "done" : "failed"}: ${gist(what)}`,

  "trigger.created": ({ trigger_id, created_by, when, action }, { does }) =>
    `${does(created_by, `set ${trigger_id}`)}, ${conditionWords(when)}: ${gist(actionWords(action))}`,
  "trigger.fired": ({ trigger_id }) => `${trigger_id} fires`,
  "trigger.looked": ({ trigger_id, problem }) =>
    problem === undefined ? `${trigger_id} looked` : `${trigger_id} could not look: ${gist(problem)}`,
  "trigger.done": ({ trigger_id, problem }) =>
    problem === undefined ? `${trigger_id} was done` : `${trigger_id} could not be done: ${gist(problem)}`,
  "trigger.rescheduled": ({ trigger_id, why, next_due }) =>
    `${trigger_id} ${RESCHEDULED[why]}; next at ${clockTime(next_due)}`,
  "trigger.paused": ({ trigger_id, by }, { whom }) => `${trigger_id} was paused by ${whom(by)}`,
  "trigger.resumed": ({ trigger_id, by }, { whom }) => `${trigger_id} was set going again by ${whom(by)}`,
  "trigger.cancelled": ({ trigger_id, by }, { whom }) => `${trigger_id} was cancelled by ${whom(by)}`,
  "trigger.expired": ({ trigger_id, why }) => `${trigger_id} never fires again: ${gist(why)}`,

  "goal.set": ({ goal }) => `The goal was changed in GOAL.md: ${gist(goal)}`,
  "goal.refused": ({ why }) => `${gist(why)} The goal stays as it was`,
  "model.set": ({ model, worker_model }) =>
    `It goes on with ${firstLine(model)}${worker_model === model ? "" : `, its workers with ${firstLine(worker_model)}`}`,
  "budget.set": ({ budget_usd, budget_tokens }) => `The budget is ${limitWords(budget_usd, budget_tokens)} now`,
  "budget.warned": (spent) => `Most of the budget is spent: ${spentWords(spent)}`,
  "budget.exceeded": (spent) => `The budget is spent: ${spentWords(spent)}`,
  "process.started": ({ worker_id, command, omitted = [] }, { does }) =>
    [`${does(worker_id, "starts")} ${gist(command)}`, ...omitted].join(". "),
  "process.exited": ({ worker_id, code, signal }, { does }) =>
    `${does(worker_id, "has a program end")}: ${signal === null ? `code ${code}` : signal}`,

  "mesh.opened": ({ mesh, agents }) => `${mesh} is at work: ${agents.join(", ")}`,
  "mesh.closed": ({ mesh, why }) => `${mesh} rests: ${gist(why)}`,
  "mesh.received": (data) => `${whose(data)} is sent a message (${data.type}) by ${data.from}: ${gist(data.title)}`,
  "mesh.activated": (data) => `${whose(data)} takes up ${data.name}`,
  "mesh.told": (data) => `${whose(data)} has ${data.name} before it`,
  "mesh.undelivered": (data) => `${whose(data)} could not be told of ${data.name}: ${gist(data.why)}`,
  "mesh.completed": (data) => `${whose(data)} is done with ${data.name}: ${gist(data.gist)}`,
  "mesh.failed": (data) => `${whose(data)} failed at ${data.name}: ${gist(data.why)}`,
  "mesh.quarantined": (data) => `${data.name} of ${whose(data)} is set apart: ${gist(data.why)}`,
  "mesh.gate": ({ mesh, gate, ok, why }) =>
    ok ? `${mesh} passed the gate ${gate}` : `${mesh} did not pass the gate ${gate}: ${gist(why)}`,
  "mesh.session": (data) =>
    `${whose(data)}: its session is ${data.state}${data.detail ? `, ${gist(data.detail)}` : ""}`,
  "mesh.stalled": ({ mesh, why }) => `${mesh} cannot go on for now: ${gist(why)}`,
  "mesh.reloaded": ({ mesh, problem }) =>
    problem === null ? `${mesh} was declared anew` : `${mesh} cannot be taken as it is declared: ${gist(problem)}`,
  "mesh.held": ({ mesh, changed }) =>
    `${mesh} ${changed ? "has changed and is not trusted any more" : "is not trusted yet"}: nothing of it is begun`,
  "mesh.trusted": ({ mesh, terminals }) => `${mesh} is trusted${terminals ? ", with terminals" : ""}`,

  "log.repaired": ({ file, what }) => `${file} was damaged and is mended: ${gist(what)}`,
};

const STARTED: Record<FactOf<"agent.started">["data"]["why"], string> = {
  created: "It begins",
  resumed: "It goes on",
  recovered: "It goes on where it was interrupted",
  new_goal: "It begins with its next goal",
};

const REOPENED: Record<NonNullable<FactOf<"node.reopened">["data"]["why"]>, string> = {
  more_money: ": there is more money",
  trigger: ": a trigger runs it",
  reassigned: "",
};

const WAITED_FOR: Record<FactOf<"worker.waiting">["data"]["for"], string> = {
  human: "you",
  news: "news",
  rate_limit: "the rate limit",
  children: "the nodes below",
  budget: "room in the budget",
};

const RESCHEDULED: Record<FactOf<"trigger.rescheduled">["data"]["why"], string> = {
  missed: "missed its time",
  clock_set_back: "waits again, the clock was set back",
};

/** How it ended, and what is known of why. */
export function outcomeWords(outcome: Outcome): string {
  switch (outcome.kind) {
    case "finished":
    case "published":
      return gist(outcome.summary);
    case "exhausted":
      return `all of its ${count(outcome.turns, "turn")} are used`;
    case "budget_exhausted":
      return "the budget is spent";
    case "stopped":
      return "stopped";
    case "failed":
    case "abandoned":
      return gist(outcome.error);
  }
}

function on(node: string | null): string {
  return node === null ? "" : ` on ${node}`;
}

function whose({ mesh, agent }: { mesh: string; agent: string | null }): string {
  return agent === null ? mesh : `${mesh}/${agent}`;
}

function limitWords(usd: number | null | undefined, tokens: number | undefined): string {
  const limits = [
    ...(usd === undefined ? [] : [usd === null ? "without a limit" : money(usd)]),
    ...(tokens === undefined ? [] : [`${amount(tokens)} tokens`]),
  ];
  return limits.join(", ");
}

function spentWords({ spent_usd, budget_usd, spent_tokens, budget_tokens }: FactOf<"budget.warned">["data"]): string {
  return budget_tokens === undefined
    ? `${money(spent_usd)}${budget_usd === undefined ? "" : ` of ${money(budget_usd)}`}`
    : `${amount(spent_tokens ?? 0)} of ${amount(budget_tokens)} tokens`;
}
