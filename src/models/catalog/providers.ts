import type { LanguageModelV4 } from "@ai-sdk/provider";
import { createChatWire } from "../wire/chat-wire.ts";
import type { Post } from "../wire/post.ts";
import {
  anthropicQuirks,
  compatibleQuirks,
  googleQuirks,
  openaiQuirks,
  openrouterQuirks,
  type ProviderQuirks,
} from "../wire/provider-quirks.ts";
import { createSdkWire } from "../wire/sdk-wire.ts";
import type { Wire } from "../wire/wire.ts";
import type { ModelSettings } from "./model-config.ts";

/**
 * The providers that we know by name. Each SDK is loaded when its first model is requested: together they would take
 * longer than the rest of the start.
 */
export interface Provider {
  readonly name: string;
  /** The variable that holds its key; null where none is needed. */
  readonly keyVariable: string | null;
  readonly urlVariable: string;
  readonly url: string;
  /** The version segment that people leave out of base URLs. */
  readonly version: string;
  quirks(model: string): ProviderQuirks;
  connect(connection: ProviderConnection): Promise<WireFactory>;
}

/** A connection to a provider: creates the wire of one of its models. */
export type WireFactory = (
  model: string,
  quirks: ProviderQuirks,
  maxSearches: number | null,
  settings: ModelSettings,
) => Wire;

export interface ProviderConnection {
  baseURL: string;
  apiKey: string;
  fetch: typeof globalThis.fetch;
  /** For those we speak to without an SDK. */
  post: Post;
}

export const PROVIDERS: readonly Provider[] = [
  {
    name: "anthropic",
    keyVariable: "ANTHROPIC_API_KEY",
    urlVariable: "ANTHROPIC_BASE_URL",
    url: "https://api.anthropic.com/v1",
    version: "v1",
    // The oldest models still served take no more than this.
    quirks: (model) => (/^claude-3-/.test(model) ? { ...anthropicQuirks, maxOutputTokens: 4_096 } : anthropicQuirks),
    async connect(connection) {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return speaker("anthropic", createAnthropic(connection));
    },
  },
  {
    name: "openai",
    keyVariable: "OPENAI_API_KEY",
    urlVariable: "OPENAI_BASE_URL",
    url: "https://api.openai.com/v1",
    version: "v1",
    quirks: () => openaiQuirks,
    async connect(connection) {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const openai = createOpenAI(connection);
      return speaker("openai", (model) => openai.responses(model));
    },
  },
  {
    name: "google",
    keyVariable: "GEMINI_API_KEY",
    urlVariable: "GEMINI_BASE_URL",
    url: "https://generativelanguage.googleapis.com/v1beta",
    version: "v1beta",
    quirks: () => googleQuirks,
    async connect(connection) {
      const { createGoogle } = await import("@ai-sdk/google");
      return speaker("google", createGoogle(connection));
    },
  },
  {
    name: "openrouter",
    keyVariable: "OPENROUTER_API_KEY",
    urlVariable: "OPENROUTER_BASE_URL",
    url: "https://openrouter.ai/api/v1",
    version: "v1",
    // Only what ends at Anthropic wants its cache marked; the others cache by themselves.
    quirks: (model) => (model.startsWith("anthropic/") ? openrouterQuirks : { ...openrouterQuirks, cacheMark: null }),
    async connect(connection) {
      const { createOpenRouter } = await import("@openrouter/ai-sdk-provider");
      const openrouter = createOpenRouter({ ...connection, compatibility: "strict", appName: "Agiraph" });
      return speaker("openrouter", (model) => openrouter.chat(model));
    },
  },
  {
    name: "ollama",
    keyVariable: null,
    urlVariable: "OLLAMA_BASE_URL",
    url: "http://127.0.0.1:11434/v1",
    version: "v1",
    quirks: () => compatibleQuirks("ollama"),
    connect: async (connection) => connectCompatible("ollama", connection),
  },
];

const ALIASES: ReadonlyMap<string, string> = new Map([["gemini", "google"]]);

export function providerNamed(name: string): Provider | undefined {
  return PROVIDERS.find((provider) => provider.name === (ALIASES.get(name) ?? name));
}

/** Any server with the chat-completions format; `provider` is how the names of its models begin. */
export function connectCompatible(provider: string, connection: ProviderConnection): WireFactory {
  return (model, quirks, _, settings) => createChatWire(provider, model, quirks, connection, settings);
}

function speaker(provider: string, language: (model: string) => LanguageModelV4): WireFactory {
  return (model, quirks, maxSearches, settings) =>
    createSdkWire(provider, language(model), quirks, maxSearches, settings);
}
