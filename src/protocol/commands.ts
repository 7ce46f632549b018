import { z } from "zod";
import { agentSummarySchema, triggerSchema } from "./api/agents.ts";
import {
  archivedMeshSchema,
  archiveMeshSchema,
  meshProjectSchema,
  meshViewSchema,
  sendMeshMessageSchema,
  sentMeshMessageSchema,
  startMeshesSchema,
  trustMeshSchema,
} from "./api/meshes.ts";
import { deliveredSchema } from "./api/speech.ts";
import { cycleSecondsSchema } from "./config.ts";
import { writeSchema } from "./repository.ts";
import { missedPolicySchema, watchedSchema } from "./trigger.ts";
import { wordsSchema } from "./words.ts";

/**
 * The vocabulary of commands: everything that a person may ask of an agent or a mesh, by whatever means (terminal,
 * page, HTTP, webhook, a program of their own). The runtime carries them out in one place (`runtime/commands.ts`); HTTP routes,
 * `GET /openapi.json` and the client are derived from these tables. To add a command: a route and an entry here, what
 * it does there, a call in `server/commands.test.ts`; for the terminal also `cli/commands/`, `cli/command-line/` and
 * `docs/commands.md`; and a line in CHANGELOG.md.
 *
 * COMMAND-1. A command is `{do, ...}` with the parameters of its route and the fields of its body, by the same names.
 * COMMAND-2. The facts that a command leads to are recorded with its actor.
 */
export const COMMAND_ROUTES = {
  create: "POST /agents",
  archive: "DELETE /agents/:id",
  restore: "POST /agents/:id/restore",
  stop: "POST /agents/:id/stop",
  pause: "POST /agents/:id/pause",
  resume: "POST /agents/:id/resume",
  set_models: "POST /agents/:id/models",
  send: "POST /agents/:id/send",
  nudge: "POST /agents/:id/nudge",
  respond: "POST /agents/:id/respond",
  seen: "POST /agents/:id/seen",
  revoke_permission: "POST /agents/:id/permissions/revoke",
  assign: "POST /agents/:id/board/:node_id/assign",
  cancel: "POST /agents/:id/board/:node_id/cancel",
  update_node: "PATCH /agents/:id/board/:node_id",
  publish: "POST /agents/:id/board/:node_id/publish",
  accept: "POST /agents/:id/repository/accept",
  reject: "POST /agents/:id/board/:node_id/reject",
  comment: "POST /agents/:id/board/:node_id/comments",
  rebase: "POST /agents/:id/repository/rebase",
  restore_work: "POST /agents/:id/repository/restore",
  create_trigger: "POST /agents/:id/triggers",
  cancel_trigger: "DELETE /agents/:id/triggers/:trigger_id",
  pause_trigger: "POST /agents/:id/triggers/:trigger_id/pause",
  resume_trigger: "POST /agents/:id/triggers/:trigger_id/resume",
  start_meshes: "POST /meshes",
  stop_meshes: "POST /meshes/:id/stop",
  send_to_mesh: "POST /meshes/:id/:mesh/messages",
  archive_mesh: "POST /meshes/:id/:mesh/archive",
  trust_mesh: "POST /meshes/:id/:mesh/trust",
  untrust_mesh: "POST /meshes/:id/:mesh/untrust",
  spawn_mesh_agent: "POST /meshes/:id/:mesh/agents/:agent/spawn",
  kill_mesh_agent: "POST /meshes/:id/:mesh/agents/:agent/kill",
} as const;

export type CommandName = keyof typeof COMMAND_ROUTES;

/** An unknown id is "not found", whatever it looks like. */
export const commandParams = {
  id: z.string().max(200),
  node_id: z.string().max(60),
  trigger_id: z.string().max(60),
  mesh: z.string().max(200),
  agent: z.string().max(200),
};

const modelName = z.string().min(1).max(200);

