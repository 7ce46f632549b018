import { z } from "zod";

/**
 * What goes over the wire, both ways: the server checks with these schemas, `GET /openapi.json` is made from them, and
 * the client takes its types from them. Names are snake_case, times are seconds since 1970 (seed 002 §14).
 *
 * API-1. Every list has a limit and says where the next page begins; null is the end.
 * API-2. Every refusal is an `ErrorBody`.
 */
export const errorBodySchema = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    /** Which field is wrong, and why. */
    details: z.array(z.object({ field: z.string(), problem: z.string() })).optional(),
  }),
});
export type ErrorBody = z.infer<typeof errorBodySchema>;
