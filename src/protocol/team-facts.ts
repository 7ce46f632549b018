import { z } from "zod";
import { channelTopicSchema } from "./channel.ts";
import { byWorker, ofWorker } from "./fact-fields.ts";
import { nodeIdSchema, runIdSchema, workerIdSchema } from "./ids.ts";

/** Workers, what they and their human say to each other, and what is remembered. */
export const teamFacts = {
  "worker.spawned": z.object({
    run_id: runIdSchema,
    ...ofWorker,
    name: z.string(),
    kind: z.enum(["harnessed", "autonomous", "claude_code", "acp", "mesh", "human"]),
    model: z.string(),
    /** The profile of the program, for the kinds that are programs. */
    program: z.string().optional(),
    identity: z.string().optional(),
    /** Prepared memory, what the worker knows before its first node. */
    memory: z.string().optional(),
    /** Tool names, or absent for all. */
    tools: z.array(z.string()).optional(),
  }),
  /** A new brief between stages: from now on this is who the worker is. */
  "worker.briefed": z.object({
    ...ofWorker,
    identity: z.string(),
    /** Where they are to be others than before. */
    model: z.string().optional(),
    tools: z.array(z.string()).optional(),
  }),
  "worker.retired": z.object(ofWorker),
  "worker.busy": z.object(byWorker),
  "worker.idle": z.object(ofWorker),
  "worker.waiting": z.object({
    ...byWorker,
    for: z.enum(["human", "news", "rate_limit", "children", "budget"]),
    until_ts: z.number().optional(),
  }),
  "worker.stopped": z.object(ofWorker),
  /** A program has begun to work on it, or to lead; by this id it can be taken up again after a restart. */
  "worker.session": z.object({ ...byWorker, session_id: z.string() }),
  /**
   * A person allows it this, in this run, without being asked again: `key` stands for the tool and what it is called
   * with, `what` says so in words. Without a key it was for a whole tool, and is not applied any more.
   */
  "worker.permitted": z.object({
    ...ofWorker,
    tool: z.string(),
    key: z.string().optional(),
    what: z.string().optional(),
  }),
  /** A person took back what they had always allowed. */
  "permission.revoked": z.object({ ...ofWorker, key: z.string() }),
  "worker.checkpointed": z.object({ ...byWorker, summary: z.string(), call_id: z.string().optional() }),

  "message.sent": z.object({
    message_id: z.string(),
    from: z.string(),
    to: z.string(),
    text: z.string(),
    file: z.string(),
    /** How many messages this one answers in a row; a limit on it ends ping-pong. */
    hops: z.int().positive(),
    /** Who reads it, where that is not whom it was sent to: a message to someone retired reaches the coordinator. */
    reader: z.string().optional(),
    /** Not sent by a tool: said aloud, in answer to the human. */
    aloud: z.literal(true).optional(),
    /** It says that this task of a mesh failed: it waits for the human until they have seen it, or it is done after all. */
    failed_task: z.object({ mesh: z.string(), agent: z.string().nullable(), name: z.string() }).optional(),
    /** It says that the session of this mesh agent needs the human: it waits for them until the session goes on. */
    mesh_session: z.object({ mesh: z.string(), agent: z.string() }).optional(),
    /** It says that on these nodes all wait for each other: it waits for the human until one of them goes on. */
    deadlock: z.array(nodeIdSchema).optional(),
  }),
  "message.received": z.object({ message_id: z.string(), by: z.string() }),
  /** Its reader finished before seeing it; somebody else reads it now. */
  "message.forwarded": z.object({ message_id: z.string(), to: workerIdSchema }),
  /** Its reader has gone and nobody will see it. */
  "message.expired": z.object({ message_id: z.string(), why: z.string() }),
  "suggestion.made": z.object({ ...byWorker, suggestion: z.string() }),

  /** Somebody waits for a person's answer: it waits at no cost, also over restarts. */
  "human.question": z.object({
    question_id: z.string(),
    ...byWorker,
    /** The call that is answered with the response. */
    call_id: z.string(),
    text: z.string(),
    choices: z.array(z.string()).optional(),
    /** Other words than the choices are no answer: what they mean would be guessed. */
    only_choices: z.boolean().optional(),
    /** It asks for permission to use a tool, or to run a mesh; the text is ours and shows what would be done. */
    permission: z.object({ tool: z.string(), key: z.string() }).optional(),
    /** Agiraph asks, not the worker: whether the person trusts this content of a mesh. */
    mesh_trust: z.object({ mesh: z.string(), hash: z.string() }).optional(),
    /** The channel it was meant for; it can be answered by any. */
    channel: z.string().optional(),
    deadline_ts: z.number().optional(),
    /** What counts as the answer when the deadline passes. */
    default: z.string().optional(),
  }),
  /** The asker was written to and goes on; the question stays open, and its answer reaches them as a message. */
  "question.deferred": z.object({ question_id: z.string(), ...ofWorker }),
  /** The first answer counts. */
  "human.response": z.object({ question_id: z.string(), ...ofWorker, text: z.string(), channel: z.string() }),
  /** A hint to the coordinator, which need not be answered. */
  "human.nudge": z.object({ text: z.string(), channel: z.string() }),
  /** The words are in the file, named from the agent's folder. `by` is a worker's id, or `agiraph`. */
  "memory.written": z.object({ path: z.string(), bytes: z.int().nonnegative(), by: z.string() }),
  /** What was said before is summed up; the words themselves stay in the conversation's file. */
  "memory.compacted": z.object({
    ...byWorker,
    /** How many entries it hides. */
    entries: z.int().nonnegative(),
    tokens_before: z.int().nonnegative(),
    tokens_after: z.int().nonnegative(),
  }),
  /** A worker thinks the agent should keep this; the first is known as `insight-1`, and so on. */
  "insight.offered": z.object({ ...byWorker, title: z.string(), content: z.string() }),
  "insight.accepted": z.object({ insight_id: z.string(), path: z.string() }),
  "insight.declined": z.object({ insight_id: z.string(), why: z.string() }),

  /** From now on this channel carries what is said to the human on these topics, what waits for them now included. */
  "channel.opened": z.object({ channel: z.string(), to: z.array(channelTopicSchema) }),
  "channel.closed": z.object({ channel: z.string() }),
  /** The other side has taken it. `of` is a question's, message's or run's id; `fact` is the number of the fact that said it. */
  "channel.delivered": z.object({ channel: z.string(), of: z.string(), fact: z.int().positive() }),
  /** It did not go out, and is tried again. */
  "channel.delayed": z.object({
    channel: z.string(),
    of: z.string(),
    fact: z.int().positive(),
    why: z.string(),
    attempts: z.int().positive(),
    retry_in_ms: z.int().nonnegative(),
  }),
  /** It will not be tried again. */
  "channel.failed": z.object({
    channel: z.string(),
    of: z.string(),
    fact: z.int().positive(),
    why: z.string(),
    attempts: z.int().positive(),
  }),
} as const;