export const createAgentSchema = z.strictObject({
  goal: wordsSchema,
  name: z
    .string()
    .trim()
    .min(1)
    .max(80)
    .regex(/^[^\p{Cc}\p{Cs}]*$/u, "it must be one line of plain characters")
    .optional(),
  /** `provider/model`; chosen by config and keys if left out. */
  model: modelName.optional(),
  worker_model: modelName.optional(),
  mode: z.enum(["finite", "infinite"]).optional(),
  /** The tools of everyone in it; all if left out. */
  tools: z.array(z.string().min(1).max(60)).max(100).optional(),
  budget_usd: z.number().positive().optional(),
  budget_tokens: z.int().positive().optional(),
  cycle_seconds: cycleSecondsSchema.optional(),
  /** Wakes an infinite agent only when this changes, looked at every `cycle_seconds` (without it every minute, a URL every five). */
  watch: watchedSchema.optional(),
  /** A folder of the server's machine that the team may read, as an absolute path. */
  project: z.string().min(1).max(4096).optional(),
  /**
   * Whether the team may change the git repository that `project` is in: in clones of its own, on a branch of its own.
   * As config.json says of the folder if left out.
   */
  write: z.union([z.boolean(), writeSchema]).optional(),
});
export type CreateAgent = z.input<typeof createAgentSchema>;

export const createTriggerSchema = z.strictObject({
  type: z.enum(["scheduled", "delayed", "at_time", "heartbeat", "on_event", "on_idle", "on_change"]),
  config: z.record(z.string(), z.unknown()),
  /** A task in words wakes the agent with it. */
  action: z.union([wordsSchema, z.record(z.string(), z.unknown())]),
  time_zone: z.string().min(1).max(100).optional(),
  missed: missedPolicySchema.optional(),
});

/** The trigger as it is now, and what became of it in words. */
const changedTriggerSchema = triggerSchema.extend({ detail: z.string().optional() });

