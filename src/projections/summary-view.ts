import type { AgentSummary } from "../protocol/api/agents.ts";
import { type AgentSummaryData, summarise } from "./agent-summary.ts";
import type { Situation } from "./situation.ts";
import type { Trouble } from "./trouble.ts";

/** The state of an agent as the API returns it, with the seed's field names. */
export function summaryView(now: Situation): AgentSummary {
  return agentView(summarise(now));
}

/** As one of many: the last words of a thousand agents must not make a list that nobody can wait for. */
export function listedView(summary: AgentSummaryData): AgentSummary {
  const whole = agentView(summary);
  return { ...whole, goal: beginning(whole.goal), summary: beginning(whole.summary), error: beginning(whole.error) };
}

function beginning<T extends string | null>(text: T): T | string {
  return text === null || text.length <= LONGEST_LISTED ? text : `${text.slice(0, LONGEST_LISTED - 1)}…`;
}

const LONGEST_LISTED = 1000;

export function agentView(summary: AgentSummaryData): AgentSummary {
  const { nodes, created_ts, updated_ts, trouble, keeps_time: _, people: __, ...same } = summary;
  const { total: node_count, completed: nodes_completed, failed: nodes_failed } = nodes;
  const times = { created_at: created_ts, updated_at: updated_ts };
  return { ...same, node_count, nodes_completed, nodes_failed, trouble: trouble && troubleView(trouble), ...times };
}

export function troubleView<T extends Trouble>({ since_ts, retry_ts, ...same }: T) {
  return { ...same, since: since_ts, retry_at: retry_ts };
}
