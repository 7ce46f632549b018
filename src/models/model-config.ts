import { z } from "zod";

/** USD for a million tokens. */
export const priceSchema = z.strictObject({
  input: z.number().nonnegative(),
  output: z.number().nonnegative(),
  cache_read: z.number().nonnegative().optional(),
  cache_write: z.number().nonnegative().optional(),
});
export type Price = z.infer<typeof priceSchema>;

/** A server that speaks the chat-completions format: `openai-compatible/NAME/MODEL`. */
const serverSchema = z.strictObject({
  base_url: z.url(),
  /** The environment variable that holds its key. */
  api_key_env: z.string().optional(),
  /** False for models that cannot call tools by themselves: calls then travel as text. */
  native_tools: z.boolean().optional(),
  context_window: z.int().positive().optional(),
  prices: priceSchema.optional(),
});
export type ServerConfig = z.infer<typeof serverSchema>;

/** What `config.json` may say about models. */
export const modelConfigSchema = z.object({
  model: z.string().optional(),
  worker_model: z.string().optional(),
  providers: z.record(z.string().regex(/^[a-z0-9][a-z0-9_-]*$/), serverSchema).optional(),
  /** Facts about a model that we do not know or know wrong, by `provider/model`. */
  models: z
    .record(
      z.string(),
      z.strictObject({ context_window: z.int().positive().optional(), prices: priceSchema.optional() }),
    )
    .optional(),
});
export type ModelConfig = z.infer<typeof modelConfigSchema>;
