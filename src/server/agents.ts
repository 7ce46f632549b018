import { type AgentSummaryData, isAtWork, type Situation, summarise } from "../projections/index.ts";
import type { AgentSummary } from "../protocol/api.ts";
import type { AgentId } from "../protocol/index.ts";
import type { Agent } from "../runtime/agent.ts";
import { type InboxItem, inboxOf } from "../runtime/inbox.ts";
import { situationOf } from "../runtime/inspect.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { isAgentId } from "../store/paths.ts";
import type { AgentLog } from "../store/store.ts";
import { notFound } from "./refusal.ts";

/** Situations of agents at rest that are kept, newest looked at: a page asks for several things of one agent at once. */
const MOST_KEPT = 8;

/**
 * All agents of the home, those at work and those at rest.
 *
 * A1. Looking opens nothing: of an agent at rest a summary is kept, and its situation is read when it is asked for.
 * A2. Only this process writes, so what was read stands for as long as the log has not grown.
 */
export class Agents {
  readonly #runtime: Runtime;
  /** What waits for the human, of agents where something does, as of a fact. */
  readonly #inboxes = new Map<AgentId, { seq: number; items: InboxItem[] }>();
  readonly #kept = new Map<AgentId, Situation>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** To do something with it: open in this process from now on. */
  async agent(id: string): Promise<Agent> {
    await this.log(id);
    return this.#runtime.agent(id as AgentId);
  }

  async log(id: string): Promise<AgentLog> {
    if (!isAgentId(id)) throw notFound(`There is no agent "${id.slice(0, 80)}".`);
    const log = await this.#runtime.store.open(id).catch(() => undefined);
    // A folder without facts is what a crash left of an agent that nobody was told about.
    if (!log || log.seq === 0) throw notFound(`There is no agent "${id}".`);
    return log;
  }

  async situation(id: string): Promise<Situation> {
    const log = await this.log(id);
    const open = this.#runtime.opened(log.id);
    if (open) return open.now;
    const kept = this.#kept.get(log.id);
    const now = kept?.seq === log.seq ? kept : await situationOf(log);
    this.#kept.delete(log.id);
    this.#kept.set(log.id, now);
    for (const oldest of this.#kept.keys()) if (this.#kept.size > MOST_KEPT) this.#kept.delete(oldest);
    return now;
  }

  async summary(id: string): Promise<AgentSummary> {
    const log = await this.log(id);
    return asAnswer(await this.#runtime.summary(log.id));
  }

  /** Newest first. */
  async summaries(): Promise<{ agents: AgentSummary[]; unreadable: { id: string; why: string }[] }> {
    const unreadable: { id: string; why: string }[] = [];
    const agents: AgentSummary[] = [];
    for (const id of await this.#runtime.store.agents()) {
      try {
        agents.push(await this.summary(id));
      } catch (error) {
        unreadable.push({ id, why: error instanceof Error ? error.message : String(error) });
      }
    }
    agents.sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
    return { agents, unreadable };
  }

  /** What waits for the human, oldest first. */
  async inbox(): Promise<InboxItem[]> {
    const all: InboxItem[] = [];
    for (const { id, archived, seq, open_questions, unread } of (await this.summaries()).agents)
      if (!archived && open_questions + unread > 0) all.push(...(await this.#inboxOf(id as AgentId, seq)));
    return all.sort((a, b) => a.since_ts - b.since_ts);
  }

  /** After a start: who was interrupted goes on, who waits for a time keeps it. Tells of each that could not. */
  async takeUp(failed: (id: string, error: unknown) => void): Promise<void> {
    for (const id of await this.#runtime.store.agents()) {
      try {
        const { archived, status, keeps_time } = await this.#runtime.summary(id);
        if (archived) continue;
        if (isAtWork(status)) await (await this.#runtime.agent(id)).start("recovered");
        else if (keeps_time) (await this.#runtime.agent(id)).keepTime();
      } catch (error) {
        failed(id, error);
      }
    }
  }

  async #inboxOf(id: AgentId, seq: number): Promise<InboxItem[]> {
    const known = this.#inboxes.get(id);
    if (known?.seq === seq) return known.items;
    const now = await this.situation(id);
    const items = inboxOf([now]);
    this.#inboxes.set(id, { seq: now.seq, items });
    return items;
  }
}

export function summaryOf(now: Situation): AgentSummary {
  return asAnswer(summarise(now));
}

/** As the API gives it. */
export function asAnswer({ nodes, created_ts, updated_ts, keeps_time: _, ...rest }: AgentSummaryData): AgentSummary {
  return {
    ...rest,
    node_count: nodes.total,
    nodes_completed: nodes.completed,
    nodes_failed: nodes.failed,
    created_at: created_ts,
    updated_at: updated_ts,
  };
}
