import { z } from "zod";
import { nodeIdSchema } from "./ids.ts";

/**
 * Something that is to happen later (seed 002 §9.5): when, and what. Times in facts are absolute, in seconds like every
 * `ts`, so that neither a restart nor a change of the machine's time zone moves them.
 */
export type TriggerId = `trigger-${number}`;
export const triggerIdSchema = z.templateLiteral(["trigger-", z.int().positive()]);

const A_CENTURY = 100 * 366 * 86_400;
const least1 = "at least 1 second";
const aCentury = "at most a hundred years";

/** How often something may be checked, and how often a page on somebody else's server. */
export const LEAST_SECONDS = 10;
export const LEAST_FOR_URL = 60;

/** What is checked periodically: a file or folder, a page, or the output of a command. */
export const watchedSchema = z
  .strictObject({
    path: z.string().trim().min(1).max(1000).optional(),
    url: z
      .url({ protocol: /^https?$/ })
      .max(4000)
      .optional(),
    command: z.string().trim().min(1).max(4000).optional(),
  })
  .refine(isOne, "exactly one of path, url and command");
export type Watched = z.infer<typeof watchedSchema>;

/** Parses what to watch, as people write it: an address, `cmd: a command`, or else a path. */
export function watchedFrom(text: string): Watched {
  const command = /^cmd:\s*(.+)$/s.exec(text)?.[1];
  if (command !== undefined) return { command };
  return /^https?:\/\//i.test(text) ? { url: text } : { path: text };
}

const watchSchema = z
  .strictObject({
    ...watchedSchema.shape,
    every_seconds: z.number().min(LEAST_SECONDS, `at least ${LEAST_SECONDS} seconds`).max(A_CENTURY, aCentury),
  })
  .refine(isOne, "exactly one of path, url and command")
  .refine(({ url, every_seconds }) => url === undefined || every_seconds >= LEAST_FOR_URL, {
    message: `at least ${LEAST_FOR_URL} seconds for a URL`,
    path: ["every_seconds"],
  });

function isOne({ path, url, command }: { path?: unknown; url?: unknown; command?: unknown }): boolean {
  return [path, url, command].filter((each) => each !== undefined).length === 1;
}

/** When it fires. A time zone is an IANA name, fixed when the trigger is created. */
export const conditionSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("scheduled"),
    config: z.strictObject({ cron: z.string().min(1).max(200), time_zone: z.string() }),
  }),
  z.object({
    type: z.literal("delayed"),
    config: z.strictObject({ delay_seconds: z.number().positive("must be more than 0").max(A_CENTURY, aCentury) }),
  }),
  z.object({
    type: z.literal("at_time"),
    config: z.strictObject({ at: z.string().min(1).max(100), time_zone: z.string() }),
  }),
  z.object({
    type: z.literal("heartbeat"),
    config: z.strictObject({
      interval_seconds: z.number().min(1, least1).max(A_CENTURY, aCentury),
      /** It also fires when somebody on a node has shown no progress for so long; a quarter of an hour if left out. */
      stuck_seconds: z.number().min(1, least1).max(A_CENTURY, aCentury).optional(),
    }),
  }),
  z.object({
    type: z.literal("on_event"),
    config: z.strictObject({
      /** A fact's type, or with `*` for any part of it: `node.completed`, `node.*`. */
      event_pattern: z.string().min(1).max(100),
      /** Fields of the fact's data that must be equal. */
      filter: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).optional(),
    }),
  }),
  z.object({
    type: z.literal("on_idle"),
    config: z.strictObject({ idle_seconds: z.number().min(1, least1).max(A_CENTURY, aCentury) }),
  }),
  z.object({ type: z.literal("on_change"), config: watchSchema }),
]);
export type Condition = z.infer<typeof conditionSchema>;
export type ConditionType = Condition["type"];

const words = z.string().trim().min(1).max(4000);

