import { z } from "zod";
import type { Actor } from "./actor.ts";
import { channelTopicSchema } from "./channel.ts";
import { type AgentId, nodeIdSchema, runIdSchema, workerIdSchema } from "./ids.ts";
import { meshFacts } from "./mesh.ts";
import { outcomeSchema } from "./outcome.ts";
import { publishedCommitSchema, repositoryFacts, writeSchema } from "./repository.ts";
import { triggerFacts, watchedSchema } from "./trigger.ts";
import { usageCorrectionSchema, usageSchema } from "./usage.ts";

/**
 * Whatever happens to an agent is a fact. Rules:
 * FACT-1. `seq` counts 1, 2, 3 … per agent, without gaps. Order is by `seq`, never by `ts`.
 * FACT-2. A fact names ids and short strings. Content stays in its file and the fact points at it.
 * FACT-3. A fact is never changed. New fields are optional, so that old homes open.
 */
const node = { node_id: nodeIdSchema };
const worker = { worker_id: workerIdSchema };
/** Nodes below that had ended without the worker being told: anyone who hears of this end hears of them too. */
const unheard = { unheard: z.array(nodeIdSchema).optional() };
/** Who acts, and on which node; the coordinator acts on none. */
const byWorker = { worker_id: workerIdSchema, node_id: nodeIdSchema.nullable() };

/** Of a budget: money or tokens. */
const spent = z.object({
  spent_usd: z.number(),
  budget_usd: z.number().optional(),
  spent_tokens: z.int().optional(),
  budget_tokens: z.int().optional(),
});

/** The limits of a stage, and when it is done (seed 002 §3.2). */
export const contractSchema = z.object({
  max_iterations_per_node: z.int().positive(),
  timeout_seconds: z.number().positive(),
  checkpoint_policy: z.enum(["all_must_complete", "majority", "any"]),
  /** How many stages the run may have in all; the smallest number that any stage of it names counts. */
  max_stages: z.int().positive().optional(),
});
export type StageContract = z.infer<typeof contractSchema>;

/** The channel of an answer that was not given in time. */
export const DEADLINE = "deadline";

export const publishedFileSchema = z.object({ path: z.string(), sha256: z.string(), bytes: z.int().nonnegative() });
export type PublishedFile = z.infer<typeof publishedFileSchema>;

/** A ref of a node to something that was not published in its run. Paths of its files are from the node's `inputs/`. */
const handedInputSchema = z.object({ name: z.string(), from: z.string(), files: z.array(publishedFileSchema) });
export type HandedInput = z.infer<typeof handedInputSchema>;

