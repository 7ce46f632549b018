import { z } from "zod";

/** The tokens of one model call. `input` counts every prompt token; the cache figures are parts of it. */
export const usageSchema = z.object({
  input: z.int().nonnegative(),
  output: z.int().nonnegative(),
  cache_read: z.int().nonnegative(),
  cache_write: z.int().nonnegative(),
  reasoning: z.int().nonnegative(),
});
export type Usage = z.infer<typeof usageSchema>;

export const NO_USAGE: Usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0 };

/** How much more than was counted, or less. */
export const usageCorrectionSchema = z.object({
  input: z.int(),
  output: z.int(),
  cache_read: z.int(),
  cache_write: z.int(),
  reasoning: z.int(),
});

export function usagePlus(one: Usage, other: Usage): Usage {
  return combined(one, other, (a, b) => a + b);
}

export function usageMinus(one: Usage, other: Usage): Usage {
  return combined(one, other, (a, b) => a - b);
}

function combined(one: Usage, other: Usage, of: (a: number, b: number) => number): Usage {
  return {
    input: of(one.input, other.input),
    output: of(one.output, other.output),
    cache_read: of(one.cache_read, other.cache_read),
    cache_write: of(one.cache_write, other.cache_write),
    reasoning: of(one.reasoning, other.reasoning),
  };
}
