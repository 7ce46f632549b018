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
  type: z.enum(["delayed", "at_time", "scheduled", "heartbeat", "on_event", "on_idle"]),
  config: z
    .looseObject({
      delay_seconds: z.unknown().optional().describe("delayed: a number of seconds from now."),
      at: z.unknown().optional().describe("at_time: 2027-02-12T09:00:00, in time_zone, or with its offset."),
      cron: z.unknown().optional().describe('scheduled: minute hour day month weekday, e.g. "0 9 * * MON".'),
      interval_seconds: z.unknown().optional().describe("heartbeat: at least 1."),
      event_pattern: z.unknown().optional().describe('on_event: e.g. "node.completed" or "node.*".'),
      filter: z.unknown().optional().describe('on_event: equal fields, e.g. {"node_id": "node-1"}.'),
      idle_seconds: z.unknown().optional().describe("on_idle: at least 1."),
    })
    .describe("What belongs to the type."),
  action: z
    .union([z.string().min(1), z.record(z.string(), z.unknown())])
    .describe(
      'The task to wake up with, in words; or {"type": "send_message", "payload": {"to", "content"}}, {"type": "run_node", "payload": {"node_id"}}, {"type": "run_callback", "payload": {"name"}}.',
    ),
  time_zone: z.string().optional().describe("An IANA name such as Europe/Berlin; this machine's if left out."),
  missed: missedPolicySchema
    .optional()
    .describe("If its time passes while nobody is there: once (late, the usual) or skip (usual for heartbeats)."),
});

export function scheduleTools(port: SchedulePort): Tool[] {
  return [
    defineTool({
      name: "schedule",
      description:
        "Have something happen later. It survives restarts: finish, and you are woken with the task, so write it for somebody who has forgotten today. A heartbeat wakes you only if something is new; for work that is due anyway use scheduled.",
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
