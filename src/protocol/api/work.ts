import { z } from "zod";
import { storedEntrySchema } from "../entry.ts";
import { publishedFileSchema } from "../fact-fields.ts";
import { outcomeSchema } from "../outcome.ts";
import { namedSchema, troubleSchema } from "./agents.ts";
import { eventsPageSchema } from "./events.ts";
import { listedFileSchema } from "./files.ts";

/** A whole file; `base64` for content that is not text. */
export const putFileSchema = z.strictObject({ content: z.string(), encoding: z.enum(["utf8", "base64"]).optional() });
export const fileWrittenSchema = z.object({ path: z.string(), bytes: z.int().nonnegative() });

export const nodeViewSchema = z.object({
  id: z.string(),
  run_id: z.string(),
  stage: z.int().nullable(),
  task: z.string(),
  status: z.enum(["pending", "assigned", "running", "publishing", "completed", "failed", "cancelled"]),
  assigned_worker: z.string().nullable(),
  parent_node: z.string().nullable(),
  children: z.array(z.string()),
  dependencies: z.array(z.string()),
  deliverables: z.array(z.string()),
  created_by: z.string(),
  created_at: z.number(),
  ended_at: z.number().nullable(),
  /** The first 200 characters of its summary, or of why it failed. */
  result_preview: z.string().nullable(),
  cost_usd: z.number(),
});
export type NodeView = z.infer<typeof nodeViewSchema>;

export const stageViewSchema = z.object({
  run_id: z.string(),
  number: z.int(),
  name: z.string(),
  status: z.enum(["running", "reconvening", "completed"]),
  nodes: z.array(z.string()),
  checkpoint_policy: z.string(),
  assessment: z.string().nullable(),
});
export const boardPageSchema = z.object({
  nodes: z.array(nodeViewSchema),
  stages: z.array(stageViewSchema),
  current_stage: z.int().nullable(),
  next_after: z.string().nullable(),
});

export const nodeDetailSchema = z.object({
  ...nodeViewSchema.shape,
  /** What was asked for, as it stands in `_spec.md`. */
  spec: z.string().nullable(),
  refs: z.record(z.string(), z.string()),
  summary: z.string().nullable(),
  outcome: outcomeSchema.nullable(),
  /** What was published, with its hashes. */
  manifest: z.array(publishedFileSchema),
  /** Its folder in the workspace, and what is in it. */
  folder: z.string(),
  scratch: z.array(listedFileSchema),
  published: z.array(listedFileSchema),
  /** Why it exists: who wanted it, for what, and the fact that says so. */
  why: z.object({
    created_by: z.string(),
    parent_node: z.string().nullable(),
    parent_task: z.string().nullable(),
    goal: z.string().nullable(),
    seq: z.int().nullable(),
  }),
  /** What happened to it. */
  log: eventsPageSchema,
});

export const workerViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  kind: z.string(),
  model: z.string(),
  run_id: z.string(),
  status: z.enum(["idle", "busy", "waiting", "stopped", "retired"]),
  node_id: z.string().nullable(),
  waiting_for: z.string().nullable(),
  trouble: troubleSchema.nullable(),
  identity: z.string().nullable(),
  calls: z.int(),
  tokens: z.int(),
  cost_usd: z.number(),
});
export const workersPageSchema = z.object({
  workers: z.array(workerViewSchema),
  next_after: z.string().nullable(),
});

/** What a worker read, said and did, oldest first. */
export const entriesPageSchema = z.object({ entries: z.array(storedEntrySchema), next_before: z.int().nullable() });
/** The workers of all agents in a few fields, for searching. */
export const listedWorkersPageSchema = z.object({
  workers: z.array(z.object({ id: z.string(), name: z.string(), identity: z.string(), agent: namedSchema })),
  next_after: z.string().nullable(),
});
