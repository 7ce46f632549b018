import { z } from "zod";
import { actorSchema } from "./actor.ts";
import { storedEntrySchema } from "./entry.ts";
import { factTypes, publishedFileSchema } from "./fact.ts";
import { nodeIdSchema } from "./ids.ts";
import { MESH_SESSION_STATES, MESSAGE_TYPES, meshNameSchema } from "./mesh.ts";
import { outcomeSchema } from "./outcome.ts";
import { wordsSchema } from "./words.ts";

/**
 * What goes over the wire, both ways: the server checks with these schemas, `GET /openapi.json` is made from them, and
 * the client takes its types from them. Names are snake_case, times are seconds since 1970 (seed 002 §14).
 *
 * API-1. Every list has a limit and says where the next page begins; null is the end.
 * API-2. Every refusal is an `ErrorBody`.
 */
export const errorBodySchema = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    /** Which field is wrong, and why. */
    details: z.array(z.object({ field: z.string(), problem: z.string() })).optional(),
  }),
});
export type ErrorBody = z.infer<typeof errorBodySchema>;

export const MOST_PER_PAGE = 1000;
const limit = z.coerce.number().int().min(1).max(MOST_PER_PAGE);

/** Pages that go on from a number: facts of a node. */
export const afterSeqQuery = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  limit: limit.default(200),
});
/** Facts after a number; without one the newest of all. */
export const eventsQuery = afterSeqQuery.extend({ after: z.coerce.number().int().min(0).optional() });
/** Pages that go back from a number: what was said. */
export const beforeSeqQuery = z.strictObject({
  before: z.coerce.number().int().min(1).optional(),
  limit: limit.default(50),
});
/** Pages that go on from an id or a path. */
export const afterIdQuery = z.strictObject({ after: z.string().max(1024).optional(), limit: limit.default(200) });

export const agentStatusSchema = z.enum([
  "idle",
  "working",
  "waiting_for_human",
  "paused",
  "stopped",
  "completed",
  "failed",
]);

/** Somebody's model does not answer, though they look busy. */
export const troubleSchema = z.object({
  worker_id: z.string(),
  model: z.string(),
  /** `connection`, `rate_limited`, `server`, `stalled` … */
  reason: z.string(),
  message: z.string(),
  /** Since the first try that failed, and how many have in a row. */
  since: z.number(),
  tries: z.int(),
  retry_at: z.number().nullable(),
});

export const agentSummarySchema = z.object({
  id: z.string(),
  name: z.string(),
  /** Of the run that is under way or was the last. */
  goal: z.string(),
  mode: z.enum(["finite", "infinite"]),
  status: agentStatusSchema,
  /** It counts as working, and only the clock or somebody's word goes on with it. */
  asleep: z.boolean(),
  archived: z.boolean(),
  model: z.string(),
  worker_model: z.string(),
  run_id: z.string().nullable(),
  current_stage: z.string().nullable(),
  node_count: z.int(),
  nodes_completed: z.int(),
  nodes_failed: z.int(),
  worker_count: z.int(),
  open_questions: z.int(),
  /** It failed, or waits for the human's approval: nothing goes on before it is resumed. */
  needs_decision: z.boolean(),
  /** Messages to the human that they have not seen. */
  unread: z.int(),
  /** The longest trouble of its team, and how many are in one. */
  trouble: troubleSchema.extend({ worker_name: z.string(), workers: z.int() }).nullable(),
  cost_usd: z.number(),
  unpriced_calls: z.int(),
  budget_usd: z.number().nullable(),
  summary: z.string().nullable(),
  error: z.string().nullable(),
  created_at: z.number(),
  updated_at: z.number(),
  /** The newest fact. */
  seq: z.int(),
  /** The project whose meshes it is the record of; null for an agent that thinks. */
  meshes_of: z.string().nullable(),
  /**
   * Its long record is still being read, for example after an upgrade: name, model and dates are right; the status is that of the latest
   * facts; counts, money and what waits may be out of date. `WS /events` sends the summaries again when it has been read.
   */
  loading: z.literal(true).optional(),
});
export type AgentSummary = z.infer<typeof agentSummarySchema>;

export type AgentDetail = z.infer<typeof agentDetailSchema>;
/** With what came out of its last run. */
export const agentDetailSchema = agentSummarySchema.extend({
  /** The result, what is wanted first; each is at `/agents/{id}/workspace/{path}`. */
  results: z.array(z.object({ path: z.string(), bytes: z.int(), by: z.string(), changed: z.boolean() })),
});

