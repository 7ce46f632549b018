import { z } from "zod";
import { nodeIdSchema, workerIdSchema } from "./ids.ts";

// Fields that several facts have.

export const ofNode = { node_id: nodeIdSchema };
export const ofWorker = { worker_id: workerIdSchema };
/** Nodes below that had ended without the worker being told: anyone who hears of this end hears of them too. */
export const unheard = { unheard: z.array(nodeIdSchema).optional() };
/** Who acts, and on which node; the coordinator acts on none. */
export const byWorker = { worker_id: workerIdSchema, node_id: nodeIdSchema.nullable() };

/** The limits of a stage, and when it is done (seed 002 §3.2). */
export const contractSchema = z.object({
  max_iterations_per_node: z.int().positive(),
  timeout_seconds: z.number().positive(),
  checkpoint_policy: z.enum(["all_must_complete", "majority", "any"]),
  /** How many stages the run may have in all; the smallest number that any stage of it names counts. */
  max_stages: z.int().positive().optional(),
});
export type StageContract = z.infer<typeof contractSchema>;

/** The channel of an answer that was not given in time. */
export const DEADLINE = "deadline";

export const publishedFileSchema = z.object({ path: z.string(), sha256: z.string(), bytes: z.int().nonnegative() });
export type PublishedFile = z.infer<typeof publishedFileSchema>;

/** A ref of a node to something that was not published in its run. Paths of its files are from the node's `inputs/`. */
export const givenInputSchema = z.object({ name: z.string(), from: z.string(), files: z.array(publishedFileSchema) });
export type GivenInput = z.infer<typeof givenInputSchema>;
