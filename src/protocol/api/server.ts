import { z } from "zod";

const price = z.object({
  input: z.number(),
  output: z.number(),
  cache_read: z.number().optional(),
  cache_write: z.number().optional(),
});
export const modelsPageSchema = z.object({
  models: z.array(
    z.object({
      id: z.string(),
      context_window: z.int(),
      searches_web: z.boolean(),
      price_usd_per_million: price.nullable(),
      usable: z.boolean(),
      /** What it needs before it can be used: a variable, a program, or in words what is wrong with it. */
      missing: z.string().nullable(),
    }),
  ),
  /** What the names of models on servers of config.json begin with: any model of theirs can be named, listed or not. */
  prefixes: z.array(z.string()),
  /**
   * What is taken when nobody chooses, and why; of workers the same model unless one is named, and no budget unless there
   * is. The folder in which the server was started is only offered.
   */
  default: z.object({
    model: z.string(),
    why: z.string(),
    worker_model: z.string().nullable(),
    budget_usd: z.number().nullable(),
    project: z.string().nullable(),
  }),
  /** The folders that config.json describes, and whether new agents in them may change the repository. */
  projects: z.array(z.object({ folder: z.string(), write: z.boolean() })),
  next_after: z.string().nullable(),
});

/**
 * `disk_full`: nothing is recorded until there is room. `read_only`: a write failed; nothing is recorded until a
 * restart. `engine_away`: the engine does not answer; what is under way waits for it.
 */
export const healthSchema = z.object({
  status: z.enum(["ok", "disk_full", "read_only", "engine_away"]),
  version: z.string(),
});
/** How config.json differs from the settings that the server uses. */
export const configStateSchema = z.object({
  /** Why the file cannot be taken; what was good before it holds. */
  problem: z.string().nullable(),
  /** What of it was changed since the start and holds only after a restart. */
  after_restart: z.array(z.string()),
});
export const loginLinkSchema = z.object({ url: z.string(), expires_at: z.number() });