export const agentsQuery = z.strictObject({
  ...afterIdQuery.shape,
  archived: z.enum(["true", "false", "all"]).default("false"),
});
export const agentsPageSchema = z.object({
  agents: z.array(agentSummarySchema),
  /** Agents of the home that cannot be read, and why. */
  unreadable: z.array(z.object({ id: z.string(), why: z.string() })),
  next_after: z.string().nullable(),
});

/** What a person always allows programs of the agent, in this run. */
export const permissionsPageSchema = z.object({
  permissions: z.array(
    z.object({ worker_id: z.string(), key: z.string(), tool: z.string(), what: z.string(), since_ts: z.number() }),
  ),
});
/** A whole file; `base64` for what is no text. */
export const putFileSchema = z.strictObject({ content: z.string(), encoding: z.enum(["utf8", "base64"]).optional() });
export const fileWrittenSchema = z.object({ path: z.string(), bytes: z.int().nonnegative() });
/** It is on disk. `detail` says what becomes of it. */
export const deliveredSchema = z.object({ status: z.literal("delivered"), detail: z.string() });

export const questionSchema = z.object({
  id: z.string(),
  worker_id: z.string(),
  worker_name: z.string(),
  node_id: z.string().nullable(),
  text: z.string(),
  choices: z.array(z.string()),
  asked_at: z.number(),
  deadline: z.number().nullable(),
  default: z.string().nullable(),
  /** It asks for permission to use a tool, or to run a mesh: the text is the server's and shows what would be done. */
  permission: z.boolean().optional(),
});
export const questionsPageSchema = z.object({
  questions: z.array(questionSchema),
  next_after: z.string().nullable(),
});

export const utteranceSchema = z.object({
  seq: z.int(),
  ts: z.number(),
  from: z.string(),
  to: z.string(),
  text: z.string(),
});
/** Oldest first; `next_before` leads to what was said earlier. */
export const conversationPageSchema = z.object({
  messages: z.array(utteranceSchema),
  next_before: z.int().nullable(),
});

export const nodeViewSchema = z.object({
  id: z.string(),
  run_id: z.string(),
  stage: z.int().nullable(),
  task: z.string(),
  status: z.enum(["pending", "assigned", "running", "publishing", "completed", "failed", "cancelled"]),
  assigned_worker: z.string().nullable(),
  parent_node: z.string().nullable(),
  children: z.array(z.string()),
  dependencies: z.array(z.string()),
  deliverables: z.array(z.string()),
  created_by: z.string(),
  created_at: z.number(),
  ended_at: z.number().nullable(),
  /** The first 200 characters of its summary, or of why it failed. */
  result_preview: z.string().nullable(),
  cost_usd: z.number(),
});
export type NodeView = z.infer<typeof nodeViewSchema>;

export const stageViewSchema = z.object({
  run_id: z.string(),
  number: z.int(),
  name: z.string(),
  status: z.enum(["running", "reconvening", "completed"]),
  nodes: z.array(z.string()),
  checkpoint_policy: z.string(),
  assessment: z.string().nullable(),
});
export const boardPageSchema = z.object({
  nodes: z.array(nodeViewSchema),
  stages: z.array(stageViewSchema),
  current_stage: z.int().nullable(),
  next_after: z.string().nullable(),
});

export const listedFileSchema = z.object({
  path: z.string(),
  kind: z.enum(["file", "folder", "link", "special"]),
  bytes: z.int(),
  /** Published, and its content is not what was recorded: it was changed afterwards, or added. */
  changed: z.literal(true).optional(),
});
export const eventSchema = z.object({
  seq: z.int(),
  type: z.enum(factTypes as [string, ...string[]]),
  agent_id: z.string(),
  ts: z.number(),
  data: z.record(z.string(), z.unknown()),
  /** Who gave the command that it follows from; absent where it was not a command. */
  actor: actorSchema.optional(),
});
export const eventsPageSchema = z.object({
  events: z.array(eventSchema),
  next_after: z.int().nullable(),
});

/** Words of a model as they come, over the WebSocket: no fact, and gone when nobody listens. */
export const deltaFrameSchema = z.object({
  type: z.literal("delta"),
  agent_id: z.string(),
  worker_id: z.string(),
  node_id: nodeIdSchema.nullable(),
  kind: z.enum(["text", "reasoning"]),
  text: z.string(),
});
export type DeltaFrame = z.infer<typeof deltaFrameSchema>;

