import { z } from "zod";
import { missedPolicySchema } from "../protocol/index.ts";
import type { TriggerOrder } from "../triggers/trigger-order.ts";
import { defineTool, hidden, type Tool, type ToolOutput } from "./tool.ts";

/** What may be scheduled; the runtime implements it and answers in words. */
export interface SchedulePort {
  schedule(order: TriggerOrder): Promise<ToolOutput>;
  /** Active and paused triggers, as they are. */
  triggers(): string;
  cancel(triggerId: string): Promise<ToolOutput>;
}

const later = { time_zone: z.string().optional(), missed: missedPolicySchema.optional() };
const orderSchema = z.object({
  type: z.enum(["delayed", "at_time", "scheduled", "heartbeat", "on_event", "on_idle", "on_change"]),
  config: z.record(z.string(), z.unknown()).meta({
    short:
      "By type: {delay_seconds} {at} {cron} {interval_seconds, stuck_seconds} {event_pattern, filter} {idle_seconds} {path | url | command, every_seconds}",
  }),
  action: z.union([z.string().min(1), z.record(z.string(), z.unknown())]).meta({
    short:
      'Words to wake you with, or {type: "send_message" | "run_node" | "run_callback", payload: {to, content} | {node_id} | {name}}',
  }),
  ...later,
});

/** What a worker sets comes to it as a message. */
const workersOrder = z.object({
  type: z.enum(["delayed", "at_time", "scheduled", "on_event", "on_idle"]),
  config: z
    .record(z.string(), z.unknown())
    .meta({ short: "By type: {delay_seconds} {at} {cron} {event_pattern, filter} {idle_seconds}" }),
  action: z.string().min(1).describe("Words that come to you."),
  ...later,
});

/** What a person orders, where no toolbox refuses what it does not know. */
export const triggerOrderSchema = orderSchema.strict();

export function scheduleTools(port: SchedulePort, whose: "coordinator's" | "worker's"): Tool[] {
  const isLead = whose === "coordinator's";
  const kinds =
    "heartbeat: only if something is new or stuck; on_change: when a file, page or command's output changed.";
  return [
    defineTool({
      name: "schedule",
      description: `Be woken later, also after a restart.${isLead ? ` ${kinds}` : ""}`,
      repeatable: false,
      parameters: (isLead ? orderSchema : workersOrder) as typeof orderSchema,
      run: (asked) => port.schedule(asked),
    }),
    defineTool({
      name: "list_triggers",
      description: "Your triggers and when they are due; cancel ends one by its id.",
      repeatable: true,
      parameters: z.object({ cancel: z.string().min(1).optional() }),
      run: async ({ cancel }) => (cancel === undefined ? port.triggers() : port.cancel(cancel)),
    }),
    hidden(
      defineTool({
        name: "cancel_trigger",
        description: "Cancel a trigger.",
        repeatable: true,
        parameters: z.object({ trigger_id: z.string().min(1) }),
        run: ({ trigger_id }) => port.cancel(trigger_id),
      }),
    ),
  ];
}
