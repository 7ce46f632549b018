import type { ApiClient } from "../../client/client.ts";
import type { AgentSummaryData } from "../../projections/index.ts";
import type { AgentSummary } from "../../protocol/api/agents.ts";
import type { AgentId } from "../../protocol/index.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { situationOf } from "../../runtime/state/situations.ts";
import type { ListedAgent } from "../../runtime/views/agent-list.ts";
import type { Store } from "../../store/store.ts";
import { otherProcess } from "./other-process.ts";

/**
 * All agents of an engine, as the server in this home knows them. One that is looked at more closely is brought into
 * the home first, and read there like any other.
 */
export async function lookAtEngine(
  settings: Settings,
  store: Store,
): Promise<{ agents: ListedAgent[]; unreadable: { id: AgentId; why: string }[] }> {
  const client = (await otherProcess(settings))?.client;
  const agents: ListedAgent[] = [];
  const unreadable: { id: AgentId; why: string }[] = [];
  for (let after: string | null | undefined; client && after !== null; ) {
    const page = await client.agents({ archived: "all", limit: PAGE, after });
    agents.push(...page.agents.map((each) => listedFrom(each, client, store)));
    unreadable.push(...page.unreadable.map(({ id, why }) => ({ id: id as AgentId, why })));
    after = page.next_after;
  }
  return { agents, unreadable };
}

const PAGE = 500;

function listedFrom(view: AgentSummary, client: ApiClient, store: Store): ListedAgent {
  const situation = async () => {
    await client.copy(view.id);
    return situationOf(await store.open(view.id as AgentId));
  };
  return { summary: summaryFrom(view), situation };
}

/** What only the log itself tells is left out. */
function summaryFrom(view: AgentSummary): AgentSummaryData {
  const { node_count, nodes_completed, nodes_failed, created_at, updated_at, trouble, ...same } = view;
  return {
    ...(same as unknown as AgentSummaryData),
    nodes: { total: node_count, completed: nodes_completed, failed: nodes_failed },
    ...{ created_ts: created_at, updated_ts: updated_at, people: [], keeps_time: false },
    trouble: trouble && { ...trouble, since_ts: trouble.since, retry_ts: trouble.retry_at },
  } as AgentSummaryData;
}