export const factData = {
  "agent.created": z.object({
    name: z.string(),
    goal: z.string(),
    mode: z.enum(["finite", "infinite"]),
    model: z.string(),
    worker_model: z.string(),
    budget_usd: z.number().positive().nullable(),
    /** Prompt and answer tokens together. */
    budget_tokens: z.int().positive().optional(),
    /** The user's folder, which the team may read and never writes. */
    project: z.string().nullable(),
    /** The tools of everyone in it by name, or null for all. What ends one's work is always there. */
    tools: z.array(z.string()).nullable(),
    /** How long an infinite agent sleeps between its cycles. */
    cycle_seconds: z.number().positive().optional(),
    /** An infinite agent that is woken only when this changes, and costs nothing while it does not. */
    watch: watchedSchema.optional(),
    /** It thinks nothing itself: it is the record of the meshes of its project, and at work while they are. */
    meshes: z.literal(true).optional(),
    /** Its team may change the repository of `project`, in clones of their own. */
    write: writeSchema.optional(),
  }),
  "agent.started": z.object({ why: z.enum(["created", "resumed", "recovered", "new_goal"]), pid: z.int() }),
  /** Nobody works until `agent.resumed`: a person asked for it, or a stage wants their approval. */
  "agent.paused": z.object({ why: z.string().optional() }),
  /** `coordinator_decides`: a person spoke after a stop. No node goes on before the coordinator next waits for news. */
  "agent.resumed": z.object({
    coordinator_decides: z.literal(true).optional(),
    /** How it had come to rest, and why where no person had asked for it. */
    was: z.enum(["paused", "stopped", "failed"]).optional(),
    why: z.string().optional(),
  }),
  /** `why` where nobody asked for it: the terminal that it worked in was closed, say. */
  "agent.stopped": z.object({ by: z.string(), why: z.string().optional() }),
  "agent.completed": z.object({ summary: z.string() }),
  "agent.failed": z.object({ error: z.string(), outcome: outcomeSchema.optional() }),
  /** Out of sight and at rest until `agent.restored`; nothing is erased. */
  "agent.archived": z.object({ by: z.string() }),
  "agent.restored": z.object({ by: z.string() }),

  /** With what began it, where that was no goal of the human: the occurrence of a trigger, or `assign@` and a node. */
  "run.started": z.object({ run_id: runIdSchema, goal: z.string(), trigger: z.string().optional() }),
  "run.finished": z.object({ run_id: runIdSchema, outcome: outcomeSchema }),
  /** A person has changed `GOAL.md`; with the run whose goal it is from now on, where that was under way. */
  "goal.set": z.object({ goal: z.string(), run_id: runIdSchema.optional() }),
  /** `GOAL.md` cannot be read as a goal: the one before stays. */
  "goal.refused": z.object({ why: z.string() }),

  "stage.started": z.object({
    run_id: runIdSchema,
    stage: z.int().positive(),
    name: z.string(),
    contract: contractSchema,
  }),
  "stage.reconvened": z.object({ run_id: runIdSchema, stage: z.int().positive(), assessment: z.string() }),
  "stage.completed": z.object({ run_id: runIdSchema, stage: z.int().positive() }),

  "node.created": z.object({
    run_id: runIdSchema,
    ...node,
    /** The stage it belongs to, counted from 1 within the run. */
    stage: z.int().positive().optional(),
    task: z.string(),
    inference: z.enum(["single", "multi"]),
    dependencies: z.array(nodeIdSchema),
    refs: z.record(z.string(), z.string()),
    deliverables: z.array(z.string()),
    parent_node_id: nodeIdSchema.nullable(),
    created_by: workerIdSchema,
    /** Shell commands that must succeed in scratch/ before a publish is taken. */
    checks: z.array(z.string()).optional(),
    /** Reserved from the parent's share. */
    budget_usd: z.number().positive().optional(),
    /** What this role of seed 000 is called; its worker keeps its conversation from role to role. */
    role: z.string().optional(),
    /** Nobody takes it before it is released. */
    held: z.literal(true).optional(),
    /** Who must not get it: workers, and those who work or worked on these nodes. */
    not_by: z.array(z.string()).optional(),
    /** Files that were handed over with it, copied into its folder: where from, and their content. */
    inputs: z.array(handedInputSchema).optional(),
    /** It may be published although checks of the project fail. */
    allow_red: z.literal(true).optional(),
    /** It answers comments on the work of this node. */
    answers: nodeIdSchema.optional(),
  }),
  "node.released": z.object(node),
  /** The worker that is named takes it as soon as it is free; nobody else does. With who decided so, where somebody assigned it. */
  "node.reserved": z.object({ ...node, ...worker, by: workerIdSchema.optional() }),
  "node.assigned": z.object({ ...node, ...worker }),
  /** With what its refs point at, by hash. */
  "node.started": z.object({ ...node, ...worker, refs: z.record(z.string(), z.string()).optional() }),
  /** The intent and the manifest; the one rename follows, then `node.completed`. */
  "node.published": z.object({
    ...node,
    ...worker,
    summary: z.string(),
    files: z.array(publishedFileSchema),
    /** Why it is only a part: the node is to fail with this. */
    partial: outcomeSchema.optional(),
    /** Of an agent that writes: what it changed in the repository. */
    commit: publishedCommitSchema.optional(),
  }),
  "node.completed": z.object({ ...node, ...worker, summary: z.string(), ...unheard }),
  /** A try failed and the same worker tries once more. */
  "node.retried": z.object({ ...node, ...worker, error: z.string() }),
  "node.failed": z.object({ ...node, ...worker, outcome: outcomeSchema, ...unheard }),
  /**
   * It is no longer needed: ended without a result, whatever its state was. `by` is a worker's id, `human`, or `agiraph`
   * for the runtime itself. A node above it is cancelled in the same append, after it.
   */
  "node.cancelled": z.object({ ...node, by: z.string(), reason: z.string() }),
  /** Its spec is changed before it is published; what is absent stays as it is. */
  "node.updated": z.object({
    ...node,
    by: z.string(),
    task: z.string().optional(),
    deliverables: z.array(z.string()).optional(),
    checks: z.array(z.string()).optional(),
  }),
  /**
   * It had ended for want of money, and there is more, or had failed and a trigger runs it, or somebody else is to have
   * it: it waits again, for the worker that is named, or was on it.
   */
  "node.reopened": z.object({
    ...node,
    reserved_for: workerIdSchema.nullable(),
    why: z.enum(["more_money", "trigger", "reassigned"]).optional(),
    /** Of one that is reassigned: who had it, what they left, in a few words, and who took it from them. */
    from: workerIdSchema.optional(),
    did: z.string().optional(),
    by: workerIdSchema.optional(),
  }),

  "worker.spawned": z.object({
    run_id: runIdSchema,
    ...worker,
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
    ...worker,
    identity: z.string(),
    /** Where they are to be others than before. */
    model: z.string().optional(),
    tools: z.array(z.string()).optional(),
  }),
  "worker.retired": z.object(worker),
  "worker.busy": z.object(byWorker),
  "worker.idle": z.object(worker),
  "worker.waiting": z.object({
    ...byWorker,
    for: z.enum(["human", "news", "rate_limit", "children", "budget"]),
    until_ts: z.number().optional(),
  }),
  "worker.stopped": z.object(worker),
  /** A program has begun to work on it, or to lead; by this id it can be taken up again after a restart. */
  "worker.session": z.object({ ...byWorker, session_id: z.string() }),
  /**
   * A person allows it this, in this run, without being asked again: `key` stands for the tool and what it is called
   * with, `what` says so in words. Without a key it was for a whole tool, and is not applied any more.
   */
  "worker.permitted": z.object({
    ...worker,
    tool: z.string(),
    key: z.string().optional(),
    what: z.string().optional(),
  }),
  /** A person took back what they had always allowed. */
  "permission.revoked": z.object({ ...worker, key: z.string() }),
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
  "question.deferred": z.object({ question_id: z.string(), ...worker }),
  /** The first answer counts. */
  "human.response": z.object({ question_id: z.string(), ...worker, text: z.string(), channel: z.string() }),
  /** A hint to the coordinator, which need not be answered. */
  "human.nudge": z.object({ text: z.string(), channel: z.string() }),
  /** The words are in the file, named from the agent's home. `by` is a worker's id, or `agiraph`. */
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

  ...triggerFacts,

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
