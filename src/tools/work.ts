import { z } from "zod";
import type { CallPart } from "../protocol/index.ts";
import { defineTool, type Tool, type ToolOutput } from "./tool.ts";

/** What a worker may do with its node; the runtime implements it. */
export interface NodePort {
  /** Records the intent and renames; the node is completed when the work on it ends. Resolves with a refusal when there is nothing true to publish. */
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

/** More than this belongs in a file to which the task refers. */
export const LONGEST_TASK = 32_000;

/** A valid name for a worker. */
export const PERSONS_NAME = /^\p{L}[\p{L}\p{M}' -]{0,38}$/u;

const newWork = z.object({
  task: z.string().min(1).max(LONGEST_TASK).describe("The whole brief, with acceptance criteria."),
  deliverables: z.array(z.string().min(1)).default([]).describe("Files it must publish."),
  refs: z
    .record(z.string(), z.string())
    .default({})
    .describe('{"survey": "node-1/published/report.md"}; also notes/…, output/…, project/…'),
  dependencies: z.array(z.string()).default([]).describe("Nodes to complete first."),
  inference: z.enum(["multi", "single"]).default("multi").describe("single: one answer, no tools."),
  worker: z.string().optional(),
  model: z.string().optional().describe("provider/model"),
  program: z.string().optional(),
  not_by: z.array(z.string()).default([]).describe("For a review: nodes whose authors must not do it."),
  hold: z.boolean().default(false).describe("Until assigned or triggered."),
  checks: z.array(z.string().min(1)).default([]).describe("Shell commands that must pass."),
  budget_usd: z.number().positive().optional(),
});
/** For the coordinator of a team that changes a repository. */
const newChange = newWork.extend({
  allow_red: z.boolean().default(false).describe("Although the project's own checks fail."),
});
export type NewWork = z.infer<typeof newWork> & { allow_red?: boolean };

/** Others get it whole: longer text belongs in a file. */
export const LONGEST_SUMMARY = 4000;
// Here and not in the tools: a schema costs more to make than anything it checks, and every worker has these tools.
const toPublish = z.object({
  summary: z.string().min(1).max(LONGEST_SUMMARY),
  learned: z.string().max(4000).default("").describe("All you will remember of this node."),
  leave: z.boolean().default(false).describe("Although your sub-nodes still run."),
});
const toCheckpoint = z.object({ summary: z.string().min(1).max(LONGEST_SUMMARY) });
const toReflect = toCheckpoint.extend({
  learned: z.string().max(4000).optional().describe("What a later run should know."),
});
const toGiveUp = z.object({ reason: z.string().min(1).max(LONGEST_SUMMARY) });
const toSuggest = z.object({ suggestion: z.string().min(1).max(2000) });

/** `changes`: what its work is. */
export function publishTool(node: NodePort, changes: "files" | "repository" = "files"): Tool {
  return defineTool({
    name: "publish",
    description: WHAT_PUBLISH_DOES[changes],
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

const WHAT_PUBLISH_DOES = {
  files:
    "End your work on the node: scratch/ becomes published/ for others, who are told the summary. Remove first what nobody should see.",
  repository:
    "End your work on the node: what you changed in the repository is committed with the summary as message, merged into the team's branch and checked there; what does not merge or pass comes back to you. scratch/ becomes published/ for others, who are told the summary.",
};

/** Ends the node as failed at once: what cannot be done is not retried. */
export function giveUpTool(): Tool {
  return defineTool({
    name: "give_up",
    description: "End the node as failed: it cannot be done as asked. Say why and what would help.",
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
    description: reflecting
      ? "Record what is done and what the next cycle must know: this ends the cycle of an infinite agent. Put it into one reply with the look: if that fails, the cycle goes on."
      : "Record that a part is done, and go on.",
    repeatable: true,
    parameters: (reflecting ? toReflect : toCheckpoint) as typeof toReflect,
    run: ({ summary, learned }, signal, call) => port.checkpoint(summary, call, signal, learned),
  });
}

/** `changes`: what may be asked of the work. Work that must pass checks cannot hand out work that need not. */
export function createWorkNodeTool(port: DelegationPort, changes: "files" | "repository" = "files"): Tool {
  return defineTool({
    name: "create_work_node",
    description:
      "Hand out work that can stand alone, one clear result a node. Its worker sees only task, refs and project. You hear how it ends: go on, or wait with check_messages.",
    repeatable: false,
    parameters: changes === "repository" ? newChange : newWork,
    run: (order) => port.createNode(order),
  });
}

export function suggestTool(suggest: (suggestion: string) => Promise<ToolOutput>): Tool {
  return defineTool({
    name: "suggest_next",
    description: "Suggest work beyond your spec to the coordinator, and why.",
    repeatable: false,
    parameters: toSuggest,
    run: ({ suggestion }) => suggest(suggestion),
  });
}
