import { z } from "zod";
import type { Actor } from "./actor.ts";
import { callFacts, resourceFacts } from "./call-facts.ts";
import type { AgentId } from "./ids.ts";
import { meshFacts } from "./mesh.ts";
import { repositoryFacts } from "./repository.ts";
import { teamFacts } from "./team-facts.ts";
import { triggerFacts } from "./trigger.ts";
import { workFacts } from "./work-facts.ts";

/**
 * Whatever happens to an agent is a fact. Rules:
 * FACT-1. `seq` counts 1, 2, 3 … per agent, without gaps. Order is by `seq`, never by `ts`.
 * FACT-2. A fact names ids and short strings. Content stays in its file and the fact points at it.
 * FACT-3. A fact is never changed. New fields are optional, so that old homes open.
 */
export const factData = {
  ...workFacts,
  ...teamFacts,
  ...callFacts,
  ...triggerFacts,
  ...resourceFacts,
  ...meshFacts,
  ...repositoryFacts,
  /** Something in the home was damaged; what, and where the damaged bytes were set aside. */
  "log.repaired": z.object({ file: z.string(), what: z.string(), aside: z.string().nullable() }),
} as const;

export type FactType = keyof typeof factData;
export const factTypes = Object.keys(factData) as FactType[];

/** What happened, before the log has added number and date. */
export type NewFact = { [T in FactType]: { type: T; data: z.infer<(typeof factData)[T]>; actor?: Actor } }[FactType];

export type Fact = {
  [T in FactType]: {
    seq: number;
    type: T;
    agent_id: AgentId;
    ts: number;
    data: z.infer<(typeof factData)[T]>;
    /** Who gave the command that it follows from. */
    actor?: Actor;
  };
}[FactType];

export type FactOf<T extends FactType> = Extract<Fact, { type: T }>;
