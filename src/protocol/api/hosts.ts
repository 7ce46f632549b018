import { z } from "zod";

/** A machine that works from the same engine. */
export const hostSchema = z.object({
  id: z.string(),
  name: z.string(),
  /** Of the program there. */
  version: z.string(),
  /** When it joined and was heard last, by the engine's clock. */
  since: z.number(),
  heard: z.number(),
  /** Not heard for so long that others take over what it has. */
  is_lost: z.boolean(),
  /** It gives everything away and takes nothing new. */
  is_draining: z.boolean(),
  /** How many agents it has, and how many it took over from hosts that were lost. */
  agents: z.int(),
  take_overs: z.int(),
});
export const hostsPageSchema = z.object({ hosts: z.array(hostSchema) });

export const drainHostSchema = z.strictObject({ undo: z.boolean().optional() }).nullish();
export const drainedSchema = z.object({ hosts: z.array(z.string()) });
