import { z } from "zod";
import { channelConfigSchema, channelNameSchema, variableSchema } from "./channel.ts";
import { contractSchema } from "./fact-fields.ts";
import { projectsSchema } from "./project-config.ts";

/** USD for a million tokens. */
export const priceSchema = z.strictObject({
  input: z.number().nonnegative(),
  output: z.number().nonnegative(),
  cache_read: z.number().nonnegative().optional(),
  cache_write: z.number().nonnegative().optional(),
});
export type Price = z.infer<typeof priceSchema>;

/** How a model is asked. What is left out is the provider's own choice. */
const modelSettings = {
  /** False: the model has no native tools; they go into the prompt and come back as text. */
  native_tools: z.boolean().optional(),
  temperature: z.number().min(0).max(2).optional(),
  max_output_tokens: z.int().positive().optional(),
  reasoning_effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh"]).optional(),
};
export type ModelSettings = z.infer<z.ZodObject<typeof modelSettings>>;

/**
 * A server with the OpenAI chat format, for `openai-compatible/NAME/MODEL`; or, without an address, settings for all
 * models of a provider that we know by NAME.
 */
export const providerConfigSchema = z.strictObject({
  base_url: z.url().optional(),
  api_key_env: variableSchema.optional(),
  ...modelSettings,
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

/** An outside program that can be hired, through `program` of `spawn_worker`. */
export const programProfileSchema = z.strictObject({
  /**
   * How we speak with it: Claude Code's stream-json, the Agent Client Protocol, or files in its folder. A `mesh` is one of
   * the agent's project, and `command` its name.
   */
  kind: z.enum(["claude_code", "acp", "autonomous", "mesh"], {
    // A project's meshes need no profile: they are hired as mesh/NAME.
    error: 'expected one of "claude_code", "acp", "autonomous"',
  }),
  /** The program, by name on PATH or absolute, and its arguments. Never from a model or a client. */
  command: z.array(z.string().min(1)).min(1),
  /** Names of variables of ours that it gets: its key, its address. Nothing else of our environment reaches it. */
  env: z.array(variableSchema).optional(),
  /** The program as a person starts it in a terminal, for meshes; `command` if left out. */
  terminal: z.array(z.string().min(1)).min(1).optional(),
  /** Variables with their values. */
  set: z.record(z.string(), z.string()).optional(),
  /** Files of the user's home that it may read there: where it is signed in. */
  share: z.array(z.string().min(1)).optional(),
  /** It gets copies of its user's own settings, instructions, skills and MCP servers. */
  own_settings: z.boolean().optional(),
  /** Hosts it may reach, as `host` or `host:port`. */
  hosts: z.array(z.string().min(1)).optional(),
  /** What it asks leave for: decided by a person, or always the same way. It is in the sandbox either way. */
  permissions: z.enum(["ask", "allow", "deny"]).optional(),
  /** With `ask`: what needs no question, e.g. `Bash(npm test:*)` or `Edit(docs/**)`. */
  allow: z
    .array(
      z.string().regex(/^[A-Za-z][\w.-]*(\(.+\))?$/, "expected a rule such as Read, Bash(npm test:*) or Edit(docs/**)"),
    )
    .optional(),
  /** Without a sign of life for so long it is taken to hang. */
  silence_seconds: z.number().positive().optional(),
  /** After so long a rest it is ended, if its session can be resumed; 0 for never. */
  rest_seconds: z.number().nonnegative().optional(),
  /** Known ways in which it departs from its protocol. */
  quirks: z.enum(["claude", "codex", "gemini", "opencode"]).optional(),
  about: z.string().optional(),
});
export type ProgramProfile = z.infer<typeof programProfileSchema>;

const namedServer = {
  /** The workers that get its tools, by name; everyone if left out. */
  workers: z.array(z.string().min(1)).optional(),
  /** The tools that are given, by the server's own names; all if left out. */
  tools: z.array(z.string().min(1)).optional(),
  timeout_seconds: z.number().positive().max(86_400).optional(),
};

/** An MCP server: its tools are called `mcp__NAME__TOOL`. */
export const mcpServerSchema = z.union([
  z.strictObject({
    ...namedServer,
    command: z.array(z.string().min(1)).min(1),
    /** Names of variables of ours that it gets. */
    env: z.array(variableSchema).optional(),
    set: z.record(z.string(), z.string()).optional(),
    cwd: z.string().optional(),
  }),
  z.strictObject({
    ...namedServer,
    url: z.url(),
    /** Header names with the variable of ours that holds the value. */
    headers_env: z.record(z.string(), variableSchema).optional(),
  }),
]);
export type McpServerConfig = z.infer<typeof mcpServerSchema>;

const nameSchema = z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, "expected a short name: a-z, 0-9, - and _");
export const cycleSecondsSchema = z
  .number()
  .min(1)
  .max(366 * 86_400);

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

/** `AGIRAPH_HOME/config.json`. Flags and the environment override it. */
export const configSchema = z.strictObject({
  model: z.string().optional(),
  worker_model: z.string().optional(),
  budget_usd: z.number().positive().optional(),
  budget_tokens: z.int().positive().optional(),
  /** An IANA name such as Europe/Berlin, for dates and times of day; that of the process if left out. */
  time_zone: z
    .string()
    .refine(isTimeZone, "is not a time zone; use an IANA name such as Europe/Berlin or UTC")
    .optional(),
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
  contract: z.strictObject(contractSchema.shape).partial().optional(),
  providers: z.record(z.string().regex(/^[a-z0-9][a-z0-9_-]*$/), providerConfigSchema).optional(),
  /** How a model is asked, and facts about it that we do not know or know wrong, by `provider/model`. */
  models: z
    .record(
      z.string(),
      z.strictObject({
        ...modelSettings,
        context_window: z.int().positive().optional(),
        prices: priceSchema.optional(),
      }),
    )
    .optional(),
  /** Hosts that commands in the sandbox may reach, as `host` or `host:port`. None by default. */
  network: z.strictObject({ allow: z.array(z.string()) }).optional(),
  /** Private hosts that `web_fetch` may reach all the same. */
  web_fetch: z.strictObject({ allow: z.array(z.string()) }).optional(),
  /**
   * Memory is searched by words; with a model for embeddings (`provider/model`) also by meaning. `shared`: all agents
   * read and write what they know of their human in `AGIRAPH_HOME/memory/`, beside a memory of their own.
   */
  memory: z.strictObject({ embeddings: z.string().optional(), shared: z.boolean().optional() }).optional(),
  /** Where else the human is reached, by name. */
  channels: z.record(channelNameSchema, channelConfigSchema).optional(),
  /** The PostgreSQL from which `agiraph serve` works, with other hosts: `postgres://USER@HOST/DATABASE`. */
  engine: z.string().min(1).optional(),
  /** Where `agiraph serve` can be reached. It stays on this machine unless it has TLS or stands behind a proxy. */
  server: serverConfigSchema.optional(),
  /**
   * Programs that can be hired, by name. Those we know (claude-code, codex, gemini, opencode) are there by themselves; what
   * is said of them here overrides what we know. Any other has its kind and command.
   */
  programs: z.record(nameSchema, programProfileSchema.partial()).optional(),
  mcp_servers: z.record(nameSchema, mcpServerSchema).optional(),
  /** How to work on the repositories in these folders and below; overrides their own `.agiraph/project.json`. */
  projects: projectsSchema.optional(),
  /** Modules that add tools, providers and channels, beside those in `extensions/`; paths, relative to the home. */
  extensions: z.array(z.string().min(1)).optional(),
  sandbox: z.strictObject({ unsafe: z.boolean().optional() }).optional(),
});
export type Config = z.infer<typeof configSchema>;
export type ProviderConfig = z.infer<typeof providerConfigSchema>;