/** What happens when it fires. A callback is a name that the program registered, never code. */
export const triggerActionSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("wake_agent"), payload: z.strictObject({ task: words }) }),
  z.object({ type: z.literal("run_node"), payload: z.strictObject({ node_id: nodeIdSchema }) }),
  z.object({ type: z.literal("send_message"), payload: z.strictObject({ to: words, content: words }) }),
  z.object({
    type: z.literal("run_callback"),
    payload: z.strictObject({ name: words, args: z.record(z.string(), z.unknown()).optional() }),
  }),
]);
export type TriggerAction = z.infer<typeof triggerActionSchema>;
export const actionTypes = ["wake_agent", "run_node", "send_message", "run_callback"] as const;

/**
 * What happens with an occurrence whose time passed while no process ran: it is carried out once, late, or not at all.
 */
export const missedPolicySchema = z.enum(["once", "skip"]);
export type MissedPolicy = z.infer<typeof missedPolicySchema>;

const trigger = { trigger_id: triggerIdSchema };
const occurrence = {
  ...trigger,
  due: z.number(),
  /** The fact that caused it: what an event matched, a heartbeat's news, the last activity before an idle stretch. */
  cause: z.int().positive().optional(),
};

export const triggerFacts = {
  "trigger.created": z.object({
    ...trigger,
    when: conditionSchema,
    action: triggerActionSchema,
    missed: missedPolicySchema,
    /** When it is due first; null where something has to happen before that. */
    due: z.number().nullable(),
    created_by: z.string(),
  }),
  /** On disk before anything is done about it. */
  "trigger.fired": z.object({
    ...occurrence,
    action: z.enum(actionTypes),
    next_due: z.number().nullable(),
    /** What has changed, or who is stuck: told with the task. */
    news: z.string().optional(),
  }),
  /** What an `on_change` trigger saw, where that is new: its hash, or why it could not be looked at. */
  "trigger.looked": z.object({
    ...trigger,
    seen: z.object({ hash: z.string(), bytes: z.int().nonnegative() }).optional(),
    problem: z.string().optional(),
  }),
  /** What it asked for was done, or could not be and why. Until then it is done again after a crash. */
  "trigger.done": z.object({ ...occurrence, problem: z.string().optional() }),
  /** It does not fire at `due`: nobody was there then and it skips what it misses, or the clock was set back. */
  "trigger.rescheduled": z.object({
    ...trigger,
    due: z.number(),
    next_due: z.number(),
    why: z.enum(["missed", "clock_set_back"]),
  }),
  "trigger.paused": z.object({ ...trigger, by: z.string() }),
  "trigger.resumed": z.object({ ...trigger, by: z.string(), due: z.number().nullable() }),
  "trigger.cancelled": z.object({ ...trigger, by: z.string() }),
  /** It will never fire again. */
  "trigger.expired": z.object({ ...trigger, why: z.string() }),
} as const;

export interface Occurrence {
  trigger_id: TriggerId;
  due: number;
  cause?: number | undefined;
}

/**
 * The permanent name of one occurrence: everything that is done for it carries this name, so that a repetition is
 * recognised.
 */
export function occurrenceKey({ trigger_id, due, cause }: Occurrence): string {
  return cause === undefined ? `${trigger_id}@${due}` : `${trigger_id}#${cause}`;
}

/** Whether a message, a run or anything else with an id was created by a trigger. */
export function isMadeByTrigger(id: string): boolean {
  return id.startsWith("trigger-");
}

/** The trigger of an occurrence, by its name. */
export function triggerIn(key: string): string {
  return key.split(/[@#]/, 1)[0] ?? "";
}

/** The creator of triggers that nobody asked for: the cycles of an infinite agent, the upkeep of its memory. */
export const AGIRAPH = "agiraph";

/**
 * The reply of a coordinator that was woken by a heartbeat and has nothing to do (seed 002 §9.5). It is not passed on.
 */
export const HEARTBEAT_OK = "HEARTBEAT_OK";
