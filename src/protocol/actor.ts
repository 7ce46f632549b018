import { z } from "zod";

/**
 * Who gave a command. `id` tells people apart where a home has several; `via` is the way it came: `terminal`, `web`,
 * `webhook:NAME`, or the name of whatever else gives commands.
 */
export const actorSchema = z.object({
  kind: z.enum(["human", "program"]),
  id: z.string().min(1).max(200).optional(),
  via: z.string().min(1).max(200),
});
export type Actor = z.infer<typeof actorSchema>;

/** The header by which a client of the API says what it is; without it, it counts as `web`. */
export const VIA_HEADER = "x-agiraph-via";
export const viaSchema = z.enum(["terminal", "web", "api"]);
export type Via = z.infer<typeof viaSchema>;
