import { z } from "zod";
import { type SendOutcome, sendFromAgent } from "../../mesh/files/agent-outbox.ts";
import type { Layout } from "../../mesh/files/layout.ts";
import { defineTool, refusal, type Tool, type ToolOutput } from "../../tools/tool.ts";

const text = z.string().trim().min(1, "it must not be empty").max(200_000);

/** The commands of `tx` as tools, for agents without a terminal. */
export function txTools(layout: Layout, address: { mesh: string; agent: string }, now: () => number): Tool[] {
  const say = (message: Parameters<typeof sendFromAgent>[3]) =>
    sendFromAgent(layout, address, new Date(now()), message);
  return [
    defineTool({
      name: "tx_done",
      description:
        "End the task you were given: say what you did, where it is, and what others should know. With failed: why it cannot be done.",
      repeatable: false,
      parameters: z.object({ summary: text, failed: z.boolean().optional() }),
      async run({ summary, failed = false }) {
        const said = await say({ to: "mesh", type: failed ? "error" : "task-complete", body: summary });
        if (said.kind === "refused") return refusal(said.reason);
        const ending = failed
          ? ({ kind: "failed", error: summary } as const)
          : ({ kind: "finished", summary } as const);
        return { content: "Recorded. The task has ended.", ending };
      },
    }),
    defineTool({
      name: "tx_send",
      description:
        "Give an agent of this mesh, another mesh or mesh/agent a task; you are told when it is done. To answer a question pass the id that it names as answers.",
      repeatable: false,
      parameters: z.object({ to: z.string().min(1).max(200), text, answers: z.string().max(200).optional() }),
      async run({ to, text: body, answers }) {
        const type = answers === undefined ? "task" : "ask-response";
        return inWords(await say({ to, type, body, ...(answers !== undefined && { answers }) }), `Sent to ${to}.`);
      },
    }),
    defineTool({
      name: "tx_ask",
      description:
        "Ask another agent of this mesh, or human, a question. The answer comes as a message: go on meanwhile, or say nothing and wait.",
      repeatable: false,
      parameters: z.object({ to: z.string().min(1).max(200), question: text }),
      async run({ to, question }) {
        return inWords(await say({ to, type: "ask", body: question }), `Asked ${to}. The answer will be given to you.`);
      },
    }),
  ];
}

function inWords(said: SendOutcome, taken: string): ToolOutput {
  return said.kind === "refused" ? refusal(said.reason) : taken;
}
