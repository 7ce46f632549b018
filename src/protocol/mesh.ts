import { z } from "zod";

/** Names of meshes, their agents and categories: they are used in paths, in tmux and in headers, so they are plain. */
export const meshNameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,47}$/, "expected a-z, 0-9, - and _, at most 48 characters");

/** `category/agent`, or the agent alone where no other category has one of that name. */
const memberSchema = z
  .string()
  .regex(
    /^([a-z0-9][a-z0-9_-]{0,47}\/)?[a-z0-9][a-z0-9_-]{0,47}$/,
    "expected category/agent-name, e.g. research/searcher",
  );

/** The order of work. A name is an agent; the other kinds contain steps, so topologies nest. */
export type WorkflowStep =
  | string
  | { sequential: WorkflowStep[] }
  | { parallel: WorkflowStep[] }
  | { map: WorkflowStep[]; reduce: WorkflowStep[] };

const stepsSchema: z.ZodType<WorkflowStep[]> = z.lazy(() => z.array(stepSchema).min(1).max(100));
const mapReduceSchema = z.strictObject({ map: stepsSchema, reduce: stepsSchema });
const stepSchema: z.ZodType<WorkflowStep> = z.lazy(() =>
  z.union([
    meshNameSchema,
    z.strictObject({ sequential: stepsSchema }),
    z.strictObject({ parallel: stepsSchema }),
    mapReduceSchema,
  ]),
);

/** A folder below another, written plainly: nothing leads out of it. */
const folderSchema = z
  .string()
  .regex(
    /^(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]{1,60}(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]{1,60}){0,7}$/,
    "expected a relative folder such as shared/concepts",
  );

export const TOPOLOGIES = ["sequential", "parallel", "map-reduce", "hierarchical"] as const;
export type Topology = (typeof TOPOLOGIES)[number];

/** `meshes/mesh-configs/{mesh}.json` (seed 004, "Mesh Config Schema"). */
export const meshConfigSchema = z.strictObject({
  mesh: meshNameSchema,
  /**
   * How long it lives: persistent, ephemeral or task. The seed's example names the topology under the same key; then it
   * is that, and the mesh is persistent.
   */
  type: z.enum(["persistent", "ephemeral", "task", ...TOPOLOGIES]),
  description: z.string().max(10_000).optional(),
  agents: z.array(memberSchema).min(1).max(100),
  workflow: z.union([stepsSchema, mapReduceSchema]).optional(),
  topology: z.enum(TOPOLOGIES).optional(),
  capabilities: z.array(meshNameSchema).max(100).optional(),
  /** `concepts_path` lies below the mesh's running folder. */
  storage: z.strictObject({ shared: z.boolean().optional(), concepts_path: folderSchema.optional() }).optional(),
  /** Checks that must pass before a task of the mesh is complete: `meshes/gates/{gate}.sh`, or `output-exists`. */
  validation_gates: z.array(meshNameSchema).max(20).optional(),
  entry_point: meshNameSchema.optional(),
  completion_agent: meshNameSchema.optional(),
  /** How many of it may be at work at a time, each with queues and sessions of its own: NAME, NAME-2, …; 1 if left out. */
  instances: z.int().min(1).max(20).optional(),
  /**
   * When this agent cannot do its step, the task goes back to another one, and on from there; at most so many times (3 if
   * left out), then it fails.
   */
  on_failure: z
    .record(meshNameSchema, z.strictObject({ to: meshNameSchema, rounds: z.int().min(1).max(100).optional() }))
    .optional(),
  /** How many messages may follow one from the other before the human is asked; 12 if left out. */
  max_hops: z.int().min(1).max(10_000).optional(),
  /** How often two may write to each other and back about one thing before the human is asked; 60 if left out. */
  max_rounds: z.int().min(1).max(10_000).optional(),
});
export type MeshConfig = z.infer<typeof meshConfigSchema>;

/** `meshes/agents/{category}/{agent}/config.json`. */
export const meshAgentConfigSchema = z.strictObject({
  name: meshNameSchema,
  description: z.string().max(10_000).optional(),
  capabilities: z.array(meshNameSchema).max(100).optional(),
  options: z
    .strictObject({
      /** claude-opus, claude-sonnet, claude-haiku, or any `provider/model`. */
      model: z.string().min(1).max(200).optional(),
      output: z.enum(["clean", "verbose"]).optional(),
      /** The profile of the program that runs it (config.json, `programs`); claude-code if left out. */
      program: z.string().min(1).max(100).optional(),
      /** A terminal that a person may attach to, the program without one, or a model in our own loop. */
      runs: z.enum(["tmux", "headless", "harnessed"]).optional(),
      /** Each task begins in a new session, without what was said before; for a model in our loop that is always so. */
      clear_before: z.boolean().optional(),
    })
    .optional(),
});
export type MeshAgentConfig = z.infer<typeof meshAgentConfigSchema>;

