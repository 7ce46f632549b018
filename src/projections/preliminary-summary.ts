import type { Fact } from "../protocol/index.ts";
import { type AgentState, applyToAgent, needsDecision, shownGoalOf } from "./agent.ts";
import { type AgentSummaryData, summarise } from "./agent-summary.ts";
import { begin } from "./situation.ts";

/**
 * What can be said about an agent whose log has not been folded yet, for a list that must not wait for that. It is
 * marked `loading`, because what happened between the kept summary (or the first fact) and the latest facts is missing.
 *
 * Name, model and date of creation are exact, since they are in the first fact. The status is that of the latest fact
 * that sets one. If there is none, the agent was at work: an agent at rest adds few facts to its log.
 */
export function preliminarySummary(
  first: Fact,
  kept: AgentSummaryData | undefined,
  latest: readonly Fact[],
): AgentSummaryData {
  const now = begin(first);
  const { agent } = now;
  if (kept) restore(agent, kept);
  else agent.status = "working";
  for (const fact of latest) applyToAgent(agent, fact);
  const isDecided = kept && agent.halted === null && agent.status === kept.status;
  return {
    ...(kept ?? summarise(now)),
    seq: latest.at(-1)?.seq ?? kept?.seq ?? first.seq,
    goal: shownGoalOf(agent),
    status: agent.status,
    asleep: (kept?.asleep ?? false) && latest.length === 0,
    archived: agent.archived_ts !== null,
    updated_ts: agent.updated_ts,
    run_id: agent.run?.id ?? null,
    needs_decision: isDecided ? kept.needs_decision : needsDecision(agent),
    budget_usd: agent.created.budget_usd,
    summary: agent.summary,
    error: agent.error,
    loading: true,
  };
}

function restore(agent: AgentState, kept: AgentSummaryData): void {
  const { status, summary, error, run_id, goal, updated_ts, archived, budget_usd } = kept;
  Object.assign(agent, { status, summary, error, updated_ts, archived_ts: archived ? updated_ts : null });
  agent.created = { ...agent.created, budget_usd };
  if (run_id !== null)
    agent.run = { id: run_id, goal, started_ts: updated_ts, started_seq: kept.seq, finished: null, trigger: null };
}
