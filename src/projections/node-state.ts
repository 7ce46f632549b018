import type { FactOf, NodeId, Outcome, PublishedFile, WorkerId } from "../protocol/index.ts";

export interface NodeBase {
  id: NodeId;
  spec: FactOf<"node.created">["data"];
  created_ts: number;
  children: NodeId[];
  /** The worker that must take it, when one is named. */
  reserved_for: WorkerId | null;
  /** Who assigned it to that worker, if anyone did: a person's choice overrides `not_by`. */
  reserved_by?: WorkerId;
  /** Everybody who has had it, in the order in which they first did. */
  authors: WorkerId[];
  /** Tries that failed so far. */
  failures: number;
  /** What this node and the nodes below it have spent. */
  spent_usd: number;
  /** How many facts are about this node. */
  facts: number;
  /** The newest fact about this node, so that its `log.jsonl` can be checked against it. */
  last_seq: number;
  /** It had ended and goes on: what was published of it is to be worked on again. */
  reopened?: true;
  /** Who had it before, and what they left: the next worker goes on from there. */
  handed?: { from: WorkerId; did: string };
  /** Nobody takes it before it is released. */
  held?: true;
  /** What was asked before each change of its spec, the oldest first. */
  asked_before?: ChangeableSpec[];
}

/** What `node.updated` can change. */
export type ChangeableSpec = Pick<NodeBase["spec"], "task" | "deliverables" | "checks">;

export interface NodeEnd {
  worker_id: WorkerId;
  files: PublishedFile[];
  ended_ts: number;
  /** Who hears of an end is decided by what had ended before it. */
  ended_seq: number;
  /** What had ended below it and its worker was never told of. */
  unheard: NodeId[];
}

/** A field exists only in the states that have it. */
export type NodeState = NodeBase &
  (
    | { status: "pending" }
    /** What is said to the worker from `assigned_seq` on is said while it has this work. */
    | { status: "assigned"; worker_id: WorkerId; assigned_seq: number }
    | { status: "running"; worker_id: WorkerId; assigned_seq: number; started_ts: number }
    /** The intent to publish is recorded; the rename may or may not have happened. */
    | {
        status: "publishing";
        worker_id: WorkerId;
        summary: string;
        files: PublishedFile[];
        /** Why it is only a part, and the node will fail. */
        partial: Outcome | null;
      }
    | (NodeEnd & { status: "completed"; summary: string })
    /** With what could be published of it, if anything. */
    | (NodeEnd & { status: "failed"; outcome: Outcome })
    /** No longer needed; `worker_id` is who had it last, or the coordinator where nobody had. */
    | (NodeEnd & { status: "cancelled"; by: string; reason: string })
  );

export type EndedNode = Extract<NodeState, { status: "completed" | "failed" | "cancelled" }>;

/** Ended by its worker or from outside, or with its run. */
export function hasEnded(node: NodeState | undefined): node is EndedNode {
  return node?.status === "completed" || node?.status === "failed" || node?.status === "cancelled";
}

/** Nothing that depends on it can begin. */
export function isLost(node: NodeState | undefined): boolean {
  return node?.status === "failed" || node?.status === "cancelled";
}

/** All work of an agent, by node id, in the order of creation. */
export interface Board {
  nodes: Record<NodeId, NodeState>;
}