export const MESSAGE_TYPES = ["task", "ask", "ask-response", "task-complete", "error"] as const;
export const MESSAGE_STATUSES = ["pending", "active", "handoff", "complete"] as const;

const short = z.string().min(1).max(200);
/** The name of a message's file without its ending: as long as a file system allows, and never a path out of a queue. */
const stem = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^/]+$/, "expected the name of a message, not a path");

const count = z.string().regex(/^\d{1,6}$/, "expected a number");

/**
 * The header of a message file (seed 004, "Message Format"). Every value is a string: a header is only text. The fields
 * below the seed's own are ours, for following a task through its mesh.
 */
export const messageHeaderSchema = z.strictObject({
  /** `mesh/agent`, `human`, or a mesh's name. */
  from: short,
  /** An agent of this mesh, `mesh/agent`, another mesh, `mesh` for this one as a whole, or `human`. */
  to: short,
  type: z.enum(MESSAGE_TYPES),
  status: z.enum(MESSAGE_STATUSES).default("pending"),
  "msg-id": z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/, "expected letters, digits, . _ and -, at most 120")
    .optional(),
  timestamp: z.iso.datetime({ offset: true }).optional(),
  /** The mesh's own message that this is a part of. */
  task: stem.optional(),
  /** Where in the workflow it stands. */
  step: short.optional(),
  /** The message that this one answers. */
  "in-reply-to": stem.optional(),
  /** What it all began with, how many messages it is away from that, and how often the word has passed between the two. */
  thread: stem.optional(),
  hops: count.optional(),
  turn: count.optional(),
});
export type MessageHeader = z.infer<typeof messageHeaderSchema>;

/** `.ai/tx/mesh/{mesh}/state.json`: derived from the queues, so it can be deleted. */
export const meshStateSchema = z.object({
  mesh: z.string(),
  status: z.enum(["idle", "active", "processing", "complete"]),
  current_agent: z.string().nullable(),
  previous_agent: z.string().nullable(),
  workflow: z.array(z.string()),
  workflow_position: z.int().nonnegative(),
  workflow_complete: z.boolean(),
  tasks_completed: z.int().nonnegative(),
  started_at: z.string(),
  updated_at: z.string(),
});
export type MeshState = z.infer<typeof meshStateSchema>;

const mesh = { mesh: meshNameSchema };
/** Whose queue: an agent's, or null for the mesh's own. */
const address = { ...mesh, agent: meshNameSchema.nullable() };
const message = { ...address, name: z.string() };

/** `broken`: it died at once, several times, and is restarted only by a person. */
export const MESH_SESSION_STATES = ["starting", "ready", "busy", "dialog", "idle", "dead", "gone", "broken"] as const;

/** What happens in a mesh. The messages themselves are files in the project and stay there. */
export const meshFacts = {
  "mesh.opened": z.object({ ...mesh, project: z.string(), topology: z.enum(TOPOLOGIES), agents: z.array(z.string()) }),
  "mesh.closed": z.object({ ...mesh, why: z.string() }),
  /** A message has come to where it is to be worked on or read. */
  "mesh.received": z.object({ ...message, type: z.enum(MESSAGE_TYPES), from: z.string(), title: z.string() }),
  "mesh.activated": z.object(message),
  /** The agent has it before its eyes. */
  "mesh.told": z.object(message),
  "mesh.undelivered": z.object({ ...message, why: z.string() }),
  "mesh.completed": z.object({ ...message, gist: z.string() }),
  "mesh.failed": z.object({ ...message, why: z.string() }),
  "mesh.quarantined": z.object({ ...message, why: z.string() }),
  "mesh.gate": z.object({ ...mesh, gate: z.string(), ok: z.boolean(), why: z.string() }),
  "mesh.session": z.object({
    ...address,
    agent: meshNameSchema,
    state: z.enum(MESH_SESSION_STATES),
    detail: z.string().optional(),
  }),
  /** Something could not be written or moved (a full disk, say). Nothing is lost; it is tried again. */
  "mesh.stalled": z.object({ ...mesh, why: z.string() }),
  /** What is declared was read again; what is wrong with it, if anything. */
  "mesh.reloaded": z.object({ ...mesh, problem: z.string().nullable() }),
  /** What is declared is not trusted: nothing of it is begun. `changed`: it was trusted, with another content. */
  "mesh.held": z.object({ ...mesh, hash: z.string(), changed: z.boolean() }),
  /** A person trusts this content of it. */
  "mesh.trusted": z.object({ ...mesh, hash: z.string(), terminals: z.boolean(), by: z.string() }),
} as const;
export type MeshFact = {
  [T in keyof typeof meshFacts]: { type: T; data: z.infer<(typeof meshFacts)[T]> };
}[keyof typeof meshFacts];
