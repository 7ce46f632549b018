import { z } from "zod";
import { namedSchema } from "./agents.ts";

/** What a person always allows the agent's programs, in this run. */
export const permissionsPageSchema = z.object({
  permissions: z.array(
    z.object({ worker_id: z.string(), key: z.string(), tool: z.string(), what: z.string(), since_ts: z.number() }),
  ),
});
/** It is on disk. `detail` says what happens with it. */
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

export const threadEntrySchema = z.object({
  seq: z.int(),
  ts: z.number(),
  from: z.string(),
  to: z.string(),
  text: z.string(),
});
/** Oldest first; `next_before` leads to earlier messages. */
export const conversationPageSchema = z.object({
  messages: z.array(threadEntrySchema),
  next_before: z.int().nullable(),
});
export const inboxItemSchema = z.object({
  /** All but messages wait for the human: nothing goes on without them. A message is only unread. */
  kind: z.enum(["question", "approval", "failure", "message"]),
  id: z.string(),
  agent: namedSchema,
  from: namedSchema,
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
  /** All workers wait for each other, on these nodes, and so does the coordinator. It waits until one of them goes on. */
  deadlock: z.array(z.string()).optional(),
  /** Of a question: Agiraph asks whether this mesh is trusted. */
  mesh_trust: z.object({ project: z.string(), mesh: z.string(), hash: z.string() }).optional(),
});
export const inboxPageSchema = z.object({ items: z.array(inboxItemSchema), next_after: z.string().nullable() });
