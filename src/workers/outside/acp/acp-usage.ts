import { NO_USAGE, type Usage } from "../../../protocol/index.ts";
import { tokensSchema, type WireTokens, type WireTurn } from "./acp-wire.ts";

/** What a turn used, model by model where the agent says so. */
export function turnUsage({ usage, _meta }: WireTurn, model: string): { model: string; usage: Usage }[] {
  const { model_usage, token_count } = _meta?.quota ?? {};
  return model_usage?.length
    ? model_usage.map(({ model, token_count }) => ({ model, usage: usageOf(token_count) }))
    : [{ model, usage: usageOf(usage ?? token_count ?? tokensSchema.parse({})) }];
}

function usageOf(tokens: WireTokens): Usage {
  const input = tokens.inputTokens ?? tokens.input_tokens ?? 0;
  const output = tokens.outputTokens ?? tokens.output_tokens ?? 0;
  const cache_read = tokens.cachedReadTokens ?? tokens.cachedInputTokens ?? 0;
  const cache_write = tokens.cachedWriteTokens ?? tokens.cacheWriteInputTokens ?? 0;
  // Some count what was cached as part of the input and some beside it; only the total tells which.
  const beside = (tokens.totalTokens ?? 0) >= input + output + cache_read + cache_write ? cache_read + cache_write : 0;
  const reasoning = tokens.thoughtTokens ?? tokens.reasoningOutputTokens ?? 0;
  return { ...NO_USAGE, input: input + beside, output, cache_read, cache_write, reasoning };
}