/** How a command is described in the API, and how it is answered. `status` is 200 if omitted. */
export const commands = {
  create: {
    summary: "Create an agent and start it",
    tag: "agents",
    body: createAgentSchema,
    result: agentSummarySchema,
    status: 201,
  },
  archive: {
    summary: "Stop it and put it out of sight; nothing is erased",
    tag: "agents",
    result: agentSummarySchema,
  },
  restore: { summary: "Restore an archived agent", tag: "agents", result: agentSummarySchema },
  stop: {
    summary: "Stop its workers; what was said and done is kept",
    tag: "agents",
    body: z
      .strictObject({
        /** Nobody asked for it: what happened to the terminal that it works in. */
        because: z.enum(["terminal_closed", "terminated", "reader_left"]).optional(),
      })
      .nullish(),
    result: agentSummarySchema,
  },
  pause: { summary: "Let it rest until it is resumed", tag: "agents", result: agentSummarySchema },
  resume: {
    summary: "Continue where it was stopped, paused, failed or interrupted",
    tag: "agents",
    body: z
      .strictObject({
        budget_usd: z.number().positive().optional(),
        budget_tokens: z.int().positive().optional(),
        /** `provider/model` to go on with; its workers too, where they had the same. */
        model: modelName.optional(),
        worker_model: modelName.optional(),
      })
      .nullish(),
    result: agentSummarySchema,
  },
  set_models: {
    summary: "Continue with other models; so do its workers that had the same ones",
    tag: "agents",
    body: z.strictObject({ model: modelName.optional(), worker_model: modelName.optional() }),
    result: deliveredSchema,
  },
  send: {
    summary: "Say something to an agent, or to one of its team",
    tag: "conversation",
    body: z.strictObject({ message: wordsSchema, to: z.string().min(1).max(80).optional() }),
    result: deliveredSchema,
  },
  nudge: {
    summary: "Give the coordinator a hint while it works",
    tag: "conversation",
    body: z.strictObject({ message: wordsSchema }),
    result: deliveredSchema,
  },
  respond: {
    summary: "Answer a question",
    tag: "conversation",
    body: z.strictObject({ response: wordsSchema, question_id: z.string().min(1).max(80).optional() }),
    result: deliveredSchema,
  },
  seen: {
    summary: "The human has seen what was said to them: by one of the team, one message, or everything",
    tag: "conversation",
    body: z
      .strictObject({
        /** What this one said; not that a task of a mesh failed, which waits until it is named, or all is seen. */
        from: z.string().min(1).max(80).optional(),
        /** This one alone. */
        message_id: z.string().min(1).max(400).optional(),
      })
      .nullish(),
    result: deliveredSchema,
  },
  revoke_permission: {
    summary: "Take back what was always allowed: it is asked about again",
    tag: "conversation",
    /** The key, or enough of its beginning. */
    body: z.strictObject({ key: z.string().min(1).max(100) }),
    result: deliveredSchema,
  },
  assign: {
    summary: "Give a node to a worker, or to `human`; the worker that has it is stopped, and its files stay",
    tag: "work",
    body: z.strictObject({ worker: z.string().min(1).max(80) }),
    result: deliveredSchema,
  },
  cancel: {
    summary:
      "End a node that is no longer needed, with its sub-nodes; the worker that has it is stopped, its files stay",
    tag: "work",
    /** Why it is not needed any more. */
    body: z.strictObject({ reason: wordsSchema.optional() }).nullish(),
    result: deliveredSchema,
  },
  update_node: {
    summary: "Change task, deliverables or checks of a node that is not published",
    tag: "work",
    /** What is absent stays as it is; `checks: []` withdraws them. */
    body: z.strictObject({
      task: z.string().min(1).max(32_000).optional(),
      deliverables: z.array(z.string().min(1).max(200)).optional(),
      checks: z.array(z.string().min(1).max(4000)).optional(),
    }),
    result: deliveredSchema,
  },
  publish: {
    summary: "Publish a node that is the human's: what is in its scratch folder",
    tag: "work",
    /** What was done, in a few words. */
    body: z.strictObject({ summary: wordsSchema.optional() }).nullish(),
    result: deliveredSchema,
  },
  accept: {
    summary: "Put the agent's branch into the person's repository; or merge it into theirs, or open a pull request",
    tag: "repository",
    body: z
      .strictObject({
        how: z.enum(["branch", "merge", "pr"]).optional(),
        /** Of a pull request; the goal if left out. */
        title: z.string().min(1).max(200).optional(),
        remote: z.string().min(1).max(200).optional(),
        /** Where the repository is now, if it was moved: an absolute path. */
        into: z.string().min(1).max(4096).optional(),
      })
      .nullish(),
    result: deliveredSchema,
  },
  reject: {
    summary: "Take a node's work out of the agent's branch, and tell the coordinator why",
    tag: "repository",
    body: z.strictObject({ reason: wordsSchema }),
    result: deliveredSchema,
  },
  comment: {
    summary: "Comment on a line of a node's work: its worker answers, or a node that continues with it",
    tag: "repository",
    body: z.strictObject({
      path: z.string().min(1).max(4096),
      /** Counted from 1, in the file as it is after the change; with `side: old` as it was before. */
      line: z.int().positive(),
      side: z.enum(["old", "new"]).optional(),
      text: wordsSchema,
    }),
    result: deliveredSchema,
  },
  rebase: {
    summary: "Take what the person has committed since into the agent's branch",
    tag: "repository",
    /** The branch, tag or commit; the branch that was checked out at the start if left out. */
    body: z.strictObject({ ref: z.string().min(1).max(1000).optional() }).nullish(),
    result: deliveredSchema,
  },
  restore_work: {
    summary: "Put anything that was ever committed or saved into the person's repository, as a branch",
    tag: "repository",
    body: z.strictObject({ ref: z.string().min(1).max(1000), into: z.string().min(1).max(4096).optional() }),
    result: deliveredSchema,
  },
  create_trigger: {
    summary: "Have something happen later",
    tag: "triggers",
    body: createTriggerSchema,
    result: changedTriggerSchema,
    status: 201,
  },
  cancel_trigger: { summary: "Cancel it", tag: "triggers", result: changedTriggerSchema },
  pause_trigger: { summary: "It does not fire until it is resumed", tag: "triggers", result: changedTriggerSchema },
  resume_trigger: {
    summary: "It fires again; what was due meanwhile is not made up for",
    tag: "triggers",
    result: changedTriggerSchema,
  },
  start_meshes: {
    summary: "Start the meshes of a project",
    tag: "meshes",
    body: startMeshesSchema,
    result: meshProjectSchema,
    status: 201,
    unchangedStatus: 200,
  },
  stop_meshes: {
    summary: "Stop the meshes and everything they run; messages stay",
    tag: "meshes",
    result: meshProjectSchema,
  },
  send_to_mesh: {
    summary: "Write a message to a mesh, or to one of its agents",
    tag: "meshes",
    body: sendMeshMessageSchema,
    result: sentMeshMessageSchema,
    status: 201,
  },
  archive_mesh: {
    summary: "Archive the completed messages of a mesh and its agents",
    tag: "meshes",
    body: archiveMeshSchema,
    result: archivedMeshSchema,
  },
  trust_mesh: {
    summary: "Trust a mesh as it is declared now; the hash names the content that was reviewed",
    tag: "meshes",
    body: trustMeshSchema,
    result: meshViewSchema,
  },
  untrust_mesh: {
    summary: "Stop trusting a mesh: its sessions end, its messages stay",
    tag: "meshes",
    result: meshViewSchema,
  },
  spawn_mesh_agent: {
    summary: "Start an agent's session, or restart one that died",
    tag: "meshes",
    result: meshViewSchema,
  },
  kill_mesh_agent: { summary: "End an agent's session; its messages stay", tag: "meshes", result: meshViewSchema },
} as const satisfies Record<CommandName, CommandEntry>;

