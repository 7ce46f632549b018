import { own } from "../../protocol/dict.ts";
import type { Usage } from "../../protocol/index.ts";
import type { ModelConfig, Price } from "./model-config.ts";

/**
 * What a call costs. `null` means unknown, not zero: a budget has to treat it as such.
 *
 * The price list is loaded during the first call, not before, because loading takes 28 ms.
 */
export interface Prices {
  costOf(id: string, usage: Usage): Promise<number | null>;
  /** USD for a million tokens, at the price for short prompts. */
  priceOf(id: string): Promise<Price | null>;
}

/** `offered` are the prices that an added provider states for its own models. */
export function createPrices(
  config: ModelConfig,
  now: () => number,
  offered: (id: string) => Price | undefined = () => undefined,
): Prices {
  function fixedPrice(id: string): Price | undefined {
    const [provider, server] = id.split("/");
    const told = own(config.models, id)?.prices ?? offered(id);
    if (told) return told;
    if (provider === "ollama" || provider === "demo") return FREE;
    return provider === "openai-compatible" ? own(config.providers, server ?? "")?.prices : undefined;
  }

  async function costOf(id: string, usage: Usage): Promise<number | null> {
    const fixed = fixedPrice(id);
    if (fixed !== undefined) return costAt(fixed, usage);
    const found = await listed(id, usage, now());
    return found === null ? null : found.total_price;
  }

  async function priceOf(id: string): Promise<Price | null> {
    const fixed = fixedPrice(id);
    if (fixed !== undefined) return fixed;
    const found = await listed(id, ONE_TOKEN, now());
    if (found === null) return null;
    const price = (key: string) => {
      const value = found.model_price[key];
      return value instanceof Object ? value.base : value;
    };
    const cache_read = price("cache_read_mtok");
    const cache_write = price("cache_write_mtok");
    return {
      input: price("input_mtok") ?? 0,
      output: price("output_mtok") ?? 0,
      ...(cache_read !== undefined && { cache_read }),
      ...(cache_write !== undefined && { cache_write }),
    };
  }

  return { costOf, priceOf };
}

const FREE: Price = { input: 0, output: 0 };
const ONE_TOKEN: Usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 };

/** The cache figures are parts of the input. A price that is not given is the price of plain input. */
function costAt(price: Price, usage: Usage): number {
  const fresh = Math.max(0, usage.input - usage.cache_read - usage.cache_write);
  const total =
    fresh * price.input +
    usage.cache_read * (price.cache_read ?? price.input) +
    usage.cache_write * (price.cache_write ?? price.input) +
    usage.output * price.output;
  return total / 1_000_000;
}

async function listed(id: string, usage: Usage, now: number) {
  const slash = id.indexOf("/");
  const provider = id.slice(0, slash);
  if (!LISTED.has(provider)) return null;
  const { calcPrice } = await import("@pydantic/genai-prices");
  const counted = {
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_read_tokens: usage.cache_read,
    cache_write_tokens: usage.cache_write,
  };
  try {
    return calcPrice(counted, id.slice(slash + 1), { providerId: provider, timestamp: new Date(now) });
  } catch {
    // The list refuses counts that contradict each other, as some servers send them.
    return null;
  }
}

const LISTED = new Set(["anthropic", "openai", "google", "openrouter"]);
