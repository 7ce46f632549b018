import { dict } from "../protocol/dict.ts";
import type { Fact, WorkerId } from "../protocol/index.ts";

/** What is known of programs that think for themselves: how to take each up again, and what it may do unasked. */
export interface Outside {
  /** The newest session on each node, with whose it is; of somebody who leads, by who it is. */
  sessions: Record<string, { worker_id: WorkerId; session_id: string }>;
  permitted: Record<WorkerId, string[]>;
}

export function noneOutside(): Outside {
  return { sessions: dict(), permitted: dict() };
}

export function applyToOutside(outside: Outside, fact: Fact): void {
  switch (fact.type) {
    case "worker.session": {
      const { node_id, worker_id, session_id } = fact.data;
      outside.sessions[node_id ?? worker_id] = { worker_id, session_id };
      return;
    }
    case "worker.permitted": {
      const { worker_id, tool } = fact.data;
      const tools = outside.permitted[worker_id] ?? [];
      if (!tools.includes(tool)) outside.permitted[worker_id] = [...tools, tool];
      return;
    }
    // Names are used again in the next run, by others.
    case "worker.spawned":
      delete outside.permitted[fact.data.worker_id];
      return;
  }
}
