import { type FactOf, type FactType, HUMAN } from "../protocol/index.ts";
import { outcomeWords, POLICY } from "./phrases.ts";
import { by, details, type Sentences, thing } from "./sentence.ts";

type WorkFact = Exclude<
  Extract<FactType, `agent.${string}` | `run.${string}` | `stage.${string}` | `node.${string}`>,
  "node.cloned"
>;

/** The agent, its runs and stages, and the work as it grows. */
export const WORK: Sentences<WorkFact> = {
  "agent.created": ({ name, goal, model }) => thing(name, "was created", { text: goal, detail: model, tone: "new" }),
  "agent.started": ({ why, pid }) => thing(AGENT, STARTED[why], { detail: `pid ${pid}`, tone: "begins" }),
  "agent.paused": ({ why }, { name }) =>
    why === undefined || why === HUMAN
      ? thing(AGENT, `was paused by ${name(HUMAN)}`, { tone: "leaves" })
      : thing(AGENT, "was paused", { text: why, tone: "leaves" }),
  "agent.resumed": () => thing(AGENT, "was resumed", { tone: "begins" }),
  "agent.stopped": ({ by: whom, why }, { name }) =>
    why === undefined
      ? thing(AGENT, `was stopped by ${name(whom)}`, { tone: "leaves" })
      : thing(AGENT, "was stopped", { text: why, tone: "leaves" }),
  "agent.completed": ({ summary }) => thing(AGENT, "is done", { text: summary, tone: "done" }),
  "agent.failed": ({ error }) => thing(AGENT, "failed", { text: error, tone: "failed" }),
  "agent.archived": ({ by: whom }, { name }) => thing(AGENT, `was archived by ${name(whom)}`, { tone: "leaves" }),
  "agent.restored": ({ by: whom }, { name }) => thing(AGENT, `was restored by ${name(whom)}`, { tone: "new" }),

  "run.started": ({ run_id, goal }) => thing(run_id, "begins", { text: goal, tone: "begins" }),
  "run.finished": ({ run_id, outcome }) =>
    thing(run_id, "ended", { text: outcomeWords(outcome), tone: outcome.kind === "finished" ? "done" : "failed" }),
  "stage.started": ({ stage, name, contract }) =>
    thing(`Stage ${stage}`, "begins", {
      text: `${name === `Stage ${stage}` ? "" : `${name} `}(${POLICY[contract.checkpoint_policy]})`,
      detail: `at most ${contract.max_iterations_per_node} turns and ${contract.timeout_seconds} s per node`,
      tone: "stage",
    }),
  "stage.reconvened": ({ stage, assessment }) =>
    thing(`Stage ${stage}`, "was reviewed", { text: assessment, tone: "done" }),
  "stage.completed": ({ stage }) => thing(`Stage ${stage}`, "is complete", { tone: "done" }),

  "node.created": ({ node_id, task, created_by, parent_node_id, dependencies }, style) =>
    by(created_by, style, `created ${node_id}${parent_node_id === null ? "" : ` as a part of ${parent_node_id}`}`, {
      text: task,
      detail: dependencies.length > 0 ? `after ${dependencies.join(", ")}` : undefined,
      tone: "new",
      node: node_id,
    }),
  "node.released": ({ node_id }) => thing(node_id, "may begin", { tone: "new", node: node_id }),
  "node.reserved": ({ node_id, worker_id }, { name }) =>
    thing(node_id, `is reserved for ${name(worker_id)}`, { node: node_id }),
  "node.assigned": ({ node_id, worker_id }, style) => by(worker_id, style, `takes on ${node_id}`, { node: node_id }),
  "node.started": ({ node_id, worker_id }, style) =>
    by(worker_id, style, `begins ${node_id}`, { tone: "begins", node: node_id }),
  "node.published": ({ node_id, worker_id, summary, files }, style) =>
    by(worker_id, style, `published ${node_id}`, {
      text: summary,
      detail: details(...files.map((file) => file.path)),
      tone: "done",
      node: node_id,
    }),
  "node.completed": ({ node_id, worker_id, summary }, style) =>
    by(worker_id, style, `finished ${node_id}`, { text: summary, tone: "done", node: node_id }),
  "node.retried": ({ node_id, worker_id, error }, style) =>
    by(worker_id, style, `tries ${node_id} again`, { text: error, tone: "warning", node: node_id }),
  "node.failed": ({ node_id, worker_id, outcome }, style) =>
    by(worker_id, style, `could not finish ${node_id}`, { text: outcomeWords(outcome), tone: "failed", node: node_id }),
  "node.cancelled": ({ node_id, by: whom, reason }, style) =>
    by(whom, style, `cancelled ${node_id}`, { text: reason, tone: "leaves", node: node_id }),
  "node.updated": ({ node_id, by: whom, task, deliverables, checks }, style) =>
    by(whom, style, `changed ${node_id}`, {
      detail: details(task && "task", deliverables && "deliverables", checks && "checks"),
      tone: "new",
      node: node_id,
    }),
  "node.reopened": ({ node_id, reserved_for, from, why }, { name }) =>
    thing(
      node_id,
      `is open again${reserved_for === null ? "" : ` for ${name(reserved_for)}`}` +
        `${from === undefined || from === reserved_for ? "" : `, taken from ${name(from)}`}${why === undefined ? "" : REOPENED[why]}`,
      { tone: "new", node: node_id },
    ),
};

const AGENT = "The agent";

const STARTED: Readonly<Record<FactOf<"agent.started">["data"]["why"], string>> = {
  created: "starts",
  resumed: "continues",
  recovered: "continues where it was interrupted",
  new_goal: "starts on its next goal",
};

const REOPENED: Readonly<Record<NonNullable<FactOf<"node.reopened">["data"]["why"]>, string>> = {
  more_money: ": there is more money",
  trigger: ": a trigger runs it",
  reassigned: "",
};