export interface CommandEntry {
  summary: string;
  tag: string;
  body?: z.ZodType;
  result: z.ZodType;
  status?: 200 | 201;
  /** The status instead of that one where there was nothing left to do. */
  unchangedStatus?: 200;
}

export const commandNames = Object.keys(COMMAND_ROUTES) as CommandName[];

/** The parameters that its route names; everything else of a command is its body. */
export function commandParamsOf(name: CommandName): (keyof typeof commandParams)[] {
  return [...COMMAND_ROUTES[name].matchAll(/:(\w+)/g)].map(([, param]) => param as keyof typeof commandParams);
}

type ParamsIn<Route extends string> = Route extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamsIn<`/${Rest}`>
  : Route extends `${string}:${infer Name}`
    ? Name
    : never;
type Params<C extends CommandName> = { [P in ParamsIn<(typeof COMMAND_ROUTES)[C]>]: string };
type Body<C extends CommandName> = (typeof commands)[C] extends { body: infer S extends z.ZodType }
  ? NonNullable<z.input<S>>
  : unknown;

type CheckedBody<C extends CommandName> = (typeof commands)[C] extends { body: infer S extends z.ZodType }
  ? NonNullable<z.output<S>>
  : unknown;

/** The arguments of a command, by name. */
export type CommandArgs<C extends CommandName> = Params<C> & Body<C>;
/** The same after they were checked: what was left out and has a default is there. */
export type CheckedArgs<C extends CommandName> = Params<C> & CheckedBody<C>;
export type CommandOf<C extends CommandName> = C extends CommandName ? { do: C } & CommandArgs<C> : never;
export type Command = CommandOf<CommandName>;
/** The same for an agent that both sides know. */
export type CommandToAgent<C extends Exclude<CommandName, "create" | "start_meshes">> = C extends CommandName
  ? { do: C } & Omit<CommandArgs<C>, "id">
  : never;
export type CommandResult<C extends CommandName> = z.output<(typeof commands)[C]["result"]>;
