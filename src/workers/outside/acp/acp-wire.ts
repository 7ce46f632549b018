import { z } from "zod";

/**
 * What ACP agents send, as far as we use it. Read leniently: a field we do not understand is as if it were not there,
 * since agents are ahead of the protocol's versions, and behind them.
 */
const lenient = <T extends z.ZodType>(schema: T) => schema.nullish().catch(undefined);
const meta = lenient(z.record(z.string(), z.unknown()));

const contentSchema = z.looseObject({ type: z.string(), text: lenient(z.string()), uri: lenient(z.string()) });
export type WireContent = z.infer<typeof contentSchema>;

const callContentSchema = z.looseObject({
  type: z.string(),
  content: lenient(contentSchema),
  path: lenient(z.string()),
  oldText: lenient(z.string()),
  newText: lenient(z.string()),
});

const wireCallSchema = z.looseObject({
  toolCallId: z.string().min(1),
  title: lenient(z.string()),
  name: lenient(z.string()),
  kind: lenient(z.string()),
  status: lenient(z.string()),
  content: lenient(z.array(callContentSchema)),
  locations: lenient(z.array(z.looseObject({ path: z.string() }))),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  _meta: meta,
});
export type WireCall = z.infer<typeof wireCallSchema>;

const chunk = { content: contentSchema, messageId: lenient(z.string()) };
export const updateSchema = z.discriminatedUnion("sessionUpdate", [
  z.looseObject({ sessionUpdate: z.literal("agent_message_chunk"), ...chunk }),
  z.looseObject({ sessionUpdate: z.literal("agent_thought_chunk"), ...chunk }),
  wireCallSchema.extend({ sessionUpdate: z.literal("tool_call") }),
  wireCallSchema.extend({ sessionUpdate: z.literal("tool_call_update") }),
  z.looseObject({
    sessionUpdate: z.literal("plan"),
    entries: z.array(z.looseObject({ content: z.string(), status: lenient(z.string()) })),
  }),
  z.looseObject({
    sessionUpdate: z.literal("usage_update"),
    used: lenient(z.int().nonnegative()),
    cost: lenient(z.looseObject({ amount: z.number().nonnegative(), currency: z.string() })),
  }),
  z.looseObject({ sessionUpdate: z.literal("session_info_update"), _meta: meta }),
]);

/** Kinds of update that say nothing about the work. */
export const QUIET_UPDATES = new Set([
  "user_message_chunk",
  "available_commands_update",
  "current_mode_update",
  "config_option_update",
]);

export const notificationSchema = z.looseObject({
  sessionId: z.string(),
  update: z.looseObject({ sessionUpdate: z.string() }),
});

export const permissionSchema = z.looseObject({
  toolCall: wireCallSchema,
  options: z.array(z.looseObject({ optionId: z.string(), kind: z.string(), name: lenient(z.string()) })).min(1),
});
export type WirePermission = z.infer<typeof permissionSchema>;

const count = z.int().nonnegative().nullish().catch(undefined);
/** Some write `inputTokens`, some `input_tokens`. */
export const tokensSchema = z.looseObject({
  inputTokens: count,
  outputTokens: count,
  totalTokens: count,
  cachedReadTokens: count,
  cachedInputTokens: count,
  cachedWriteTokens: count,
  cacheWriteInputTokens: count,
  thoughtTokens: count,
  reasoningOutputTokens: count,
  input_tokens: count,
  output_tokens: count,
});
export type WireTokens = z.infer<typeof tokensSchema>;

export const turnSchema = z.looseObject({
  stopReason: z.string(),
  usage: lenient(tokensSchema),
  _meta: lenient(
    z.looseObject({
      quota: lenient(
        z.looseObject({
          token_count: lenient(tokensSchema),
          model_usage: lenient(z.array(z.looseObject({ model: z.string(), token_count: tokensSchema }))),
        }),
      ),
    }),
  ),
});
export type WireTurn = z.infer<typeof turnSchema>;

export const initializedSchema = z.looseObject({
  protocolVersion: z.number(),
  agentInfo: lenient(
    z.looseObject({ name: lenient(z.string()), title: lenient(z.string()), version: lenient(z.string()) }),
  ),
  agentCapabilities: lenient(
    z.looseObject({
      loadSession: lenient(z.boolean()),
      mcpCapabilities: lenient(z.looseObject({ http: lenient(z.boolean()) })),
      sessionCapabilities: lenient(z.looseObject({ systemPrompt: z.unknown().optional() })),
    }),
  ),
  authMethods: lenient(z.array(z.looseObject({ id: z.string() }))),
  _meta: lenient(z.looseObject({ steering: lenient(z.looseObject({ supported: lenient(z.boolean()) })) })),
});
export type Initialized = z.infer<typeof initializedSchema>;

export const sessionSchema = z.looseObject({
  sessionId: lenient(z.string().min(1)),
  /** Where Gemini CLI says which model it uses. */
  models: lenient(z.looseObject({ currentModelId: lenient(z.string().min(1)) })),
  configOptions: lenient(
    z.array(
      z.looseObject({
        id: z.string(),
        category: lenient(z.string()),
        currentValue: z.unknown().optional(),
        type: lenient(z.string()),
      }),
    ),
  ),
});
export type WireSession = z.infer<typeof sessionSchema>;
