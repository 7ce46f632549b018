import { z } from "zod";

/** What one model call took. `input` counts every prompt token; the cache figures are parts of it. */
export const usageSchema = z.object({
  input: z.int().nonnegative(),
  output: z.int().nonnegative(),
  cache_read: z.int().nonnegative(),
  cache_write: z.int().nonnegative(),
  reasoning: z.int().nonnegative(),
});
export type Usage = z.infer<typeof usageSchema>;

export const NO_USAGE: Usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0 };
