import { isAtWork } from "../projections/index.ts";
import type { Clock } from "../protocol/clock.ts";
import type { AgentId } from "../protocol/index.ts";
import { isAgentId } from "../store/paths.ts";
import type { Agent } from "./agent.ts";
import type { Hosting } from "./hosting.ts";

export interface TakeOverPorts {
  hosting: Pick<Hosting, "onBeat">;
  clock: Pick<Clock, "now">;
  agent(id: AgentId): Promise<Agent>;
  /** It could not go on here. */
  failed(id: AgentId, error: unknown): void;
}

/** One that could not go on here is left to others, or to a person, for so long. */
const LEFT_MS = 10 * 60_000;

/**
 * Agents that nobody works on although something is to be done there go on here: their host has died, has left, or they
 * rested until something fell due.
 *
 * TAKE-OVER-1. Each is claimed by one host; what another was faster with is no failure.
 * TAKE-OVER-2. It goes on as after a crash: fold, settle, repeat what is not marked as done.
 * Returns a function that ends it.
 */
export function takeOver({ hosting, clock, agent: open, failed }: TakeOverPorts): () => void {
  const underWay = new Set<AgentId>();
  const failures = new Map<AgentId, number>();
  const take = async (id: AgentId) => {
    const before = failures.get(id);
    if (underWay.has(id) || (before !== undefined && clock.now() - before < LEFT_MS)) return;
    underWay.add(id);
    try {
      await takeUp(await open(id));
      failures.delete(id);
    } catch (error) {
      if (error instanceof Error && error.name === "ElsewhereError") return;
      failures.set(id, clock.now());
      failed(id, error);
    } finally {
      underWay.delete(id);
    }
  };
  return hosting.onBeat(({ orphans, due }) => {
    for (const tree of [...orphans, ...due]) {
      const id = tree.slice("agents/".length);
      if (isAgentId(id)) void take(id);
    }
  });
}

/** Who was interrupted goes on, who waits for a time keeps it. */
export async function takeUp(agent: Agent): Promise<void> {
  // A person who looks on may have resumed it.
  await agent.drained();
  const { status, archived_ts } = agent.now.agent;
  if (archived_ts !== null) return;
  if (!isAtWork(status)) agent.keepTime();
  else if (!agent.isWorking) await agent.start("recovered");
}
