import { agentView, isAtWork, listedView, type Situation } from "../projections/index.ts";
import type { AgentSummary } from "../protocol/api/agents.ts";
import type { AgentId } from "../protocol/index.ts";
import type { Agent } from "../runtime/agent.ts";
import { type InboxItem, inboxOf } from "../runtime/human/inbox.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { takeOver, takeUp } from "../runtime/take-over.ts";
import { existingAgent } from "../runtime/views/existing-agent.ts";
import type { AgentLog } from "../store/store.ts";

/**
 * How many situations of agents at rest are cached, by last use: a page asks for several things about one agent at
 * once.
 */
const MOST_KEPT = 8;

/**
 * All agents of the home, those at work and those at rest.
 *
 * AGENT-LIST-1. Reading opens no agent: the summary of an agent at rest is known, and its situation is read on demand.
 * AGENT-LIST-2. Only this process writes, so what was read is valid as long as the log has not grown.
 */
export class Agents {
  readonly #runtime: Runtime;
  readonly #kept = new Map<AgentId, Situation>();
  /** What waits for the human with agents at rest. */
  readonly #waiting = new Map<AgentId, { seq: number; items: InboxItem[] }>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** To do something with it: open in this process from now on. */
  async agent(id: string): Promise<Agent> {
    return this.#runtime.agent((await this.log(id)).id);
  }

  log(id: string): Promise<AgentLog> {
    return existingAgent(this.#runtime.store, id);
  }

  async situation(id: string): Promise<Situation> {
    const log = await this.log(id);
    const open = this.#runtime.opened(log.id);
    if (open) return open.now;
    const kept = this.#kept.get(log.id);
    const now = kept?.seq === log.seq ? kept : await this.#runtime.situation(log.id);
    this.#kept.delete(log.id);
    this.#kept.set(log.id, now);
    for (const oldest of this.#kept.keys()) if (this.#kept.size > MOST_KEPT) this.#kept.delete(oldest);
    return now;
  }

  async summary(id: string): Promise<AgentSummary> {
    return agentView(await this.#runtime.summary((await this.log(id)).id));
  }

  /** Newest first, and those that cannot be read. Those whose long logs have not been read yet are marked `loading`. */
  async summaries(): Promise<{ agents: AgentSummary[]; unreadable: { id: string; why: string }[] }> {
    const summaries = await this.#runtime.listed();
    const readable = new Set(summaries.map(({ id }) => id));
    const unreadable: { id: string; why: string }[] = [];
    for (const id of await this.#runtime.store.agents()) {
      if (readable.has(id)) continue;
      const why = await this.#runtime.summary(id).then(
        () => undefined, // it has just been made
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      );
      if (why !== undefined) unreadable.push({ id, why });
    }
    return { agents: summaries.map(listedView), unreadable };
  }

  /** Everybody who is in a team, of the newest agents first; archived ones are left out, and so are meshes. */
  async workers(): Promise<{ id: string; name: string; identity: string; agent: { id: string; name: string } }[]> {
    const summaries = (await this.#runtime.summaries()).filter((each) => !each.archived && each.meshes_of === null);
    return summaries.flatMap(({ id, name, people }) => people.map((each) => ({ ...each, agent: { id, name } })));
  }

  /** What waits for the human, oldest first. */
  async inbox(): Promise<InboxItem[]> {
    const shared = this.#runtime.sharedInbox();
    if (shared) return shared;
    const all: InboxItem[] = [];
    for (const { id, seq, archived, open_questions, needs_decision, unread } of await this.#runtime.summaries()) {
      if (archived || (open_questions + unread === 0 && !needs_decision)) continue;
      const known = this.#waiting.get(id);
      const items = known?.seq === seq ? known.items : inboxOf([await this.situation(id)]);
      this.#waiting.set(id, { seq, items });
      all.push(...items);
    }
    return all.sort((a, b) => a.since_ts - b.since_ts);
  }

  /** After a start: who was interrupted goes on, who waits for a time keeps it. Tells of each that could not. */
  async takeUp(failed: (id: string, error: unknown) => void): Promise<void> {
    const { hosting, clock } = this.#runtime;
    // Of an engine, those that no other host works on: with each heartbeat.
    if (hosting) return void takeOver({ hosting, clock, failed, agent: (id) => this.#runtime.agent(id) });
    const listed = await this.#runtime.listed();
    // Nobody waits for the long logs of others.
    const inOrder = [...listed.filter(({ loading }) => !loading), ...listed.filter(({ loading }) => loading)];
    for (const { id } of inOrder) {
      try {
        const { status, archived, keeps_time } = await this.#runtime.summary(id);
        if (archived || !(keeps_time || isAtWork(status))) continue;
        await takeUp(await this.#runtime.agent(id));
      } catch (error) {
        failed(id, error);
      }
    }
  }
}
