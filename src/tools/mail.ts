import { z } from "zod";
import { defineTool, type Tool, type ToolOutput } from "./tool.ts";

/** Longer messages belong in a file that the message names. */
export const LONGEST_MESSAGE = 4000;

export interface MailPort {
  send(to: string, content: string): Promise<ToolOutput>;
  /** How many are waiting. They are told between turns, by the mailbox. */
  waiting(): number;
  /** Resolves when there is something new, or nothing can come; with `all`, a mere result waits for the other results. */
  arrived(signal: AbortSignal, all: boolean): Promise<void>;
}

/** What is answered to a wait that nothing can end, and to a look that finds nothing. */
export const NOBODY_AT_WORK = "Nobody is at work, so nothing will come.";
export const NOTHING_NEW = "There is nothing new.";

const toSend = z.object({
  to: z.string().min(1),
  content: z.string().min(1).max(LONGEST_MESSAGE),
});
const toCheck = z.object({ wait: z.boolean().default(false), all: z.boolean().default(false) });

export function mailTools(port: MailPort): Tool[] {
  return [
    defineTool({
      name: "send_message",
      description:
        'Write to a colleague by name, "coordinator", "human" or "*" (all). Long things belong in files. Do not send mere thanks.',
      repeatable: false,
      parameters: toSend,
      run: ({ to, content }) => port.send(to, content),
    }),
    defineTool({
      name: "check_messages",
      description:
        "Messages are shown before each turn anyway. wait: sleep until one comes or a colleague is done; with all: until all you handed out has ended.",
      repeatable: true,
      readOnly: true,
      parameters: toCheck,
      async run({ wait, all }, signal) {
        if (all || (wait && port.waiting() === 0)) await port.arrived(signal, all);
        if (port.waiting() > 0) return "You have new messages; they follow.";
        return wait || all ? NOBODY_AT_WORK : NOTHING_NEW;
      },
    }),
  ];
}
