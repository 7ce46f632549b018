import { z } from "zod";
import { afterIdQuery } from "./page-query.ts";

export const agentStatusSchema = z.enum([
  "idle",
  "working",
  "waiting_for_human",
  "paused",
  "stopped",
  "completed",
  "failed",
]);

/** A worker that looks busy although its model does not answer. */
export const troubleSchema = z.object({
  worker_id: z.string(),
  model: z.string(),
  /** `connection`, `rate_limited`, `server`, `stalled` … */
  reason: z.string(),
  message: z.string(),
  /** Since the first try that failed, and how many have in a row. */
  since: z.number(),
  tries: z.int(),
  retry_at: z.number().nullable(),
});

/** Where many are listed, `goal`, `summary` and `error` are cut after 1,000 characters; `GET /agents/{id}` has them whole. */
export const agentSummarySchema = z.object({
  id: z.string(),
  name: z.string(),
  /** Of the run that is under way or was the last. */
  goal: z.string(),
  mode: z.enum(["finite", "infinite"]),
  status: agentStatusSchema,
  /** It counts as working, and only the clock or somebody's word goes on with it. */
  asleep: z.boolean(),
  archived: z.boolean(),
  model: z.string(),
  worker_model: z.string(),
  run_id: z.string().nullable(),
  current_stage: z.string().nullable(),
  node_count: z.int(),
  nodes_completed: z.int(),
  nodes_failed: z.int(),
  worker_count: z.int(),
  open_questions: z.int(),
  /** It failed, or waits for the human's approval: nothing goes on before it is resumed. */
  needs_decision: z.boolean(),
  /** Messages to the human that they have not seen. */
  unread: z.int(),
  /** The longest trouble of its team, and how many are in one. */
  trouble: troubleSchema.extend({ worker_name: z.string(), workers: z.int() }).nullable(),
  cost_usd: z.number(),
  unpriced_calls: z.int(),
  budget_usd: z.number().nullable(),
  summary: z.string().nullable(),
  error: z.string().nullable(),
  created_at: z.number(),
  updated_at: z.number(),
  /** The newest fact. */
  seq: z.int(),
  /** The project whose meshes it is the record of; null for an agent that thinks. */
  meshes_of: z.string().nullable(),
  /**
   * Its long record is still being read, for example after an upgrade: name, model and dates are right; the status is that of the latest
   * facts; counts, money and what waits may be out of date. `WS /events` sends the summaries again when it has been read.
   */
  loading: z.literal(true).optional(),
});
export type AgentSummary = z.infer<typeof agentSummarySchema>;

export type AgentDetail = z.infer<typeof agentDetailSchema>;
/** With the outcome of its last run. */
export const agentDetailSchema = agentSummarySchema.extend({
  /** The result, what is wanted first; each is at `/agents/{id}/workspace/{path}`. */
  results: z.array(z.object({ path: z.string(), bytes: z.int(), by: z.string(), changed: z.boolean() })),
});

export const agentsQuery = z.strictObject({
  ...afterIdQuery.shape,
  archived: z.enum(["true", "false", "all"]).default("false"),
});
export const agentsPageSchema = z.object({
  agents: z.array(agentSummarySchema),
  /** Agents of the home that cannot be read, and why. */
  unreadable: z.array(z.object({ id: z.string(), why: z.string() })),
  next_after: z.string().nullable(),
});

/** The working copy of an agent of another host is as the engine has it. */
export const copySchema = z.object({ id: z.string() });

export const triggerSchema = z.object({
  id: z.string(),
  agent_id: z.string(),
  type: z.string(),
  action: z.object({ type: z.string(), payload: z.record(z.string(), z.unknown()) }),
  status: z.enum(["active", "paused", "fired", "expired", "cancelled"]),
  created_at: z.number(),
  created_by: z.string(),
  metadata: z.record(z.string(), z.unknown()),
  missed: z.string(),
  due: z.number().nullable(),
  fired: z.int(),
});
export const triggersPageSchema = z.object({
  triggers: z.array(triggerSchema),
  next_after: z.string().nullable(),
});

export const namedSchema = z.object({ id: z.string(), name: z.string() });
