import { AGENT_SUMMARY_VERSION, type AgentSummaryData, summarise } from "../projections/index.ts";
import type { AgentId, Fact } from "../protocol/index.ts";
import type { AgentLog, Store } from "../store/store.ts";
import type { Agent } from "./agent.ts";
import { saveSituation, situationOf } from "./inspect.ts";

export interface OpenAgentsPorts {
  store: Store;
  now(): number;
  /** How many may be held open although they rest. */
  keptOpen?: number;
}

interface Held {
  opening: Promise<Agent>;
  /** Once it is open. */
  agent: Agent | undefined;
  /** When it was last asked for. */
  used: number;
}

const KEPT_OPEN = 64;
/** Whoever asked for an agent this short a time ago may still be about to use it. */
const GRACE_MS = 60_000;

/**
 * The agents of a home that are open in this process. The others are a summary in memory and files on disk.
 *
 * O1. An agent is open once: whoever asks for one that is being put away gets it when it is open again.
 * O2. Only those that rest are put away, longest unused first, and only when more are open than need be.
 * O3. A summary is as new as the log: it is taken from the open agent, from what was kept at the log's end, or by folding.
 */
export class OpenAgents {
  readonly #ports: OpenAgentsPorts;
  readonly #held = new Map<AgentId, Held>();
  readonly #leaving = new Map<AgentId, Promise<void>>();
  readonly #summaries = new Map<AgentId, AgentSummaryData>();
  readonly #listeners = new Set<(fact: Fact) => void>();

  constructor(ports: OpenAgentsPorts) {
    this.#ports = ports;
  }

  /** The agent if it is open here, or being opened. */
  held(id: AgentId): Promise<Agent> | undefined {
    return this.#held.get(id)?.opening;
  }

  /** The agent if it is open here now. */
  opened(id: AgentId): Agent | undefined {
    return this.#held.get(id)?.agent;
  }

  get(id: AgentId, open: (log: AgentLog) => Promise<Agent>): Promise<Agent> {
    const known = this.#held.get(id);
    if (known) {
      known.used = this.#ports.now();
      return known.opening;
    }
    const left = this.#leaving.get(id) ?? Promise.resolve();
    return this.#hold(
      id,
      left.then(() => this.#ports.store.open(id)),
      open,
    );
  }

  /** An agent that was just made; its first fact is not on disk yet. */
  add(log: AgentLog, open: (log: AgentLog) => Promise<Agent>): Promise<Agent> {
    return this.#hold(log.id, Promise.resolve(log), open);
  }

  /** Every fact of every open agent, once it is on disk. Nothing happens to the others. Returns the unsubscribe. */
  subscribe(listener: (fact: Fact) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** All agents of the home that can be read, newest first. */
  async summaries(): Promise<AgentSummaryData[]> {
    const all: AgentSummaryData[] = [];
    for (const id of await this.#ports.store.agents()) {
      // One that cannot be read is shown by nobody; `agent(id)` says why.
      const summary = await this.summary(id).catch(() => undefined);
      if (summary) all.push(summary);
    }
    return all.sort((a, b) => b.created_ts - a.created_ts);
  }

  async summary(id: AgentId): Promise<AgentSummaryData> {
    const agent = this.#held.get(id)?.agent;
    const known = this.#summaries.get(id);
    if (known && (agent === undefined || known.seq === agent.now.seq)) return known;
    const summary = agent ? summarise(agent.now) : await summaryIn(await this.#ports.store.open(id));
    this.#summaries.set(id, summary);
    return summary;
  }

  async close(): Promise<void> {
    await Promise.all(this.#leaving.values());
    const agents = await Promise.allSettled([...this.#held.values()].map(({ opening }) => opening));
    await Promise.all(agents.map((opened) => (opened.status === "fulfilled" ? opened.value.close() : undefined)));
  }

  #hold(id: AgentId, opening: Promise<AgentLog>, open: (log: AgentLog) => Promise<Agent>): Promise<Agent> {
    const opened = opening.then((log) => {
      log.subscribe(this.#tell);
      return open(log);
    });
    const held: Held = { opening: opened, agent: undefined, used: this.#ports.now() };
    this.#held.set(id, held);
    opened.then(
      (agent) => {
        held.agent = agent;
        this.#putSomeAway();
      },
      () => this.#held.delete(id),
    );
    return opened;
  }

  readonly #tell = (fact: Fact): void => {
    for (const listener of this.#listeners) listener(fact);
  };

  #putSomeAway(): void {
    const { keptOpen = KEPT_OPEN, now } = this.#ports;
    const tooMany = this.#held.size - keptOpen;
    if (tooMany <= 0) return;
    const old = [...this.#held].filter(([, { agent, used }]) => agent?.isResting && now() - used >= GRACE_MS);
    old.sort(([, a], [, b]) => a.used - b.used);
    for (const [id, { agent }] of old.slice(0, tooMany)) if (agent) this.#putAway(id, agent);
  }

  #putAway(id: AgentId, agent: Agent): void {
    this.#held.delete(id);
    this.#summaries.set(id, summarise(agent.now));
    const leaving = agent
      .close()
      .then(() => agent.log.close())
      .finally(() => this.#leaving.delete(id));
    this.#leaving.set(id, leaving);
  }
}

/** As it was kept, if nothing has happened since; otherwise folded, and kept for the next time. */
async function summaryIn(log: AgentLog): Promise<AgentSummaryData> {
  const kept = await log.snapshot<AgentSummaryData>("summary", AGENT_SUMMARY_VERSION);
  if (kept?.seq === log.seq) return kept.state;
  const now = await situationOf(log);
  await saveSituation(log, now).catch(() => {});
  return summarise(now);
}
