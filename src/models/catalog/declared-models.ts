import { boundedText } from "../../boundary/bounded-body.ts";
import { withoutRedirects } from "../../boundary/without-redirects.ts";
import { baseUrl } from "./base-url.ts";
import { keyState } from "./key.ts";
import type { ModelConfig } from "./model-config.ts";
import { providerNamed } from "./providers.ts";

interface Ports {
  env: Readonly<Record<string, string | undefined>>;
  config: ModelConfig;
  fetch: typeof globalThis.fetch;
}

/**
 * The models that are specific to this home: those named in config.json and the environment, and those that its own
 * servers list. A server that does not answer at once offers none.
 */
export async function declaredModels(ports: Ports): Promise<string[]> {
  const { env, config } = ports;
  const named = [env.AGIRAPH_MODEL, env.AGIRAPH_WORKER_MODEL, config.model, config.worker_model];
  const servers = Object.entries(config.providers ?? {}).map(async ([name, { base_url, api_key_env }]) => {
    if (base_url === undefined) return [];
    const key = api_key_env === undefined ? undefined : env[api_key_env];
    const models = await modelsAt(base_url, key, ANSWER_MS, ports.fetch);
    return models.map((model) => `${serverPrefix(name)}${model}`);
  });
  const local = ollamaModels(ports).then((models) => models.map((model) => `ollama/${model}`));
  const offered = (await Promise.all([...servers, local])).flat();
  return [
    ...named.filter((name) => name !== undefined).filter(Boolean),
    ...Object.keys(config.models ?? {}),
    ...offered,
  ];
}

/** The prefix of the names of a server's models; any of its models can be named, listed or not. */
export function serverPrefix(server: string): string {
  return `openai-compatible/${server}/`;
}

/** The models of a local Ollama, in its own order, newest first; a machine without one answers at once. */
export function ollamaModels({ env, fetch }: Pick<Ports, "env" | "fetch">): Promise<string[]> {
  return modelsAt(env.OLLAMA_BASE_URL || providerNamed("ollama")?.url || "", undefined, LOCAL_ANSWER_MS, fetch);
}

/** A server elsewhere may be a little way off; one on this machine is not. */
const ANSWER_MS = 1500;
const LOCAL_ANSWER_MS = 500;
const MOST = 200;

async function modelsAt(
  written: string,
  key: string | undefined,
  ms: number,
  fetch: typeof globalThis.fetch,
): Promise<string[]> {
  try {
    const url = baseUrl(written, "v1", "base_url");
    const headers = keyState(key) === "set" ? { authorization: `Bearer ${key?.trim()}` } : undefined;
    const response = await withoutRedirects(fetch)(`${url}/models`, {
      signal: AbortSignal.timeout(ms),
      ...(headers && { headers }),
    });
    const body: unknown = JSON.parse(await boundedText(response, MOST_BYTES));
    const data: unknown[] = body instanceof Object && "data" in body && Array.isArray(body.data) ? body.data : [];
    return data
      .map((model) => (model instanceof Object ? Reflect.get(model, "id") : undefined))
      .filter((id) => typeof id === "string" && /^[!-~]{1,200}$/.test(id))
      .slice(0, MOST);
  } catch {
    return [];
  }
}

/** A list of models is not longer than this. */
const MOST_BYTES = 4 * 1024 ** 2;
