import { z } from "zod";
import { contractSchema, givenInputSchema, ofNode, ofWorker, publishedFileSchema, unheard } from "./fact-fields.ts";
import { nodeIdSchema, runIdSchema, workerIdSchema } from "./ids.ts";
import { outcomeSchema } from "./outcome.ts";
import { publishedCommitSchema, writeSchema } from "./repository.ts";
import { watchedSchema } from "./trigger.ts";

/** The agent, its runs and stages, and its nodes. */
export const workFacts = {
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
    /**
     * How it had come to rest, and why where no person had asked for it; `idle` where nobody has begun with the run,
     * which was opened for one of its nodes.
     */
    was: z.enum(["paused", "stopped", "failed", "idle"]).optional(),
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
    ...ofNode,
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
    /** Files that were given along with it, copied into its folder: where from, and their content. */
    inputs: z.array(givenInputSchema).optional(),
    /** It may be published although checks of the project fail. */
    allow_red: z.literal(true).optional(),
    /** It answers comments on the work of this node. */
    answers: nodeIdSchema.optional(),
  }),
  "node.released": z.object(ofNode),
  /** The worker that is named takes it as soon as it is free; nobody else does. With who decided so, where somebody assigned it. */
  "node.reserved": z.object({ ...ofNode, ...ofWorker, by: workerIdSchema.optional() }),
  "node.assigned": z.object({ ...ofNode, ...ofWorker }),
  /** With what its refs point at, by hash. */
  "node.started": z.object({ ...ofNode, ...ofWorker, refs: z.record(z.string(), z.string()).optional() }),
  /** The intent and the manifest; the one rename follows, then `node.completed`. */
  "node.published": z.object({
    ...ofNode,
    ...ofWorker,
    summary: z.string(),
    files: z.array(publishedFileSchema),
    /** Why it is only a part: the node is to fail with this. */
    partial: outcomeSchema.optional(),
    /** Of an agent that writes: what it changed in the repository. */
    commit: publishedCommitSchema.optional(),
  }),
  "node.completed": z.object({ ...ofNode, ...ofWorker, summary: z.string(), ...unheard }),
  /** A try failed and the same worker tries once more. */
  "node.retried": z.object({ ...ofNode, ...ofWorker, error: z.string() }),
  "node.failed": z.object({ ...ofNode, ...ofWorker, outcome: outcomeSchema, ...unheard }),
  /**
   * It is no longer needed: ended without a result, whatever its state was. `by` is a worker's id, `human`, or `agiraph`
   * for the runtime itself. A node above it is cancelled in the same append, after it.
   */
  "node.cancelled": z.object({ ...ofNode, by: z.string(), reason: z.string() }),
  /** Its spec is changed before it is published; what is absent stays as it is. */
  "node.updated": z.object({
    ...ofNode,
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
    ...ofNode,
    reserved_for: workerIdSchema.nullable(),
    why: z.enum(["more_money", "trigger", "reassigned"]).optional(),
    /** Of one that is reassigned: who had it, what they left, in a few words, and who took it from them. */
    from: workerIdSchema.optional(),
    did: z.string().optional(),
    by: workerIdSchema.optional(),
  }),
} as const;
