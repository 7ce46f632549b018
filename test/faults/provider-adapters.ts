import { type CatalogOptions, createCatalog } from "../../src/models/catalog/catalog.ts";
import type { Model } from "../../src/models/model.ts";
import type { ProviderServer } from "../../src/testing/index.ts";

/** Every way in which we speak to a provider, by a model that goes that way. */
const MODELS = {
  anthropic: "anthropic/claude-sonnet-4-5",
  openai: "openai/gpt-5",
  google: "google/gemini-3-pro-preview",
  openrouter: "openrouter/anthropic/claude-sonnet-4.5",
  ollama: "ollama/llama3.2",
  "openai-compatible": "openai-compatible/local/some-model",
  "text fallback": "openai-compatible/plain/some-model",
} as const;

export type Adapter = keyof typeof MODELS;
export const adapters = Object.keys(MODELS) as Adapter[];

/** A model as users get it, from the catalog, with a scripted provider behind it and no randomness in its waits. */
export function modelOf(
  adapter: Adapter,
  server: Pick<ProviderServer, "url" | "env">,
  ports: Pick<CatalogOptions, "sleep"> & Partial<CatalogOptions>,
): Promise<Model> {
  const local = { base_url: server.url, context_window: 100_000 };
  const catalog = createCatalog({
    env: server.env,
    config: { providers: { local, plain: { ...local, native_tools: false } } },
    random: () => 0,
    ...ports,
  });
  return catalog.model(MODELS[adapter]);
}
