import { z } from "zod";
import { byWorker } from "./fact-fields.ts";
import { usageCorrectionSchema, usageSchema } from "./usage.ts";

/** Of a budget: money or tokens. */
const spent = z.object({
  spent_usd: z.number(),
  budget_usd: z.number().optional(),
  spent_tokens: z.int().optional(),
  budget_tokens: z.int().optional(),
});

/** Calls of models and tools. */
export const callFacts = {
  "model.called": z.object({ ...byWorker, model: z.string(), turn: z.int() }),
  "model.responded": z.object({
    ...byWorker,
    model: z.string(),
    turn: z.int(),
    usage: usageSchema,
    cost_usd: z.number().nullable(),
    finish: z.string(),
    ms: z.number(),
    /** No call: the calls before it have cost so much more than was thought, or less than that. */
    correction: z.literal(true).optional(),
    /** The program does not say what it used, or not yet: this is made of what it said and was told. */
    estimated: z.literal(true).optional(),
    /** With a correction, for a turn whose calls were estimated: so many tokens more, or fewer. None is estimated then. */
    usage_correction: usageCorrectionSchema.optional(),
  }),
  "model.failed": z.object({
    ...byWorker,
    model: z.string(),
    turn: z.int(),
    reason: z.string(),
    status: z.int().optional(),
    message: z.string(),
    /** Null when we gave up. */
    retry_in_ms: z.number().nullable(),
  }),
  "model.warned": z.object({ ...byWorker, model: z.string(), message: z.string() }),

  "tool.called": z.object({ ...byWorker, call_id: z.string(), tool: z.string(), gist: z.string() }),
  "tool.result": z.object({
    ...byWorker,
    call_id: z.string(),
    tool: z.string(),
    ok: z.boolean(),
    ms: z.number(),
    gist: z.string(),
  }),

  /** A server of `mcp_servers` is not there: its tools are missing, everything else goes on. */
  "mcp.failed": z.object({ ...byWorker, server: z.string(), why: z.string() }),
  /** A server describes a tool otherwise than before, while somebody has it: it may do something else now. */
  "mcp.changed": z.object({ ...byWorker, server: z.string(), tool: z.string() }),
} as const;

/** The models and the budget, and commands at work. */
export const resourceFacts = {
  /** The human has the agent go on with other models: workers who had the usual one have the new one from now on. */
  "model.set": z.object({
    model: z.string(),
    worker_model: z.string(),
    was: z.object({ model: z.string(), worker_model: z.string() }),
  }),

  /** The human allows more, or less; null means no limit, and what is absent stays as it is. */
  "budget.set": z.object({
    budget_usd: z.number().positive().nullable().optional(),
    budget_tokens: z.int().positive().optional(),
  }),
  /** Most of it is spent: money or tokens, whichever it was. */
  "budget.warned": spent,
  "budget.exceeded": spent,

  /** `omitted`: what of the project it does not see, and why; where that is new to who started it. */
  "process.started": z.object({
    ...byWorker,
    pid: z.int(),
    command: z.string(),
    sandbox: z.string(),
    omitted: z.array(z.string()).optional(),
    /** Its id, when it runs beside the turns of the one who started it. */
    background: z.string().optional(),
  }),
  /**
   * `background`: the id of a command that ended beside the turns of the one who started it, who is to be told. `rested`:
   * a program that waited for long was ended to free its memory, and is resumed when there is something to tell it.
   * `output`: the end of what a background command printed and nobody has read. `interrupted`: it ended with our process.
   */
  "process.exited": z.object({
    ...byWorker,
    pid: z.int(),
    code: z.int().nullable(),
    signal: z.string().nullable(),
    background: z.string().optional(),
    output: z.string().optional(),
    interrupted: z.literal(true).optional(),
    rested: z.boolean().optional(),
  }),
} as const;
