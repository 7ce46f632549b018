import { withoutRedirects } from "../../boundary/without-redirects.ts";
import type { ProviderAddress } from "../model-failure.ts";
import { type Post, postWithoutRedirects } from "../wire/post.ts";
import { baseUrl } from "./base-url.ts";
import { keyState } from "./key.ts";
import type { ModelSource } from "./model-name.ts";
import { connectCompatible, type Provider, type ProviderConnection, type WireFactory } from "./providers.ts";

export type ProviderSource = Extract<ModelSource, { kind: "provider" }>;
export type ServerSource = Extract<ModelSource, { kind: "server" }>;

/** The connections to providers and servers, one for each, opened when its first model is requested. */
export class Connections {
  readonly #env: Environment;
  readonly #fetch: typeof globalThis.fetch;
  readonly #post: Post;
  readonly #known = new Map<string, Promise<WireFactory>>();

  constructor(env: Environment, fetch: typeof globalThis.fetch, post: Post) {
    this.#env = env;
    this.#fetch = fetch;
    this.#post = post;
  }

  to(at: ProviderSource | ServerSource): Promise<WireFactory> {
    const key = at.kind === "server" ? `server/${at.server}` : at.provider.name;
    let connection = this.#known.get(key);
    if (connection === undefined) {
      connection = at.kind === "server" ? this.#toServer(at) : this.#toProvider(at.provider);
      this.#known.set(key, connection);
    }
    return connection;
  }

  /** Where its models are, and what says so. */
  addressOf(at: ProviderSource | ServerSource): ProviderAddress {
    if (at.kind === "server") return addressIn(at.settings.base_url, settingOf(at));
    const written = this.#env[at.provider.urlVariable];
    return written ? addressIn(written, at.provider.urlVariable) : addressIn(at.provider.url, null);
  }

  #toProvider(provider: Provider): Promise<WireFactory> {
    const apiKey = keyIn(this.#env, provider.keyVariable ?? undefined);
    const written = this.#env[provider.urlVariable];
    const baseURL = written ? baseUrl(written, provider.version, provider.urlVariable) : provider.url;
    return provider.connect({ baseURL, apiKey, ...this.#outOf(provider.urlVariable) });
  }

  async #toServer(at: ServerSource): Promise<WireFactory> {
    const { server, settings } = at;
    const setting = settingOf(at);
    const baseURL = baseUrl(settings.base_url, "v1", setting);
    const apiKey = keyIn(this.#env, settings.api_key_env);
    return connectCompatible(`openai-compatible/${server}`, { baseURL, apiKey, ...this.#outOf(setting) });
  }

  /** The two ways to a provider; neither follows a redirect. `setting` is what holds its address. */
  #outOf(setting: string): Pick<ProviderConnection, "fetch" | "post"> {
    return { fetch: withoutRedirects(this.#fetch, setting), post: postWithoutRedirects(this.#post, setting) };
  }
}

function settingOf({ server }: ServerSource): string {
  return `providers.${server}.base_url in config.json`;
}

function addressIn(url: string, setting: string | null): ProviderAddress {
  return { origin: new URL(url.trim()).origin, setting };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A malformed key is refused here, without showing it: later it could end up in a message. */
export function keyIn(env: Environment, variable: string | undefined): string {
  const written = variable === undefined ? undefined : env[variable];
  if (keyState(written) !== "malformed") return written?.trim() ?? "";
  throw new Error(
    `${variable} is malformed: it is empty, or has characters that no key has (a line break, a space, a non-ASCII letter). Set it again.`,
  );
}
