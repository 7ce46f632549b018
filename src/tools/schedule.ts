import { z } from "zod";
import { missedPolicySchema } from "../protocol/index.ts";
import type { TriggerOrder } from "../triggers/order.ts";
import { defineTool, type Tool, type ToolOutput } from "./tool.ts";

/** What somebody may have happen later; the runtime stands behind it and answers in words. */
export interface SchedulePort {
  schedule(order: TriggerOrder): Promise<ToolOutput>;
  /** Active and paused triggers, as they are. */
  triggers(): string;
  cancel(triggerId: string): Promise<ToolOutput>;
}

export const triggerOrderSchema = z.object({
  type: z.enum(["delayed", "at_time", "scheduled", "heartbeat", "on_event", "on_idle", "on_change"]),
  config: z
    .record(z.string(), z.unknown())
    .describe(
      'By type: {delay_seconds}; {at: "2027-02-12T09:00:00"}; {cron: "0 9 * * MON"}; {interval_seconds, stuck_seconds?}; {event_pattern: "node.completed", filter?: {"node_id": "node-1"}}; {idle_seconds}; {path | url | command, every_seconds}.',
    ),
  action: z
    .union([z.string().min(1), z.record(z.string(), z.unknown())])
    .describe(
      'The task to wake up with, in words; or {"type": "send_message", "payload": {"to", "content"}}, {"type": "run_node", "payload": {"node_id"}}, {"type": "run_callback", "payload": {"name"}}.',
    ),
  time_zone: z.string().optional().describe("IANA name; this machine's if left out."),
  missed: missedPolicySchema.optional().describe("If its time passes while nobody is there: once (late) or skip."),
});

export function scheduleTools(port: SchedulePort): Tool[] {
  return [
    defineTool({
      name: "schedule",
      description:
        "Have something happen later. It survives restarts: finish, and you are woken with the task, so write it for somebody who has forgotten today. A heartbeat wakes you only if something is new or somebody is stuck; on_change when a file, a page or a command's output has changed; for work that is due anyway use scheduled.",
      repeatable: false,
      parameters: triggerOrderSchema,
      run: (asked) => port.schedule(asked),
    }),
    defineTool({
      name: "list_triggers",
      description: "List your triggers and when they are due. Look before you schedule the same thing twice.",
      repeatable: true,
      readOnly: true,
      parameters: z.object({}),
      run: async () => port.triggers(),
    }),
    defineTool({
      name: "cancel_trigger",
      description: "Cancel a trigger.",
      repeatable: true,
      parameters: z.object({ trigger_id: z.string().min(1) }),
      run: ({ trigger_id }) => port.cancel(trigger_id),
    }),
  ];
}
