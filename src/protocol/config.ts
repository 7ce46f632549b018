import { z } from "zod";
import { channelConfigSchema, channelNameSchema } from "./channel.ts";
import { contractSchema } from "./fact.ts";

/** USD for a million tokens. */
export const priceSchema = z.strictObject({
  input: z.number().nonnegative(),
  output: z.number().nonnegative(),
  cache_read: z.number().nonnegative().optional(),
  cache_write: z.number().nonnegative().optional(),
});
export type Price = z.infer<typeof priceSchema>;

/** A server that speaks the OpenAI chat format, for `openai-compatible/NAME/MODEL`. */
export const providerConfigSchema = z.strictObject({
  base_url: z.url(),
  api_key_env: z.string().optional(),
  /** False: the model has no native tools; they go into the prompt and come back as text. */
  native_tools: z.boolean().optional(),
  context_window: z.int().positive().optional(),
  prices: priceSchema.optional(),
});

export const serverConfigSchema = z.strictObject({
  host: z.string().min(1).optional(),
  port: z.int().min(0).max(65_535).optional(),
  /** What it is called from outside, besides its address: `host` or `host:port`. */
  names: z.array(z.string().regex(/^[A-Za-z0-9.-]+(:\d{1,5})?$/, "expected a host, or host:port")).optional(),
  /** Files with a certificate and its key, in PEM. */
  tls: z.strictObject({ cert: z.string().min(1), key: z.string().min(1) }).optional(),
  /** The one proxy before it: where people reach that one, and the address it comes from. */
  proxy: z
    .strictObject({
      origin: z
        .string()
        .regex(/^https?:\/\/[A-Za-z0-9.-]+(:\d{1,5})?$/, "expected an origin, e.g. https://agents.example.org"),
      address: z.union([z.ipv4(), z.ipv6()]),
    })
    .optional(),
});
export type ServerConfig = z.infer<typeof serverConfigSchema>;

export const cycleSecondsSchema = z
  .number()
  .min(1)
  .max(366 * 86_400);

/** `AGIRAPH_HOME/config.json`. Flags and the environment stand before it. */
export const configSchema = z.strictObject({
  model: z.string().optional(),
  worker_model: z.string().optional(),
  budget_usd: z.number().positive().optional(),
  budget_tokens: z.int().positive().optional(),
  /** How long an infinite agent sleeps between its cycles; an hour if left out. */
  cycle_seconds: cycleSecondsSchema.optional(),
  /** Every stage that was reconvened waits for a person: `agiraph resume` approves. */
  approve_stages: z.boolean().optional(),
  max_concurrent: z.int().min(1).max(1000).optional(),
  max_turns: z.int().min(1).max(100_000).optional(),
  max_stages: z.int().min(1).max(1000).optional(),
  /** How deep work may be handed down, and into how many pieces each time. */
  max_depth: z.int().min(1).max(20).optional(),
  max_children: z.int().min(1).max(1000).optional(),
  /** What holds for a stage unless the coordinator says otherwise. */
  contract: contractSchema.partial().optional(),
  providers: z.record(z.string().regex(/^[a-z0-9][a-z0-9_-]*$/), providerConfigSchema).optional(),
  /** Facts about a model that we do not know or know wrong, by `provider/model`. */
  models: z
    .record(
      z.string(),
      z.strictObject({ context_window: z.int().positive().optional(), prices: priceSchema.optional() }),
    )
    .optional(),
  /** Hosts that commands in the sandbox may reach, as `host` or `host:port`. None by default. */
  network: z.strictObject({ allow: z.array(z.string()) }).optional(),
  /** Private hosts that `web_fetch` may reach all the same. */
  web_fetch: z.strictObject({ allow: z.array(z.string()) }).optional(),
  /** Memory is searched by words; with a model for embeddings (`provider/model`) also by meaning. */
  memory: z.strictObject({ embeddings: z.string().optional() }).optional(),
  /** Where else the human is reached, by name. */
  channels: z.record(channelNameSchema, channelConfigSchema).optional(),
  /** Where `agiraph serve` can be reached. It stays on this machine unless it has TLS or stands behind a proxy. */
  server: serverConfigSchema.optional(),
  sandbox: z.strictObject({ unsafe: z.boolean().optional() }).optional(),
});
export type Config = z.infer<typeof configSchema>;
export type ProviderConfig = z.infer<typeof providerConfigSchema>;
