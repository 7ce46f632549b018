import type { JSONObject } from "@ai-sdk/provider";

/**
 * What is special about a provider, as data. The one adapter (provider-model.ts) reads this record and never checks the
 * name of a provider.
 */
export interface ProviderQuirks {
  /** The SDK's namespace in provider options and metadata. */
  readonly key: string;
  /** Sent with every request. */
  readonly options: JSONObject;
  /** The option that takes a key by which requests of one conversation find the same cache. */
  readonly cacheKeyOption: string | null;
  /** Marks the end of a prefix worth caching, where the provider does not cache by itself. */
  readonly cacheMark: JSONObject | null;
  /** The provider's own web search, and whether it can be told how often it may search. */
  readonly search: { readonly id: `${string}.${string}`; readonly name: string; readonly takesMaxUses: boolean } | null;
  /** A failed tool result is marked as such; elsewhere the SDK would wrap its text, so it goes as plain text. */
  readonly marksFailedResults: boolean;
  /** Call arguments travel as JSON text anyway, so handing the SDK text saves it a slow stringify every turn. */
  readonly wantsCallsAsJson: boolean;
  /** What a call that another provider made has to carry. */
  readonly foreignCall: JSONObject | null;
  /** Every whole reply names its raw finish reason: a finish without one was made up by the SDK after a cut. */
  readonly namesFinish: boolean;
  /** The raw finish reason that means "send this back and I go on". */
  readonly pause: string | null;
  /** The SDK puts `{}` where a call's arguments are not JSON, so we read the arguments from the raw chunks. */
  readonly hidesBadArguments: boolean;
  /** Custom parts that say nothing worth keeping. */
  readonly noise: readonly string[];
  /** Where the finish metadata says what the call really cost. */
  readonly costAt: readonly string[] | null;
  /** The option that takes how hard to think, as `{ effort }`; null where the SDK knows how to say it. */
  readonly effortOption: string | null;
  /** Tells the provider how often it may search in one reply, where its search tool does not take that. */
  readonly searchLimitOption: string | null;
  /** The most a reply may take; null leaves it to the provider. */
  readonly maxOutputTokens: number | null;
  /** How long silence on the wire is normal. */
  readonly stallMs: number;
}

/** How long a provider may send nothing at all. */
export const STALL_MS = 120_000;

const plain: ProviderQuirks = {
  key: "",
  options: {},
  cacheKeyOption: null,
  cacheMark: null,
  search: null,
  marksFailedResults: false,
  wantsCallsAsJson: false,
  foreignCall: null,
  namesFinish: true,
  pause: null,
  hidesBadArguments: false,
  noise: [],
  costAt: null,
  effortOption: null,
  searchLimitOption: null,
  maxOutputTokens: null,
  stallMs: STALL_MS,
};

export const anthropicQuirks: ProviderQuirks = {
  ...plain,
  key: "anthropic",
  // Without tool streaming the API checks a call's JSON before it sends it.
  options: { toolStreaming: false },
  cacheMark: { cacheControl: { type: "ephemeral" } },
  search: { id: "anthropic.web_search_20250305", name: "web_search", takesMaxUses: true },
  marksFailedResults: true,
  pause: "pause_turn",
  noise: ["anthropic.message_start"],
  // At 75 % of a 200k window there is still room for it.
  maxOutputTokens: 32_000,
};

export const openaiQuirks: ProviderQuirks = {
  ...plain,
  key: "openai",
  // Else our record would depend on what the provider keeps of it.
  options: { store: false, include: ["reasoning.encrypted_content"] },
  cacheKeyOption: "promptCacheKey",
  search: { id: "openai.web_search", name: "web_search", takesMaxUses: false },
  searchLimitOption: "maxToolCalls",
  wantsCallsAsJson: true,
  namesFinish: false,
};

export const googleQuirks: ProviderQuirks = {
  ...plain,
  key: "google",
  search: { id: "google.google_search", name: "google_search", takesMaxUses: false },
  // Gemini refuses a call without a signature; this is its documented stand-in.
  foreignCall: { thoughtSignature: "skip_thought_signature_validator" },
};

export const openrouterQuirks: ProviderQuirks = {
  ...plain,
  key: "openrouter",
  options: { usage: { include: true } },
  cacheMark: { cacheControl: { type: "ephemeral" } },
  hidesBadArguments: true,
  effortOption: "reasoning",
  costAt: ["openrouter", "usage", "cost"],
};

/** A local server may have to load a model and read a long prompt before its first byte. */
export function compatibleQuirks(key: string): ProviderQuirks {
  return { ...plain, key, wantsCallsAsJson: true, stallMs: 290_000 };
}
