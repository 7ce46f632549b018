import { z } from "zod";

/** How an assignment ends. The loop's only result. */
export const outcomeSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("finished"),
    summary: z.string(),
    learned: z.string().optional(),
    /** The result: files that the coordinator named, by their paths in the run's folder. */
    files: z.array(z.string()).optional(),
  }),
  z.object({ kind: z.literal("published"), summary: z.string() }),
  z.object({ kind: z.literal("exhausted"), turns: z.int() }),
  /** With the tokens where it was a budget of tokens that was spent. */
  z.object({ kind: z.literal("budget_exhausted"), spent_usd: z.number(), spent_tokens: z.int().optional() }),
  z.object({ kind: z.literal("failed"), error: z.string() }),
  /** Trying again would not help: out of time, out of context, going in circles. */
  z.object({ kind: z.literal("abandoned"), error: z.string() }),
  z.object({ kind: z.literal("stopped") }),
]);
export type Outcome = z.infer<typeof outcomeSchema>;
