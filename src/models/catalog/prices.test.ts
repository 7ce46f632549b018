import { expect, test } from "vitest";
import { createPrices } from "./prices.ts";

const usage = { input: 1_000_000, output: 100_000, cache_read: 600_000, cache_write: 200_000, reasoning: 50_000 };
const NOVEMBER = Date.parse("2026-11-15");

test("cache reads and writes have their own price and are parts of the input", async () => {
  const prices = createPrices({}, () => NOVEMBER);

  expect(await prices.costOf("anthropic/claude-opus-4-5", usage)).toBeCloseTo(
    0.2 * 5 + 0.2 * 6.25 + 0.6 * 0.5 + 0.1 * 25,
    9,
  );
  expect(await prices.priceOf("anthropic/claude-opus-4-5")).toEqual({
    input: 5,
    output: 25,
    cache_read: 0.5,
    cache_write: 6.25,
  });
});

test("what the config says goes before the list", async () => {
  const config = {
    providers: { local: { base_url: "http://h", prices: { input: 1, output: 2, cache_read: 0.1 } } },
    models: { "anthropic/claude-opus-4-5": { prices: { input: 10, output: 0 } } },
  };
  const prices = createPrices(config, () => NOVEMBER);

  expect(await prices.costOf("openai-compatible/local/m", usage)).toBeCloseTo(0.2 + 0.2 + 0.06 + 0.2, 9);
  expect(await prices.costOf("anthropic/claude-opus-4-5", usage)).toBeCloseTo(10, 9);
});

test("what runs here costs nothing; what nobody knows is null, not nothing", async () => {
  const prices = createPrices({}, () => NOVEMBER);
  const ids = ["ollama/llama3.2", "demo/surveyor", "anthropic/claude-nova-7", "openai-compatible/local/m"];

  expect(await Promise.all(ids.map((id) => prices.costOf(id, usage)))).toEqual([0, 0, null, null]);
  // Unless somebody says what it costs them.
  const told = createPrices({ models: { "ollama/llama3.2": { prices: { input: 1, output: 1 } } } }, () => NOVEMBER);
  expect(await told.priceOf("ollama/llama3.2")).toEqual({ input: 1, output: 1 });
});

test("counts that contradict each other have no price", async () => {
  const impossible = { ...usage, input: 10 };

  expect(await createPrices({}, () => NOVEMBER).costOf("anthropic/claude-opus-4-5", impossible)).toBeNull();
});