export const nodeDetailSchema = z.object({
  ...nodeViewSchema.shape,
  /** What was asked for, as it stands in `_spec.md`. */
  spec: z.string().nullable(),
  refs: z.record(z.string(), z.string()),
  summary: z.string().nullable(),
  outcome: outcomeSchema.nullable(),
  /** What was published, with its hashes. */
  manifest: z.array(publishedFileSchema),
  /** Its folder in the workspace, and what is in it. */
  folder: z.string(),
  scratch: z.array(listedFileSchema),
  published: z.array(listedFileSchema),
  /** Why it exists: who wanted it, for what, and the fact that says so. */
  why: z.object({
    created_by: z.string(),
    parent_node: z.string().nullable(),
    parent_task: z.string().nullable(),
    goal: z.string().nullable(),
    seq: z.int().nullable(),
  }),
  /** What happened to it. */
  log: eventsPageSchema,
});

export const workerViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  kind: z.string(),
  model: z.string(),
  run_id: z.string(),
  status: z.enum(["idle", "busy", "waiting", "stopped", "retired"]),
  node_id: z.string().nullable(),
  waiting_for: z.string().nullable(),
  trouble: troubleSchema.nullable(),
  identity: z.string().nullable(),
  calls: z.int(),
  tokens: z.int(),
  cost_usd: z.number(),
});
export const workersPageSchema = z.object({
  workers: z.array(workerViewSchema),
  next_after: z.string().nullable(),
});

/** What a worker read, said and did, entry by entry, oldest first. */
export const entriesPageSchema = z.object({ entries: z.array(storedEntrySchema), next_before: z.int().nullable() });

export const filesQuery = z.strictObject({
  ...afterIdQuery.shape,
  recursive: z.enum(["true", "false"]).default("false"),
  /** `zip`: what is published in this folder, as one file. */
  archive: z.enum(["zip"]).optional(),
  download: z.enum(["true", "false"]).default("false"),
});
export const filesPageSchema = z.object({
  path: z.string(),
  entries: z.array(listedFileSchema),
  next_after: z.string().nullable(),
  /** This is the last page, and there are more files than are listed: ask for a folder below. */
  truncated: z.boolean(),
});

export const memorySearchSchema = z.strictObject({
  query: z.string().trim().min(1, "it must not be empty").max(1000),
  limit: z.int().min(1).max(100).optional(),
});
export const memoryFoundSchema = z.object({
  results: z.array(
    z.object({
      path: z.string(),
      headings: z.array(z.string()),
      from_line: z.int(),
      to_line: z.int(),
      text: z.string(),
      /** Of when it is: the day that its heading or its file names, else when the file was last changed. */
      day: z.string(),
      score: z.number(),
    }),
  ),
  /** What was too much to be searched, if anything, in words: files beyond the first 50,000, or 8 MB of one. */
  not_searched: z.array(z.string()).optional(),
});

export const triggerSchema = z.object({
  id: z.string(),
  agent_id: z.string(),
  type: z.string(),
  action: z.object({ type: z.string(), payload: z.record(z.string(), z.unknown()) }),
  status: z.enum(["active", "paused", "fired", "expired", "cancelled"]),
  created_at: z.number(),
  created_by: z.string(),
  metadata: z.record(z.string(), z.unknown()),
  missed: z.string(),
  due: z.number().nullable(),
  fired: z.int(),
});
export const triggersPageSchema = z.object({
  triggers: z.array(triggerSchema),
  next_after: z.string().nullable(),
});

const named = z.object({ id: z.string(), name: z.string() });
/** Everybody of all teams, in a few words: by these they are found. */
export const peoplePageSchema = z.object({
  workers: z.array(z.object({ id: z.string(), name: z.string(), identity: z.string(), agent: named })),
  next_after: z.string().nullable(),
});
export const inboxItemSchema = z.object({
  /** All but messages wait for the human: nothing goes on without them. A message is only unread. */
  kind: z.enum(["question", "approval", "failure", "message"]),
  id: z.string(),
  agent: named,
  from: named,
  text: z.string(),
  since_ts: z.number(),
  choices: z.array(z.string()),
  deadline_ts: z.number().nullable(),
  default: z.string().nullable(),
  /** Of a question: it asks for permission to use a tool, or to run a mesh; the text is the server's and shows it. */
  permission: z.boolean().optional(),
  /** Of a failure: the task of a mesh that it is about, by its message. It waits until it is seen, or done after all. */
  mesh_task: z
    .object({ project: z.string(), mesh: z.string(), agent: z.string().nullable(), name: z.string() })
    .optional(),
  /** Of what waits at the terminal of a mesh agent: whose it is. It waits until the session goes on, or it is seen. */
  mesh_session: z.object({ project: z.string(), mesh: z.string(), agent: z.string() }).optional(),
  /** Of a question: Agiraph asks whether this mesh is trusted. */
  mesh_trust: z.object({ project: z.string(), mesh: z.string(), hash: z.string() }).optional(),
});
export const inboxPageSchema = z.object({ items: z.array(inboxItemSchema), next_after: z.string().nullable() });

