import { z } from "zod";

/** The lines of Claude Code's stream-json, as far as they mean something to us. All else is let through and ignored. */
const parent = { parent_tool_use_id: z.string().nullish() };

const count = z.int().nonnegative();
const usage = z.object({
  input_tokens: count.default(0),
  output_tokens: count.default(0),
  cache_read_input_tokens: count.nullish(),
  cache_creation_input_tokens: count.nullish(),
});
export type WireUsage = z.infer<typeof usage>;

const block = z.union([
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("tool_use"), id: z.string(), name: z.string(), input: z.unknown() }),
  z.object({
    type: z.literal("tool_result"),
    tool_use_id: z.string(),
    content: z.unknown(),
    is_error: z.boolean().nullish(),
  }),
  z.object({ type: z.string() }),
]);
export type WireBlock = z.infer<typeof block>;

const initLine = z.object({
  type: z.literal("system"),
  subtype: z.literal("init"),
  session_id: z.string(),
  model: z.string().optional(),
  claude_code_version: z.string().optional(),
  mcp_servers: z.array(z.object({ name: z.string(), status: z.string() })).default([]),
});
const retryLine = z.object({
  type: z.literal("system"),
  subtype: z.literal("api_retry"),
  attempt: z.number(),
  max_retries: z.number(),
  retry_delay_ms: z.number().nonnegative().default(0),
  error_status: z.number().nullish(),
  error: z.string().nullish(),
});
const assistantLine = z.object({
  type: z.literal("assistant"),
  ...parent,
  message: z.object({ id: z.string(), model: z.string(), content: z.array(block), usage: usage.optional() }),
});
const userLine = z.object({
  type: z.literal("user"),
  ...parent,
  uuid: z.string().optional(),
  isReplay: z.boolean().optional(),
  message: z.object({ content: z.union([z.string(), z.array(block)]) }),
});
const streamLine = z.object({
  type: z.literal("stream_event"),
  ...parent,
  event: z.object({
    type: z.string(),
    message: z.object({ model: z.string() }).optional(),
    delta: z
      .object({ type: z.string().optional(), text: z.string().optional(), thinking: z.string().optional() })
      .optional(),
    usage: usage.optional(),
  }),
});
const lifecycleLine = z.object({ type: z.literal("command_lifecycle"), command_uuid: z.string(), state: z.string() });
const resultLine = z.object({
  type: z.literal("result"),
  subtype: z.string(),
  is_error: z.boolean().default(false),
  result: z.string().nullish(),
  errors: z.array(z.string()).nullish(),
  terminal_reason: z.string().nullish(),
  stop_reason: z.string().nullish(),
  total_cost_usd: z.number().nonnegative().nullish(),
  queued_turn_count: z.number().nullish(),
  permission_denials: z.array(z.object({ tool_name: z.string() })).nullish(),
});
const askLine = z.object({
  type: z.literal("control_request"),
  request_id: z.string(),
  request: z.object({
    subtype: z.literal("can_use_tool"),
    tool_name: z.string(),
    input: z.unknown(),
    description: z.string().nullish(),
    tool_use_id: z.string().nullish(),
  }),
});
const withdrawnLine = z.object({ type: z.literal("control_cancel_request"), request_id: z.string() });

const known = {
  "system/init": initLine,
  "system/api_retry": retryLine,
  assistant: assistantLine,
  user: userLine,
  stream_event: streamLine,
  command_lifecycle: lifecycleLine,
  result: resultLine,
  "control_request/can_use_tool": askLine,
  control_cancel_request: withdrawnLine,
} as const;

export type ClaudeLine = { [K in keyof typeof known]: { is: K; line: z.infer<(typeof known)[K]> } }[keyof typeof known];

const head = z.object({
  type: z.string(),
  subtype: z.string().optional(),
  request: z.object({ subtype: z.string() }).optional(),
});

/** Undefined for a line that says nothing to us; a string where it should have, and does not say it as we know it. */
export function claudeLine(text: string): ClaudeLine | string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return `It wrote a line that is not JSON: ${text.slice(0, 200)}`;
  }
  const named = head.safeParse(value);
  if (!named.success) return `It wrote a line without a type: ${text.slice(0, 200)}`;
  const { type, subtype = named.data.request?.subtype } = named.data;
  const is = Object.hasOwn(known, type) ? type : `${type}/${subtype}`;
  if (!Object.hasOwn(known, is)) return undefined;
  const key = is as keyof typeof known;
  const parsed = known[key].safeParse(value);
  if (!parsed.success) return `It wrote a line of type ${is} that we do not understand: ${text.slice(0, 200)}`;
  return { is: key, line: parsed.data } as ClaudeLine;
}
