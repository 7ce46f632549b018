import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { z } from "zod";
import type { ModelFailure, ModelRequest } from "../model.ts";
import type { StartTimer } from "../wire/attempt.ts";
import { type CatalogOptions, createCatalog } from "./catalog.ts";
import { defineProvider, type ProvidedModel, type ProviderContext } from "./model-provider.ts";

const KEY = "key-of-acme-0123456789";
const request: ModelRequest = { system: "", history: [], tools: [] };
const text = (words: string) => [{ type: "text" as const, text: words }];
const never = new AbortController().signal;

/** Waits for nothing, and counts how often it would have. */
function catalogWith(reply: ProvidedModel["reply"], options: Partial<CatalogOptions> = {}) {
  const waits: number[] = [];
  const made: [string, ProviderContext][] = [];
  const acme = defineProvider({
    name: "acme",
    keyVariable: "ACME_SECRET",
    models: [{ name: "rocket-2", contextWindow: 64_000, prices: { input: 1, output: 10 }, seesPictures: true }],
    model(name, given) {
      made.push([name, given]);
      return { reply };
    },
  });
  const config = { models: { "acme/rocket-2": { temperature: 0.5 } } };
  const sleep = async (ms: number) => void waits.push(ms);
  const env = { ACME_SECRET: KEY };
  const catalog = createCatalog({ env, config, sleep, random: () => 0, providers: [acme], ...options });
  return { catalog, waits, made };
}

test("a provider's model is asked like any other: with its key and settings, and at its own price", async () => {
  const { catalog, made } = catalogWith(async () => ({ content: text("Hi."), usage: { input: 1000, output: 100 } }));
  const model = await catalog.model("acme/rocket-2");
  expect(made).toEqual([["rocket-2", { apiKey: KEY, settings: expect.objectContaining({ temperature: 0.5 }) }]]);
  expect(model).toMatchObject({ id: "acme/rocket-2", contextWindow: 64_000, searchesWeb: false, seesPictures: true });
  expect(await model.reply(request, never)).toEqual({
    role: "assistant",
    model: "acme/rocket-2",
    content: text("Hi."),
    usage: { input: 1000, output: 100, cache_read: 0, cache_write: 0, reasoning: 0 },
    cost_usd: 0.002,
    finish: "stop",
  });
});

test("its models are listed, resolved and corrected; without its key it says which to set", async () => {
  const { catalog } = catalogWith(async () => ({ content: text("Hi.") }));
  expect((await catalog.list()).find(({ id }) => id === "acme/rocket-2")).toMatchObject({
    contextWindow: 64_000,
    price: { input: 1, output: 10 },
    missing: null,
  });
  expect(catalog.resolve("acme/rocket-2")).toMatchObject({ contextWindow: 64_000, note: null });
  expect(catalog.resolve("acme/other")).toMatchObject({
    contextWindow: 32_768,
    note: expect.stringContaining("acme/other is not in our list"),
  });
  expect(() => catalog.resolve("acme/rockte-2")).toThrow(
    "There is no model acme/rockte-2. Did you mean acme/rocket-2?",
  );
  expect(() => catalog.resolve("acne/rocket-2")).toThrow(/Did you mean acme\/…\? Providers are .*, acme;/);
  const without = catalogWith(async () => ({ content: [] }), { env: {} }).catalog;
  expect(() => without.resolve("acme/rocket-2")).toThrow("acme/rocket-2 needs a key: ACME_SECRET is not set.");
});

test.each([
  ["no reply at all", undefined, "unreadable"],
  ["a part that is none", { content: [{ type: "speech", text: "Hi." }] }, "unreadable"],
  ["usage that is no count", { content: text("Hi."), usage: { input: -1 } }, "unreadable"],
  [
    "two calls with one id",
    { content: [1, 2].map(() => ({ type: "call", id: "c", name: "x", args: {} })) },
    "unreadable",
  ],
  [
    "arguments that cannot be written down",
    { content: [{ type: "call", id: "c", name: "x", args: { n: 1n } }] },
    "unreadable",
  ],
  ["neither words nor calls", { content: [{ type: "reasoning", text: "Hm." }] }, "empty"],
])("PROVIDER-1: %s is a failure, tried again and then told", async (_, said, reason) => {
  const { catalog, waits } = catalogWith(async () => said as unknown as { content: [] });
  const model = await catalog.model("acme/rocket-2");
  const failed = await model.reply(request, never).catch((error: ModelFailure) => error);
  expect(failed).toMatchObject({ name: "ModelFailure", reason });
  expect(waits.length).toBe(2);
});

test.each([
  [{ content: "Hi." }, "content: expected a list; there is text"],
  [
    { content: [{ type: "text" }], usage: { input: -1 } },
    "content.0.text: expected text in quotes; it is missing; usage.input: expected at least 0",
  ],
  [undefined, "expected an object in braces; it is missing"],
])("PROVIDER-1: what is wrong with a reply is said by its fields: %j", async (said, problem) => {
  const { catalog } = catalogWith(async () => said as unknown as { content: [] });
  const model = await catalog.model("acme/rocket-2");
  const message = `acme/rocket-2 did not send a valid reply: ${problem}.`;
  await expect(model.reply(request, never)).rejects.toMatchObject({ reason: "unreadable", message });
});

