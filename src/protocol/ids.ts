import { z } from "zod";

/** Ids are short, readable and carry their kind. Counters are per run, so that a history reads like a story. */
export type AgentId = `agent-${string}`;
export type RunId = `run-${number}`;
export type NodeId = `node-${number}`;
/** A worker's id is its name in lower case; the agent's own is always `coordinator`. */
export type WorkerId = string;

export const COORDINATOR = "coordinator";
export const HUMAN = "human";

export const agentIdSchema = z.templateLiteral(["agent-", z.string().regex(/^[a-z0-9]{4,32}$/)], {
  error: "expected the id of an agent, such as agent-k3x9wq2m",
});
export const runIdSchema = z.templateLiteral(["run-", z.int().positive()]);
export const nodeIdSchema = z.templateLiteral(["node-", z.int().positive()], {
  error: "expected the id of a node, such as node-1",
});
export const workerIdSchema = z.string().regex(/^[a-z][a-z0-9_-]{0,40}$/);
