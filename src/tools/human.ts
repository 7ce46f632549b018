import { z } from "zod";
import type { CallPart } from "../protocol/index.ts";
import { LONGEST_MESSAGE } from "./mail.ts";
import { defineTool, type Tool, type ToolOutput } from "./tool.ts";

const newQuestion = z.object({
  question: z.string().min(1).max(LONGEST_MESSAGE),
  choices: z
    .array(z.string().min(1).max(200))
    .min(2)
    .max(9)
    .optional()
    .describe("Possible answers, shown to pick from; your human may still answer in other words."),
  channel: z.string().max(60).optional().describe("The channel to ask by; all of them if left out."),
  deadline_seconds: z
    .number()
    .positive()
    .max(366 * 86_400)
    .optional()
    .describe("How long to wait. For ever if left out."),
  default: z.string().max(LONGEST_MESSAGE).optional().describe("What you will go on with if no answer comes in time."),
});
export type NewQuestion = z.infer<typeof newQuestion>;

export interface HumanPort {
  /** Resolves when the human has answered, or the deadline has passed. */
  ask(question: NewQuestion, call: CallPart, signal: AbortSignal): Promise<ToolOutput>;
}

export function askHumanTool(port: HumanPort): Tool {
  return defineTool({
    name: "ask_human",
    description:
      'Ask your human one thing and wait for the answer, perhaps for hours: only what you cannot find out or decide yourself and would be costly to get wrong. Say what you would do. To tell them something use send_message to "human".',
    repeatable: true, // the same call finds the question it asked
    parameters: newQuestion,
    async run(question, signal, call) {
      if (!call) throw new Error("ask_human is answered by call.");
      if (question.default !== undefined && question.deadline_seconds === undefined)
        return { ok: false, content: "Not asked: a default needs a deadline_seconds." };
      return port.ask(question, call, signal);
    },
  });
}