const price = z.object({
  input: z.number(),
  output: z.number(),
  cache_read: z.number().optional(),
  cache_write: z.number().optional(),
});
export const modelsPageSchema = z.object({
  models: z.array(
    z.object({
      id: z.string(),
      context_window: z.int(),
      searches_web: z.boolean(),
      price_usd_per_million: price.nullable(),
      usable: z.boolean(),
      /** What it needs before it can be used: a variable, a program, or in words what is wrong with it. */
      missing: z.string().nullable(),
    }),
  ),
  /** What the names of models on servers of config.json begin with: any model of theirs can be named, listed or not. */
  prefixes: z.array(z.string()),
  /**
   * What is taken when nobody chooses, and why; of workers the same model unless one is named, and no budget unless there
   * is. The folder in which the server was started is only offered.
   */
  default: z.object({
    model: z.string(),
    why: z.string(),
    worker_model: z.string().nullable(),
    budget_usd: z.number().nullable(),
    project: z.string().nullable(),
  }),
  next_after: z.string().nullable(),
});

/** `disk_full`: nothing is recorded until there is room. `read_only`: a write failed; nothing is, until a restart. */
export const healthSchema = z.object({ status: z.enum(["ok", "disk_full", "read_only"]), version: z.string() });
/** How config.json stands against what the server goes by. */
export const configStandingSchema = z.object({
  /** Why the file cannot be taken; what was good before it holds. */
  problem: z.string().nullable(),
  /** What of it was changed since the start and holds only after a restart. */
  after_restart: z.array(z.string()),
});
export const loginLinkSchema = z.object({ url: z.string(), expires_at: z.number() });

/** Meshes: declared teams of a project, whose messages are files (seed 004). Queues are named as there. */
const meshName = meshNameSchema;
export const meshQueueSchema = z.enum(["inbox", "next", "active", "complete", "outbox", "quarantine", "archive"]);
const queueCounts = z.record(meshQueueSchema, z.int().nonnegative());

export const meshAgentViewSchema = z.object({
  name: z.string(),
  description: z.string().nullable(),
  /** A terminal that a person may attach to, a program without one, or a model in our own loop. */
  runs: z.enum(["tmux", "headless", "harnessed"]),
  program: z.string(),
  /** How its session is doing, as far as it was begun. */
  state: z.enum(MESH_SESSION_STATES).nullable(),
  /** How it came to that, where there is something to be said: how it died. */
  detail: z.string().nullable(),
  /** Since when it is so. */
  since: z.number().nullable(),
  /** What keeps it from beginning, whether or not anybody has tried: its program is not here. */
  problem: z.string().nullable(),
  queues: queueCounts,
  /** The message it works on. */
  active: z.string().nullable(),
  /** Since when it has it. */
  active_since: z.number().nullable(),
  /** What a person types to sit down before it. */
  attach: z.array(z.string()).nullable(),
});

/** Whether a mesh may run. `hash` is of what is declared now; a mesh at work may still run the content before it. */
export const meshTrustSchema = z.object({
  /** Only `trusted` and `bundled` (one that comes with Agiraph, unchanged) run. */
  status: z.enum(["trusted", "bundled", "changed", "untrusted"]),
  hash: z.string(),
  /** Whether its agents may run in terminals, outside the sandbox. */
  terminals: z.boolean(),
  /** Whether some of its agents are declared to. */
  wants_terminals: z.boolean(),
  /** What would run, in sentences; empty where there is nothing left to agree to. */
  says: z.array(z.string()),
  files: z.array(
    z.object({
      path: z.string(),
      bytes: z.int(),
      /** As it was read: what would be used. Null where there is too much text for one answer. */
      text: z.string().nullable(),
      /** The text is longer than this; the rest is in the project. */
      is_cut: z.boolean(),
    }),
  ),
  /** Which files differ from the content that the person trusted; null where none do, or it is not known. */
  changes: z
    .object({ changed: z.array(z.string()), added: z.array(z.string()), removed: z.array(z.string()) })
    .nullable(),
});