test("PROVIDER-1: a flood is a failure that is not tried again", async () => {
  const { catalog, waits } = catalogWith(async () => ({ content: text("x".repeat(3 * 1024 * 1024)) }));
  const model = await catalog.model("acme/rocket-2");
  await expect(model.reply(request, never)).rejects.toThrow("acme/rocket-2 sent a reply of more than 2 MB.");
  expect(waits).toEqual([]);
});

test("PROVIDER-2: a stop goes through at once, although the provider does not heed its signal", async () => {
  const { catalog } = catalogWith(() => new Promise(() => {}));
  const model = await catalog.model("acme/rocket-2");
  const stop = new AbortController();
  const replying = model.reply(request, stop.signal);
  stop.abort(new Error("stopped"));
  await expect(replying).rejects.toThrow("stopped");
});

test("PROVIDER-2: what waited for a stop is gone with the reply, however long the signal lives", async () => {
  const { catalog } = catalogWith(async () => ({ content: text("Hi.") }));
  const model = await catalog.model("acme/rocket-2");
  const stop = new AbortController();
  await model.reply(request, stop.signal);
  expect(getEventListeners(stop.signal, "abort")).toEqual([]);
});

test("PROVIDER-3: what it throws is told by its kind, tried again where it may help, and without its key", async () => {
  const refused = Object.assign(new Error(`bad key ${KEY}`), { status: 401 });
  const one = catalogWith(() => Promise.reject(refused));
  const scrubbed = await (await one.catalog.model("acme/rocket-2"))
    .reply(request, never)
    .catch((error: ModelFailure) => error);
  expect(scrubbed).toMatchObject({
    reason: "auth",
    message: "acme/rocket-2 answered 401: bad key [redacted: ACME_SECRET]. Check the key in ACME_SECRET.",
  });
  expect(one.waits).toEqual([]);
  let tries = 0;
  const two = catalogWith(async () => {
    tries++;
    if (tries === 1) throw Object.assign(new Error("busy"), { status: 503 });
    return { content: text("Hi.") };
  });
  const model = await two.catalog.model("acme/rocket-2");
  expect(z.object({ content: z.unknown() }).parse(await model.reply(request, never)).content).toEqual(text("Hi."));
  expect(two.waits.length).toBe(1);
});

/** Time that passes only when it is told to. */
function manualTime() {
  let now = 0;
  const due = new Map<() => void, { at: number; ms: number }>();
  const startTimer: StartTimer = (ms, callback) => {
    const refresh = () => void due.set(callback, { at: now + ms, ms });
    refresh();
    return { refresh, stop: () => void due.delete(callback) };
  };
  const pass = (ms: number) => {
    now += ms;
    for (const [callback, { at }] of due) if (at <= now && due.delete(callback)) callback();
  };
  return { options: { startTimer, now: () => now, retry: { maxAttempts: 1 } }, pass, due };
}

test("PROVIDER-4: a provider that is silent for 120 s is ended and told so; each delta postpones that", async () => {
  const { options, pass, due } = manualTime();
  const words: string[] = [];
  const onDelta = ({ text }: { text: string }) => void words.push(text);
  let asked: ModelRequest | undefined;
  let told: AbortSignal | undefined;
  const { catalog } = catalogWith((request, signal) => {
    asked = request;
    told = signal;
    return new Promise(() => {});
  }, options);
  const model = await catalog.model("acme/rocket-2");
  const replying = model.reply({ ...request, onDelta }, never).catch((error: ModelFailure) => error);
  pass(119_000);
  asked?.onDelta?.({ kind: "text", text: "Hm" });
  pass(119_000);
  asked?.onDelta?.({ kind: "reasoning", text: "" });
  pass(119_000);
  expect(told?.aborted).toBe(false);
  pass(1000);
  expect(told?.aborted).toBe(true);
  const message = "acme/rocket-2 sent nothing for 120 s; the request was dropped.";
  expect(await replying).toMatchObject({ name: "ModelFailure", reason: "stalled", retryable: true, message });
  asked?.onDelta?.({ kind: "text", text: "too late" });
  expect({ words, timers: due.size }).toEqual({ words: ["Hm"], timers: 0 });
});

test("PROVIDER-4: signs of life without a word are enough for 30 minutes, no longer", async () => {
  const { options, pass } = manualTime();
  let asked: ModelRequest | undefined;
  const { catalog } = catalogWith((request) => {
    asked = request;
    return new Promise(() => {});
  }, options);
  const replying = (await catalog.model("acme/rocket-2")).reply(request, never).catch((error: ModelFailure) => error);
  for (let minute = 1; minute <= 31; minute++) {
    pass(60_000);
    asked?.onDelta?.({ kind: "reasoning", text: "" });
  }
  expect(await replying).toMatchObject({
    reason: "stalled",
    message: "acme/rocket-2 sent nothing but keep-alives for 30 min; the request was dropped.",
  });
});
