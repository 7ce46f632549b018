import { z } from "zod";
import type { CallPart } from "../protocol/index.ts";
import { defineTool, type Tool, type ToolOutput } from "./tool.ts";

/** What a worker may do with its node; the runtime stands behind it. */
export interface NodePort {
  /** Records the intent, renames, completes. Resolves with a refusal when there is nothing true to publish. */
  publish(
    summary: string,
    learned: string,
    below: "must have ended" | "may go on",
  ): Promise<{ ok: true; files: readonly { path: string; bytes: number }[] } | { ok: false; reason: string }>;
}

export interface CheckpointPort {
  checkpoint(
    summary: string,
    call: CallPart | undefined,
    signal: AbortSignal,
    learned?: string | undefined,
  ): Promise<ToolOutput>;
}

export interface DelegationPort {
  createNode(order: NewWork): Promise<ToolOutput>;
}

/** More than this belongs into a file that the task refers to. */
export const LONGEST_TASK = 32_000;

const newWork = z.object({
  task: z
    .string()
    .min(1)
    .max(LONGEST_TASK)
    .describe("What to do: the whole brief, with acceptance criteria. The worker sees nothing else."),
  deliverables: z
    .array(z.string().min(1))
    .default([])
    .describe("Files that must be in scratch/ when the worker publishes, e.g. report.md. Checked."),
  refs: z
    .record(z.string(), z.string())
    .default({})
    .describe(
      'Files the worker needs, by name: {"survey": "node-1/published/report.md"}. Also published files of earlier runs, notes/…, output/…, project/…',
    ),
  dependencies: z.array(z.string()).default([]).describe("Ids of nodes that must be completed first."),
  inference: z
    .enum(["multi", "single"])
    .default("multi")
    .describe("multi: a worker with tools. single: one answer, no tools; the cheapest."),
  worker: z.string().optional().describe("Name of the worker who should do it; anyone who is free if left out."),
  model: z.string().optional().describe("provider/model: somebody with it does it, hired if need be."),
  program: z.string().optional().describe("A program does it instead of a model, e.g. claude-code."),
  not_by: z
    .array(z.string())
    .default([])
    .describe("For a review: nodes whose authors must not get it, e.g. node-1; or names."),
  hold: z
    .boolean()
    .default(false)
    .describe("Nobody begins it before a trigger runs it (schedule with run_node) or you assign it."),
  checks: z
    .array(z.string().min(1))
    .default([])
    .describe("Shell commands that must succeed in scratch/ before it may be published, e.g. python3 -m pytest -q"),
  budget_usd: z.number().positive().optional().describe("The most this node and the nodes below it may cost."),
});
export type NewWork = z.infer<typeof newWork>;

/** Others are told it, whole: what is longer belongs into a file. */
export const LONGEST_SUMMARY = 4000;
// Here and not in the tools: a schema costs more to make than anything it checks, and every worker has these tools.
const toPublish = z.object({
  summary: z
    .string()
    .min(1)
    .max(LONGEST_SUMMARY)
    .describe("What you produced, in a few sentences. More than that belongs into a file."),
  learned: z
    .string()
    .max(4000)
    .default("")
    .describe("What you learned that will help with later work; kept in your memory."),
  leave: z
    .boolean()
    .default(false)
    .describe("Publish although nodes you handed out still run; their results go to whoever is above you."),
});
const toCheckpoint = z.object({ summary: z.string().min(1).max(LONGEST_SUMMARY) });
const toReflect = toCheckpoint.extend({
  learned: z
    .string()
    .max(4000)
    .optional()
    .describe("What you learned so far that a later run should know; kept in your memory. Leave it out if nothing."),
});
const toGiveUp = z.object({ reason: z.string().min(1).max(LONGEST_SUMMARY) });
const toSuggest = z.object({ suggestion: z.string().min(1).max(2000) });

export function publishTool(node: NodePort): Tool {
  return defineTool({
    name: "publish",
    description:
      "End your work on the node: all of scratch/ becomes published/, read-only, for others to build on. Remove what nobody should see first. Refused while a deliverable is missing or nodes that you handed out still run.",
    repeatable: true,
    parameters: toPublish,
    async run({ summary, learned, leave }) {
      const published = await node.publish(summary, learned, leave ? "may go on" : "must have ended");
      if (!published.ok) return { ok: false, content: `Not published: ${published.reason}` };
      const files = published.files.map((file) => `${file.path} (${file.bytes} bytes)`).join(", ");
      return { content: `Published: ${files}. The node is completed.`, ending: { kind: "published", summary } };
    },
  });
}

/** Ends the node as failed at once: nobody is asked to try again what cannot be done. */
export function giveUpTool(): Tool {
  return defineTool({
    name: "give_up",
    description:
      "End the node as failed, because it cannot be done as asked: say why and what would help. Your files stay.",
    repeatable: true,
    parameters: toGiveUp,
    run: async ({ reason }) => ({
      content: "The node has failed. The coordinator is told why.",
      ending: { kind: "abandoned", error: reason },
    }),
  });
}

/** `reflecting`: what was learned goes into a memory of its own. */
export function checkpointTool(port: CheckpointPort, reflecting = false): Tool {
  return defineTool({
    name: "checkpoint",
    description: "Record that a part is done and go on working. Write your files first.",
    repeatable: true,
    parameters: (reflecting ? toReflect : toCheckpoint) as typeof toReflect,
    run: ({ summary, learned }, signal, call) => port.checkpoint(summary, call, signal, learned),
  });
}

export function createWorkNodeTool(port: DelegationPort): Tool {
  return defineTool({
    name: "create_work_node",
    description:
      "Put a piece of work on the board; a worker begins at once, and you are told how it ends. One node, one clear result, for work that can stand alone. The worker sees only the task, the refs and the project: say everything it needs. Meanwhile go on, or say nothing and wait.",
    repeatable: false,
    parameters: newWork,
    run: (order) => port.createNode(order),
  });
}

export function suggestTool(suggest: (suggestion: string) => Promise<ToolOutput>): Tool {
  return defineTool({
    name: "suggest_next",
    description: "Suggest work beyond your spec to the coordinator, and why. Then go on with your own.",
    repeatable: false,
    parameters: toSuggest,
    run: ({ suggestion }) => suggest(suggestion),
  });
}
