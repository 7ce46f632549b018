import { z } from "zod";
import { actorSchema } from "../actor.ts";
import { factTypes } from "../fact.ts";
import { nodeIdSchema } from "../ids.ts";
import { afterSeqQuery } from "./page-query.ts";

/** Facts after a number; without a number, the newest. */
export const eventsQuery = afterSeqQuery.extend({ after: z.coerce.number().int().min(0).optional() });
export const eventSchema = z.object({
  seq: z.int(),
  type: z.enum(factTypes as [string, ...string[]]),
  agent_id: z.string(),
  ts: z.number(),
  data: z.record(z.string(), z.unknown()),
  /** Who gave the command that it follows from; absent where it was not a command. */
  actor: actorSchema.optional(),
});
export const eventsPageSchema = z.object({
  events: z.array(eventSchema),
  next_after: z.int().nullable(),
});

/** Words of a model as they are streamed over the WebSocket: not a fact, and not kept. */
export const deltaFrameSchema = z.object({
  type: z.literal("delta"),
  agent_id: z.string(),
  worker_id: z.string(),
  node_id: nodeIdSchema.nullable(),
  kind: z.enum(["text", "reasoning"]),
  text: z.string(),
  /** To a client that watches: all that was said of this reply until now, also what it may have heard before. */
  so_far: z.literal(true).optional(),
});
export type DeltaFrame = z.infer<typeof deltaFrameSchema>;

/** Sent to a client that watches: as of this fact, nobody works on the agent any more and its files are written. */
export const restFrameSchema = z.object({
  type: z.literal("rest"),
  seq: z.int(),
  /** The record could not be kept. */
  error: z.string().optional(),
});
export type RestFrame = z.infer<typeof restFrameSchema>;
