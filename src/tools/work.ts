import { z } from "zod";
import { defineTool, type Tool } from "./tool.ts";

/** What a worker may do with its node; the runtime stands behind it. */
export interface NodePort {
  /** Records the intent, renames, completes. Resolves with a refusal when there is nothing true to publish. */
  publish(
    summary: string,
  ): Promise<{ ok: true; files: readonly { path: string; bytes: number }[] } | { ok: false; reason: string }>;
}

export interface CheckpointPort {
  checkpoint(summary: string): Promise<void>;
}

export interface CoordinationPort {
  createNode(order: NewWork): Promise<{ ok: true; node_id: string } | { ok: false; reason: string }>;
  /** Why the run cannot end yet, or null. */
  unfinished(): string | null;
}

const newWork = z.object({
  task: z
    .string()
    .min(1)
    .describe("What to do: the whole brief, with acceptance criteria. The worker sees nothing else."),
  deliverables: z
    .array(z.string().min(1))
    .default([])
    .describe("Files that must be in scratch/ when the worker publishes, e.g. report.md. Checked."),
  refs: z
    .record(z.string(), z.string())
    .default({})
    .describe('Published results the worker needs, by name: {"survey": "node-1/published/report.md"}'),
  dependencies: z.array(z.string()).default([]).describe("Ids of nodes that must be completed first."),
  inference: z
    .enum(["multi", "single"])
    .default("multi")
    .describe("multi: a worker with tools. single: one answer, no tools; the cheapest."),
});
export type NewWork = z.infer<typeof newWork>;

export function publishTool(node: NodePort): Tool {
  return defineTool({
    name: "publish",
    description: "Finalise your work on this node: scratch/ becomes published/, the node is completed.",
    guidance: `Ends your work on the node. Everything in scratch/ becomes published/, read-only, for all to build on.
- Look at scratch/ first: remove what nobody should see, make sure every deliverable that the spec names is there.
- An empty scratch/ or a missing deliverable is refused and you are told why; mend it and publish again.
- The summary is what others read first: what you produced, what you found, what is uncertain.`,
    repeatable: true,
    parameters: z.object({ summary: z.string().min(1).describe("What you produced, in a few sentences.") }),
    async run({ summary }) {
      const published = await node.publish(summary);
      if (!published.ok) return { ok: false, content: `Not published: ${published.reason}` };
      const files = published.files.map((file) => `${file.path} (${file.bytes} bytes)`).join(", ");
      return { content: `Published: ${files}. The node is completed.`, ending: { kind: "published", summary } };
    },
  });
}

export function checkpointTool(port: CheckpointPort): Tool {
  return defineTool({
    name: "checkpoint",
    description: "Record that a part of the work is done, with a summary.",
    guidance: `Marks a point worth coming back to: what is done, what is next. It is recorded and others see it; you go on working.
- Write your files first. A checkpoint with nothing on disk helps nobody.`,
    repeatable: true,
    parameters: z.object({ summary: z.string().min(1) }),
    async run({ summary }) {
      await port.checkpoint(summary);
      return "Recorded. Go on.";
    },
  });
}

export function createWorkNodeTool(port: CoordinationPort): Tool {
  return defineTool({
    name: "create_work_node",
    description: "Put a piece of work on the board. A worker picks it up at once.",
    guidance: `Hands a piece of work to somebody else. Use it for work that can stand alone; do small things yourself.
- One node, one clear result. The worker sees only the task, the refs and the user's files: say everything it needs.
- Name deliverables, so that "done" can be checked.
- You are told when the node is completed or has failed; until then say nothing and wait. Then read nodes/NODE/published/.`,
    repeatable: false,
    parameters: newWork,
    async run(order) {
      const made = await port.createNode(order);
      return made.ok
        ? `Created ${made.node_id}. You will be told when it ends.`
        : { ok: false, content: `Not created: ${made.reason}` };
    },
  });
}

export function finishTool(port: CoordinationPort): Tool {
  return defineTool({
    name: "finish",
    description: "The goal is met: end the run with a summary for the human.",
    guidance: `Ends the run. Call it once, when the goal is met and the results are in files.
- The summary answers the goal in plain words and names the files that hold the results.
- Refused while nodes are still being worked on.`,
    repeatable: true,
    parameters: z.object({ summary: z.string().min(1).describe("The answer, for the human.") }),
    async run({ summary }) {
      const why = port.unfinished();
      if (why) return { ok: false, content: `Not finished: ${why}` };
      return { content: "Finished.", ending: { kind: "finished", summary } };
    },
  });
}
