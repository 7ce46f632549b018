import { z } from "zod";
import type { CallPart } from "../protocol/index.ts";
import { LONGEST_MESSAGE } from "./mail.ts";
import { defineTool, type Tool, type ToolOutput } from "./tool.ts";

const newQuestion = z.object({
  question: z.string().min(1).max(LONGEST_MESSAGE),
  choices: z.array(z.string().min(1).max(200)).min(2).max(9).optional(),
  channel: z.string().max(60).optional(),
  deadline_seconds: z
    .number()
    .positive()
    .max(366 * 86_400)
    .optional(),
  default: z.string().max(LONGEST_MESSAGE).optional().describe("Used as the answer after deadline_seconds."),
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
      "Ask your human one thing and wait, perhaps for hours: only what you cannot find out or decide yourself.",
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
