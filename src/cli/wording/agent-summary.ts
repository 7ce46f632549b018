import {
  type AgentSummaryData,
  type Situation,
  type Standing,
  shownGoalOf,
  troublesOf,
} from "../../projections/index.ts";

/** An agent in a few fields, as `--json` gives it to programs. */
export function agentSummary({ agent, board, spending, questions, troubles }: Situation, status: Standing) {
  const nodes = Object.values(board.nodes);
  const having = (wanted: string) => nodes.filter((node) => node.status === wanted).length;
  return {
    id: agent.id,
    name: agent.created.name,
    status,
    goal: shownGoalOf(agent),
    mode: agent.created.mode,
    model: agent.created.model,
    worker_model: agent.created.worker_model,
    created_ts: agent.created_ts,
    updated_ts: agent.updated_ts,
    run_id: agent.run?.id ?? null,
    nodes: { total: nodes.length, completed: having("completed"), failed: having("failed") },
    open_questions: Object.keys(questions.open).length,
    troubles: troublesOf(troubles),
    cost_usd: spending.total.cost_usd,
    unpriced_calls: spending.total.unpriced_calls,
    budget_usd: agent.created.budget_usd,
    summary: agent.summary,
    error: agent.error,
  };
}

/** The same from the data of a list, which has at most one trouble per team. */
export function listedSummary(listed: AgentSummaryData, status: Standing): ReturnType<typeof agentSummary> {
  const { id, name, goal, mode, model, worker_model, created_ts, updated_ts, run_id, nodes, open_questions } = listed;
  const { trouble, cost_usd, unpriced_calls, budget_usd, summary, error } = listed;
  const troubles = [];
  if (trouble) {
    const { worker_name: _, workers: __, ...same } = trouble;
    troubles.push(same);
  }
  const who = { id, name, status, goal, mode, model, worker_model, created_ts, updated_ts };
  const money = { cost_usd, unpriced_calls, budget_usd };
  return { ...who, run_id, nodes, open_questions, troubles, ...money, summary, error };
}