export const meshViewSchema = z.object({
  mesh: z.string(),
  description: z.string().nullable(),
  lifetime: z.enum(["persistent", "ephemeral", "task"]),
  topology: z.enum(["sequential", "parallel", "map-reduce", "hierarchical"]),
  workflow: z.array(z.string()),
  /** As in its state.json. */
  status: z.enum(["idle", "active", "processing", "complete"]),
  current_agent: z.string().nullable(),
  tasks_completed: z.int(),
  /** How its last task ended, as far as that was since the server was started. */
  last_end: z.object({ task: z.string(), failed: z.boolean(), words: z.string(), at: z.number() }).nullable(),
  queues: queueCounts,
  active: z.string().nullable(),
  agents: z.array(meshAgentViewSchema),
  trust: meshTrustSchema,
});
export type MeshView = z.infer<typeof meshViewSchema>;

export const meshProjectSchema = z.object({
  /** The agent that is its record. */
  id: z.string(),
  name: z.string(),
  project: z.string(),
  status: agentStatusSchema,
  /** Empty while they are stopped. */
  meshes: z.array(meshViewSchema),
  /** What is wrong with what is declared. */
  problems: z.array(z.object({ file: z.string(), problem: z.string() })),
});
export type MeshProjectView = z.infer<typeof meshProjectSchema>;
export const meshProjectsPageSchema = z.object({
  projects: z.array(meshProjectSchema.omit({ meshes: true, problems: true })),
  next_after: z.string().nullable(),
});
/** A folder of the server's machine, as an absolute path. */
export const startMeshesSchema = z.strictObject({ project: z.string().min(1).max(4096) });

export const meshMessageSchema = z.object({
  name: z.string(),
  /** Null where it is no message; `problem` says why. */
  from: z.string().nullable(),
  to: z.string().nullable(),
  type: z.string().nullable(),
  status: z.string().nullable(),
  title: z.string(),
  /** When its file came to where it is. */
  at: z.number(),
  problem: z.string().nullable(),
  /** A task that is over and could not be done. */
  failed: z.boolean(),
});
export const meshQueuesQuery = z.strictObject({ limit: limit.default(50) });
const queueView = z.object({ count: z.int(), messages: z.array(meshMessageSchema) });
const queuesOf = z.object({ agent: z.string().nullable(), queues: z.record(meshQueueSchema, queueView) });
/** Of the mesh itself first, then of its agents; the newest of what is over. */
export const meshQueuesSchema = z.object({ mesh: z.string(), places: z.array(queuesOf) });

/** What came of a mesh's work. */
export const meshResultsSchema = z.object({
  mesh: z.string(),
  /** Its last task of its own, and the words with which it ended: of whoever came last, or of whoever gave up. */
  last: z
    .object({
      name: z.string(),
      from: z.string(),
      title: z.string(),
      at: z.number(),
      /** Why it failed although nobody gave up: it did not pass its gates. */
      refused: z.string().nullable(),
      ends: z.array(z.object({ agent: z.string(), failed: z.boolean(), words: z.string() })),
    })
    .nullable(),
  /** Where its files lie, as seen from the project. */
  output: z.string(),
  /** The newest first, at most 200; of very many only some thousands are looked at. `by` is null where it is not certain. */
  files: z.array(
    z.object({ path: z.string(), bytes: z.int().nonnegative(), at: z.number(), by: z.string().nullable() }),
  ),
  /** There are others. */
  more: z.boolean(),
});

export const meshLetterQuery = z.strictObject({ agent: meshName.optional() });
export const meshLetterSchema = z.object({
  ...meshMessageSchema.shape,
  mesh: z.string(),
  agent: z.string().nullable(),
  queue: meshQueueSchema,
  /** The whole file. */
  text: z.string(),
});
export const sendMeshMessageSchema = z.strictObject({
  /** One of its agents; the mesh as a whole if left out. */
  to: meshName.nullish(),
  type: z.enum(MESSAGE_TYPES).default("task"),
  text: wordsSchema,
  /** What it answers. */
  answers: z.string().min(1).max(200).optional(),
});
/** The hash is that of the content that the person saw. */
export const trustMeshSchema = z.strictObject({
  hash: z.string().regex(/^[0-9a-f]{64}$/, "expected the hash of trust, 64 hex digits"),
  terminals: z.boolean().default(false),
  /** Where the person agreed. */
  by: z.enum(["terminal", "page", "api"]).default("api"),
});
export const archiveMeshSchema = z.strictObject({
  /** What has been complete for so many days. */
  days: z.number().min(0).max(36_500).default(7),
});
export const archivedMeshSchema = z.object({ mesh: z.string(), archived: z.int() });
export const sentMeshMessageSchema = z.object({ mesh: z.string(), agent: z.string().nullable(), name: z.string() });
