import { z } from "zod";
import { boundedText } from "../boundary/bounded-body.ts";
import { withoutRedirects } from "../boundary/without-redirects.ts";
import { baseUrl } from "./catalog/base-url.ts";
import { keyIn } from "./catalog/connections.ts";
import type { ModelConfig } from "./catalog/model-config.ts";
import { type ModelSource, missingForModel, modelSourceOf } from "./catalog/model-name.ts";

/** `provider/model` → vectors of texts, from any server with OpenAI's `/embeddings`. */
export interface EmbeddingModel {
  readonly id: string;
  /** One vector for each text, in their order. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
}

export interface EmbeddingOptions {
  env: Readonly<Record<string, string | undefined>>;
  config: ModelConfig;
  fetch: typeof globalThis.fetch;
}

const answerSchema = z.object({
  data: z.array(z.object({ index: z.int().nonnegative(), embedding: z.array(z.number()).min(1) })),
});

const LIMIT_MS = 30_000;
/** A vector of 4,096 numbers takes about 90 KB as text; texts are sent by the hundred at most. */
const MOST_BYTES = 32 * 1024 ** 2;

/** Throws, with advice, for a name that cannot be used here. */
export function createEmbeddingModel(name: string, { env, config, fetch }: EmbeddingOptions): EmbeddingModel {
  const source = modelSourceOf(name, config);
  const problem = missingForModel(source, env);
  if (problem !== null) throw new Error(problem);
  const { url, setting, key, model } = endpointOf(source, env);
  return {
    id: source.id,
    async embed(texts, signal) {
      const response = await withoutRedirects(fetch, setting)(`${url}/embeddings`, {
        method: "POST",
        headers: { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) },
        body: JSON.stringify({ model, input: texts, encoding_format: "float" }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]),
      });
      if (!response.ok) throw new Error(`${source.id} answered ${response.status} to a request for embeddings.`);
      const { data } = answerSchema.parse(JSON.parse(await boundedText(response, MOST_BYTES)));
      const vectors = new Map(data.map(({ index, embedding }) => [index, Float32Array.from(embedding)]));
      return texts.map((_, at) => {
        const vector = vectors.get(at);
        if (!vector) throw new Error(`${source.id} gave ${data.length} vectors for ${texts.length} texts.`);
        return vector;
      });
    },
  };
}

/** Those that have no such endpoint are said to be wrong before anything is asked of them. */
const WITHOUT = ["anthropic", "google"];

interface Endpoint {
  url: string;
  /** What a person changes to use another address. */
  setting: string;
  key: string;
  model: string;
}

function endpointOf(source: ModelSource, env: EmbeddingOptions["env"]): Endpoint {
  if (source.kind === "server") {
    const { base_url, api_key_env } = source.settings;
    const setting = `providers.${source.server}.base_url in config.json`;
    return { url: baseUrl(base_url, "v1", setting), setting, key: keyIn(env, api_key_env), model: source.model };
  }
  if (source.kind !== "provider" || WITHOUT.includes(source.provider.name))
    throw new Error(
      `${source.id} has no embedding models that Agiraph can use. Choose a model of openai, openrouter, ollama or openai-compatible.`,
    );
  const { keyVariable, urlVariable, url, version } = source.provider;
  const written = env[urlVariable];
  return {
    url: written ? baseUrl(written, version, urlVariable) : url,
    setting: urlVariable,
    key: keyIn(env, keyVariable ?? undefined),
    model: source.model,
  };
}
