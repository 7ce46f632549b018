import { z } from "zod";

/**
 * Who gave a command. `id` distinguishes people if a home has several; `via` is how it came in: `terminal`, `web`,
 * `webhook:NAME`, `channel:NAME`, or the name of another client.
 */
export const actorSchema = z.object({
  kind: z.enum(["human", "program"]),
  id: z.string().min(1).max(200).optional(),
  via: z.string().min(1).max(200),
});
export type Actor = z.infer<typeof actorSchema>;

/** The header in which a client of the API names itself; without it, it counts as `web`. */
export const VIA_HEADER = "x-agiraph-via";
export const viaSchema = z.enum(["terminal", "web", "api"]);
export type Via = z.infer<typeof viaSchema>;
