import {
  AGENT_SUMMARY_VERSION,
  type AgentSummaryData,
  preliminarySummary,
  SITUATION_VERSION,
  type Situation,
  summarise,
} from "../../projections/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import type { AgentLog, Store } from "../../store/store.ts";
import { situationOf } from "../state/situations.ts";

/** How much a list folds at once, over all its agents: a third of a second on an idle machine. */
export const LIST_BYTES = 8 * 1024 * 1024;
/** How many of the latest facts are read where a log is too long to be folded at once. */
const LATEST = 200;

/** The kept summary, if nothing has happened since. */
export async function currentSummary(log: AgentLog): Promise<AgentSummaryData | undefined> {
  const kept = await log.snapshot<AgentSummaryData>("summary", AGENT_SUMMARY_VERSION);
  return kept?.seq === log.seq ? kept.state : undefined;
}

/** How much has to be read to know the situation. */
export function bytesToFold(log: AgentLog): number {
  return log.bytesToRead("situation", SITUATION_VERSION);
}

/** What is known about an agent from its first fact, its latest facts and the kept summary, marked as loading. */
export async function preliminaryOf(log: AgentLog): Promise<AgentSummaryData> {
  const kept = await log.snapshot<AgentSummaryData>("summary", AGENT_SUMMARY_VERSION);
  const [first] = await log.read({ after: 0, limit: 1 });
  if (!first) throw new Error(`The log of ${log.id} is empty.`);
  const after = Math.max(kept?.seq ?? 1, log.seq - LATEST);
  return preliminarySummary(first, kept?.state, await log.read({ after, limit: LATEST }));
}

export interface ListedAgent {
  summary: AgentSummaryData;
  /** Where the log was folded for it, or has to be for what a summary does not hold. */
  situation(): Promise<Situation>;
}

/**
 * All agents of a home for a single read: those that cannot be folded within the given bytes are preliminary. Newest
 * first; unreadable ones with the reason.
 */
export async function lookAtAll(
  store: Store,
  bytes = LIST_BYTES,
): Promise<{ agents: ListedAgent[]; unreadable: { id: AgentId; why: string }[] }> {
  const agents: ListedAgent[] = [];
  const unreadable: { id: AgentId; why: string }[] = [];
  let left = bytes;
  for (const id of await store.agents()) {
    try {
      const log = await store.open(id);
      const current = await currentSummary(log);
      const cost = current ? 0 : bytesToFold(log);
      if (current) agents.push({ summary: current, situation: () => situationOf(log) });
      else if (cost > left) agents.push({ summary: await preliminaryOf(log), situation: () => situationOf(log) });
      else {
        left -= cost;
        const now = await situationOf(log);
        agents.push({ summary: summarise(now), situation: async () => now });
      }
    } catch (error) {
      unreadable.push({ id, why: error instanceof Error ? error.message : String(error) });
    }
  }
  agents.sort((a, b) => b.summary.created_ts - a.summary.created_ts);
  return { agents, unreadable };
}
