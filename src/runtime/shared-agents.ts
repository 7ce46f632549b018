import type { AgentNote, Listed } from "../engine/agent-directory.ts";
import { type AgentSummaryData, isAtWork, type Situation, summarise } from "../projections/index.ts";
import type { Clock } from "../protocol/clock.ts";
import type { AgentId } from "../protocol/index.ts";
import type { Agent } from "./agent.ts";
import { type InboxItem, inboxOf } from "./human/inbox.ts";
import type { OpenAgents } from "./open-agents.ts";
import { wakesAt } from "./time/wakes-at.ts";

/** What all hosts of an engine know of each agent. */
export interface SharedDirectory {
  all(): Promise<readonly Listed[]>;
  readonly unnoted: readonly AgentId[];
  note(id: AgentId, note: () => AgentNote): void;
  onChanged(listener: () => void): () => void;
}

export interface SharedAgentsPorts {
  directory: SharedDirectory;
  agents: OpenAgents;
  open(id: AgentId): Promise<Agent>;
  clock: Pick<Clock, "now">;
}

/** One that has something to do this soon is not given back before. */
const SOON_SECONDS = 60;

/**
 * All agents of an engine, wherever they are: those that are open here as they are now, the others as their hosts noted
 * them.
 *
 * SHARED-AGENTS-1. Listing them opens none.
 * SHARED-AGENTS-2. Those of which nothing is noted yet are opened one after the other, and given back.
 */
export class SharedAgents {
  readonly #ports: SharedAgentsPorts;
  readonly #tried = new Set<AgentId>();
  #loading: Promise<void> | undefined;

  constructor(ports: SharedAgentsPorts) {
    this.#ports = ports;
    ports.agents.subscribe(({ agent_id }) => this.#note(ports.agents.opened(agent_id)));
  }

  /** It is open here from now on: all hosts are told how it is doing. */
  readonly opened = (agent: Agent): void => this.#note(agent);

  /** Newest first. */
  async listed(): Promise<AgentSummaryData[]> {
    const all = new Map((await this.#ports.directory.all()).map(({ summary }) => [summary.id, summary]));
    for (const agent of this.#ports.agents.all()) all.set(agent.log.id, await this.#ports.agents.summary(agent.log.id));
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    return [...all.values()].sort((a, b) => b.created_ts - a.created_ts);
  }

  summaries(): Promise<AgentSummaryData[]> {
    return this.listed();
  }

  async summary(id: AgentId): Promise<AgentSummaryData> {
    if (this.#ports.agents.opened(id)) return this.#ports.agents.summary(id);
    const found = (await this.#ports.directory.all()).find(({ summary }) => summary.id === id);
    if (!found) throw new Error(`The record of ${id} could not be read yet.`);
    return found.summary;
  }

  /** What waits for the person, with all agents that are not archived. */
  async inbox(): Promise<InboxItem[]> {
    const all = (await this.#ports.directory.all()).flatMap(({ summary, inbox }) => {
      const agent = this.#ports.agents.opened(summary.id);
      if (agent) return isArchived(agent) ? [] : inboxOf([agent.now]);
      return summary.archived ? [] : (inbox as InboxItem[]);
    });
    return all.sort((a, b) => a.since_ts - b.since_ts);
  }

  onLoaded(listener: () => void): () => void {
    return this.#ports.directory.onChanged(listener);
  }

  #note(agent: Agent | undefined): void {
    if (agent) this.#ports.directory.note(agent.log.id, () => noteOf(agent.now, this.#seconds));
  }

  /** Nobody works on it or looks on, and whatever falls due in it is known to all hosts. */
  readonly mayRest = (agent: Agent): boolean => {
    const due = agent.isQuiet ? wakesAt(agent.now, this.#seconds) : "stays";
    return due === null || (due !== "stays" && due - this.#seconds > SOON_SECONDS);
  };

  get #seconds(): number {
    return this.#ports.clock.now() / 1000;
  }

  async #load(): Promise<void> {
    for (const id of this.#ports.directory.unnoted) {
      if (this.#tried.has(id) || this.#ports.agents.opened(id)) continue;
      this.#tried.add(id);
      // One that cannot be read is listed as it is; asked for, it says why.
      const agent = await this.#ports.open(id).catch(() => undefined);
      if (agent) this.#ports.agents.giveBack(agent);
    }
  }
}

function noteOf(now: Situation, at: number): AgentNote {
  const summary = summarise(now);
  const due = wakesAt(now, at);
  const isWanted = !summary.archived && (isAtWork(summary.status) || due === "stays");
  return { summary, inbox: inboxOf([now]), isWanted, due: due === "stays" ? null : due };
}

function isArchived({ now }: Agent): boolean {
  return now.agent.archived_ts !== null;
}
