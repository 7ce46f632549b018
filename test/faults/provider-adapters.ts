import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import { listening, nodeTimer } from "../../src/models/attempt.ts";
import type { Model } from "../../src/models/model.ts";
import { createProviderModel } from "../../src/models/provider-model.ts";
import * as Q from "../../src/models/quirks.ts";
import { withRetry } from "../../src/models/retry.ts";

export const adapters = ["anthropic", "openai", "google", "openrouter", "ollama", "openai-compatible"] as const;
export type Adapter = (typeof adapters)[number];
export async function modelOf(
  adapter: Adapter,
  { url, sleep }: { url: string; sleep: (ms: number, signal: AbortSignal) => Promise<void> },
): Promise<Model> {
  const f = listening(fetch);
  const m: any = {
    anthropic: () => createAnthropic({ baseURL: url + "/v1", apiKey: "k", fetch: f })("claude-sonnet-4-5"),
    openai: () => createOpenAI({ baseURL: url + "/v1", apiKey: "k", fetch: f })("gpt-5"),
    google: () => createGoogle({ baseURL: url + "/v1beta", apiKey: "k", fetch: f })("gemini-3-pro"),
    "openai-compatible": () =>
      createOpenAICompatible({ baseURL: url + "/v1", apiKey: "k", name: "local", includeUsage: true, fetch: f })("m"),
    ollama: () =>
      createOpenAICompatible({
        baseURL: url + "/ollama/v1",
        apiKey: "k",
        name: "ollama",
        includeUsage: true,
        fetch: f,
      })("m"),
    openrouter: () => createOpenRouter({ baseURL: url + "/openrouter/api/v1", apiKey: "k", fetch: f })("m"),
  }[adapter]();
  const q: any = {
    anthropic: Q.anthropicQuirks,
    openai: Q.openaiQuirks,
    google: Q.googleQuirks,
    openrouter: Q.openrouterQuirks,
    ollama: Q.compatibleQuirks("ollama"),
    "openai-compatible": Q.compatibleQuirks("local"),
  }[adapter];
  return withRetry(
    createProviderModel(
      { id: `${adapter}/m`, language: m, quirks: q, contextWindow: 100000, searches: null },
      { costOf: async () => 0, startTimer: nodeTimer, now: () => Date.now() },
    ),
    { sleep, random: () => 0 },
  );
}
