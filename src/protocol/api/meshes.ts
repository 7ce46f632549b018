import { z } from "zod";
import { MESH_SESSION_STATES, MESSAGE_TYPES, meshNameSchema } from "../mesh.ts";
import { wordsSchema } from "../words.ts";
import { agentStatusSchema } from "./agents.ts";
import { pageLimit } from "./page-query.ts";

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

/**
 * Whether a mesh may run. `hash` is that of the current declaration; a running mesh may still use the previous content.
 */
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
  /** Tasks that a person gave it, or one of its agents, and that failed: until they have seen it, or it is done after all. */
  failures: z.array(z.object({ agent: z.string().nullable(), task: z.string(), text: z.string(), at: z.number() })),
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
/** A folder on the server's machine, as an absolute path. */
export const startMeshesSchema = z.strictObject({
  project: z.string().min(1).max(4096),
  /** Overrides the server's own environment for the programs of these meshes, until the server ends. */
  environment: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,199}$/), z.string().max(100_000)).optional(),
});

export const meshMessageSchema = z.object({
  name: z.string(),
  /** Null where it is not a message; `problem` says why. */
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
export const meshQueuesQuery = z.strictObject({ limit: pageLimit.default(50) });
const queueView = z.object({ count: z.int(), messages: z.array(meshMessageSchema) });
const queuesOf = z.object({ agent: z.string().nullable(), queues: z.record(meshQueueSchema, queueView) });
/** The mesh's own queues first, then those of its agents; of ended messages, the newest. */
export const meshQueuesSchema = z.object({ mesh: z.string(), places: z.array(queuesOf) });

/** The results of a mesh's work. */
export const meshResultsSchema = z.object({
  mesh: z.string(),
  /** Its last task of its own, and the words with which it ended: of the one who came last, or of the one who gave up. */
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

export const wholeMessageQuery = z.strictObject({ agent: meshName.optional() });
export const wholeMessageSchema = z.object({
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
