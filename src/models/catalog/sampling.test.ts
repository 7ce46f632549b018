import { expect, test } from "vitest";
import type { Config } from "../../protocol/config.ts";
import { startProviderServer } from "../../testing/index.ts";
import { createCatalog } from "./catalog.ts";

const settings = { temperature: 0.3, max_output_tokens: 3000, reasoning_effort: "low" } as const;

/** What each wire was sent, of what config.json sets. */
test.each([
  [
    "anthropic/claude-3-haiku-20240307",
    { ...settings, reasoning_effort: undefined },
    { temperature: 0.3, max_tokens: 3000 },
  ],
  ["anthropic/claude-opus-4-5", { reasoning_effort: "low" }, { thinking: { type: "enabled" } }],
  ["openai/gpt-4o", { ...settings, reasoning_effort: undefined }, { temperature: 0.3, max_output_tokens: 3000 }],
  ["openai/gpt-5", { reasoning_effort: "low" }, { reasoning: { effort: "low" } }],
  [
    "google/gemini-3-pro-preview",
    settings,
    {
      generationConfig: {
        temperature: 0.3,
        maxOutputTokens: 3000,
        thinkingConfig: expect.objectContaining({ thinkingLevel: "low" }),
      },
    },
  ],
  ["openrouter/qwen/qwen3-coder", settings, { temperature: 0.3, max_tokens: 3000, reasoning: { effort: "low" } }],
  ["ollama/qwen3", settings, { temperature: 0.3, max_tokens: 3000, reasoning_effort: "low" }],
] as const)("%s is asked as its settings say, in its own form", async (id, set, body) => {
  expect(await bodySent(id, { models: { [id]: set } })).toMatchObject(body);
});

test("what holds for a provider holds for its models; what a model says of itself wins", async () => {
  const config = {
    providers: { ollama: { temperature: 1, max_output_tokens: 100 } },
    models: { "ollama/m": settings },
  };
  expect(await bodySent("ollama/other", config)).toMatchObject({ temperature: 1, max_tokens: 100 });
  expect(await bodySent("ollama/m", config)).toMatchObject({ temperature: 0.3, max_tokens: 3000 });
  expect(Object.keys((await bodySent("ollama/m", {})) ?? {}).sort()).toEqual(
    ["messages", "model", "stream", "stream_options"].sort(),
  );
});

test.each([
  "anthropic/claude-sonnet-4-5",
  "openai/gpt-5",
  "google/gemini-2.5-pro",
  "openrouter/qwen/qwen3-coder",
  "ollama/qwen3",
])("%s without native tools gets them as text in its prompt", async (id) => {
  const look = { name: "look", description: "Look around.", parameters: { type: "object" } };
  const native = await bodySent(id, {}, [look]);
  const asText = await bodySent(id, { models: { [id]: { native_tools: false } } }, [look]);
  const hasTools = (body: unknown) => ((body as { tools?: unknown[] }).tools ?? []).length > 0;
  expect([hasTools(native), hasTools(asText)]).toEqual([true, false]);
  expect(JSON.stringify(asText)).toMatch(/<tool_call-.*Look around\./);
});

test("OpenAI is told how often it may search in one reply; it takes no limit for the search itself", async () => {
  const search = { name: "web_search", description: "", parameters: { type: "object" } };
  expect(await bodySent("openai/gpt-5", {}, [search])).toMatchObject({ max_tool_calls: 5 });
  expect(await bodySent("openai/gpt-5", {})).not.toHaveProperty("max_tool_calls");
});

test("a setting that the provider refuses is named with where to remove it", async () => {
  await using provider = await startProviderServer({
    turns: [{ fault: { status: 400, message: "Unsupported parameter: 'temperature' is not supported." } }],
  });
  const config = { models: { "ollama/m": settings } };
  const catalog = createCatalog({ env: provider.env, config, sleep: async () => {}, random: () => 0 });
  const model = await catalog.model("ollama/m");
  const asked = model.reply({ system: "", history: [GOAL], tools: [] }, new AbortController().signal);
  await expect(asked).rejects.toThrow('Remove or change models["ollama/m"].temperature in config.json.');
});

const GOAL = { role: "user", from: "human", content: "Hi" } as const;

async function bodySent(
  id: string,
  config: Config,
  tools: { name: string; description: string; parameters: object }[] = [],
) {
  await using provider = await startProviderServer({ turns: [{ text: "Hello." }] });
  const catalog = createCatalog({ env: provider.env, config, sleep: async () => {}, random: () => 0 });
  const model = await catalog.model(id);
  const specs = tools.map((tool) => ({ ...tool, parameters: { ...tool.parameters } }));
  await model.reply({ system: "", history: [GOAL], tools: specs }, new AbortController().signal);
  return provider.requests[0]?.body;
}
