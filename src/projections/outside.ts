import { dict } from "../protocol/dict.ts";
import type { Fact, WorkerId } from "../protocol/index.ts";

/** What is known about outside programs: how to resume each, and what it may do without asking. */
export interface Outside {
  /** The newest session on each node, with whose it is; for a program that leads, by its worker id. */
  sessions: Record<string, { worker_id: WorkerId; session_id: string }>;
  permitted: Record<WorkerId, Permission[]>;
}

/** What a person always allows a worker, in this run. */
export interface Permission {
  /** The tool and what it is called with; a record from before there were keys has none, and allows nothing any more. */
  key: string;
  tool: string;
  /** In words. */
  what: string;
  since_ts: number;
}

export function permissionsOf({ permitted }: Outside, worker_id: WorkerId): readonly Permission[] {
  return Object.hasOwn(permitted, worker_id) ? (permitted[worker_id] ?? []) : [];
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
      const { worker_id, tool, key, what = tool } = fact.data;
      const before = permissionsOf(outside, worker_id);
      if (key === undefined || before.some((each) => each.key === key)) return;
      outside.permitted[worker_id] = [...before, { key, tool, what, since_ts: fact.ts }];
      return;
    }
    case "permission.revoked": {
      const { worker_id, key } = fact.data;
      const left = permissionsOf(outside, worker_id).filter((each) => each.key !== key);
      if (left.length > 0) outside.permitted[worker_id] = left;
      else delete outside.permitted[worker_id];
      return;
    }
    // Who leads has the same name in every run, and permission for this one only.
    case "run.started":
      outside.permitted = dict();
      return;
    // Names are used again in the next run, by others.
    case "worker.spawned":
      delete outside.permitted[fact.data.worker_id];
      return;
  }
}
