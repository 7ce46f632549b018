import { currentStage, isAtWork, type Situation } from "../projections/index.ts";
import type { AgentSummary } from "../protocol/api.ts";
import { type AgentId, HUMAN } from "../protocol/index.ts";
import type { Agent } from "../runtime/agent.ts";
import { type InboxItem, inboxOf } from "../runtime/inbox.ts";
import { situationOf } from "../runtime/inspect.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { isAgentId } from "../store/paths.ts";
import type { AgentLog } from "../store/store.ts";
import { notFound } from "./refusal.ts";

interface Resting {
  seq: number;
  summary: AgentSummary;
  inbox: InboxItem[];
}

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
  readonly #resting = new Map<AgentId, Resting>();
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
    return (await this.#brief(id)).summary;
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
    for (const { id, archived } of (await this.summaries()).agents)
      if (!archived) all.push(...(await this.#brief(id)).inbox);
    return all.sort((a, b) => a.since_ts - b.since_ts);
  }

  /** After a start: who was interrupted goes on, who waits for a time keeps it. Tells of each that could not. */
  async takeUp(failed: (id: string, error: unknown) => void): Promise<void> {
    for (const id of await this.#runtime.store.agents()) {
      try {
        const now = await situationOf(await this.#runtime.store.open(id));
        this.#resting.set(id, briefOf(now));
        if (now.agent.archived_ts !== null) continue;
        if (isAtWork(now.agent.status)) await (await this.#runtime.agent(id)).start("recovered");
        else if (keepsTime(now)) (await this.#runtime.agent(id)).keepTime();
      } catch (error) {
        failed(id, error);
      }
    }
  }

  async #brief(id: string): Promise<Resting> {
    const log = await this.log(id);
    const open = this.#runtime.opened(log.id);
    if (open) return briefOf(open.now);
    const known = this.#resting.get(log.id);
    if (known?.seq === log.seq) return known;
    const brief = briefOf(await situationOf(log));
    this.#resting.set(log.id, brief);
    return brief;
  }
}

function briefOf(now: Situation): Resting {
  return { seq: now.seq, summary: summaryOf(now), inbox: inboxOf([now]) };
}

function keepsTime({ triggers, outbox }: Situation): boolean {
  return Object.keys(triggers.open).length + Object.keys(triggers.undone).length + outbox.waiting.length > 0;
}

export function summaryOf(now: Situation): AgentSummary {
  const { agent, board, roster, questions, letters, spending, stages } = now;
  const { name, goal, mode, model, worker_model, budget_usd } = agent.created;
  const nodes = Object.values(board.nodes);
  const having = (wanted: string) => nodes.filter(({ status }) => status === wanted).length;
  return {
    id: agent.id,
    name,
    goal,
    mode,
    status: agent.status,
    archived: agent.archived_ts !== null,
    model,
    worker_model,
    run_id: agent.run?.id ?? null,
    current_stage: agent.run ? (currentStage(stages, agent.run.id)?.name ?? null) : null,
    node_count: nodes.length,
    nodes_completed: having("completed"),
    nodes_failed: having("failed"),
    worker_count: Object.values(roster).filter(({ status }) => status !== "retired").length,
    open_questions: Object.keys(questions.open).length,
    unread: Object.values(letters.queued).filter(({ reader }) => reader === HUMAN).length,
    cost_usd: spending.total.cost_usd,
    unpriced_calls: spending.total.unpriced_calls,
    budget_usd,
    summary: agent.summary,
    error: agent.error,
    created_at: agent.created_ts,
    updated_at: agent.updated_ts,
    seq: now.seq,
  };
}
