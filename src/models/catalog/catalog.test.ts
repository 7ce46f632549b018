import { expect, test, vi } from "vitest";
import { type Entry, NO_USAGE } from "../../protocol/index.ts";
import { postByFetch } from "../../testing/post-by-fetch.ts";
import type { Model } from "../model.ts";
import { type CatalogOptions, createCatalog } from "./catalog.ts";

const KEYS = { ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "o", GEMINI_API_KEY: "g", OPENROUTER_API_KEY: "r" };
const servers = {
  local: { base_url: "http://127.0.0.1:8000", api_key_env: "LOCAL_KEY", context_window: 64_000 },
  plain: { base_url: "http://127.0.0.1:8000/v1", native_tools: false },
};

test("a name leads to a model, with its window and whether it searches by itself", () => {
  const catalog = made({ env: { ...KEYS, LOCAL_KEY: "k" }, config: { providers: servers } });
  const ids = [
    "anthropic/claude-sonnet-4-5-20250929",
    "openai/gpt-5",
    "gemini/gemini-3-pro-preview",
    "google/gemini-2.5-pro",
    "openrouter/anthropic/claude-sonnet-4.5",
    "openai-compatible/local/org/model",
    "demo/surveyor",
  ];

  expect(ids.map((id) => catalog.resolve(id))).toEqual([
    { id: "anthropic/claude-sonnet-4-5-20250929", contextWindow: 200_000, searchesWeb: true, note: null },
    { id: "openai/gpt-5", contextWindow: 400_000, searchesWeb: true, note: null },
    { id: "google/gemini-3-pro-preview", contextWindow: 1_048_576, searchesWeb: true, note: null },
    { id: "google/gemini-2.5-pro", contextWindow: 1_048_576, searchesWeb: false, note: null },
    { id: "openrouter/anthropic/claude-sonnet-4.5", contextWindow: 200_000, searchesWeb: false, note: null },
    { id: "openai-compatible/local/org/model", contextWindow: 64_000, searchesWeb: false, note: null },
    { id: "demo/surveyor", contextWindow: 200_000, searchesWeb: false, note: null },
  ]);
});

test("a model newer than our list is taken, with a note; what the config says of it counts", () => {
  const config = { models: { "anthropic/claude-nova-7": { context_window: 2_000_000 } } };

  expect(made({ env: KEYS }).resolve("anthropic/claude-nova-7")).toEqual({
    id: "anthropic/claude-nova-7",
    contextWindow: 200_000,
    searchesWeb: true,
    note:
      "anthropic/claude-nova-7 is not in our list; a context of 200000 tokens is assumed. " +
      'If it has another, say so in config.json (models["anthropic/claude-nova-7"].context_window).',
  });
  expect(made({ env: KEYS, config }).resolve("anthropic/claude-nova-7")).toEqual({
    id: "anthropic/claude-nova-7",
    contextWindow: 2_000_000,
    searchesWeb: true,
    note: null,
  });
});

test.each([
  ["anthropic/claude-sonet-5", "There is no model anthropic/claude-sonet-5. Did you mean anthropic/claude-sonnet-5?"],
  [
    "antropic/claude-sonnet-5",
    /^There is no model antropic\/claude-sonnet-5\. Did you mean anthropic\/claude-sonnet-5 or /,
  ],
  ["gpt-5", /^"gpt-5" is not a model's name; write provider\/model.* Did you mean openai\/gpt-5\?$/],
  ["openai", /^"openai" is a provider, not a model's name; add the model, like openai\/[\w.-]+\.$/],
  ["openai-compatible", /add the model, like openai-compatible\/SERVER\/MODEL\.$/],
  ["ollama", /add the model, like ollama\/MODEL\.$/],
  ["openai-compatible/lokal/m", /there is no server "lokal" in config\.json\. It names local, plain\./],
  ["openai-compatible/local", /names a server but no model\. Write openai-compatible\/local\/MODEL\.$/],
  [
    "openai-compatible/local/m",
    "openai-compatible/local/m needs a key: LOCAL_KEY is not set. Set it, or take a model of anthropic (ANTHROPIC_API_KEY is set) " +
      "or openai (OPENAI_API_KEY is set) or google (GEMINI_API_KEY is set) or openrouter (OPENROUTER_API_KEY is set), " +
      "or use demo/surveyor, which needs none.",
  ],
  ["claude-code/sonnet", /is a program that works as an agent/],
])("%s is refused with what to do instead", async (id, message) => {
  await expect(made({ env: KEYS, config: { providers: servers } }).model(id)).rejects.toThrow(message);
});

test("a missing key is named, and so is everything else that would do", async () => {
  await expect(made({}).model("anthropic/claude-sonnet-5")).rejects.toThrow(
    "anthropic/claude-sonnet-5 needs a key: ANTHROPIC_API_KEY is not set. Set it, or set one of OPENAI_API_KEY, GEMINI_API_KEY, " +
      "OPENROUTER_API_KEY and take a model of that provider, or use demo/surveyor, which needs none.",
  );
});

test("with no choice made the first that can be used is taken, in the order of the contract, with the reason", async () => {
  const ollama = { fetch: async () => Response.json({ data: [{ id: "qwen3:8b" }] }) };
  const claude = { programs: () => [{ name: "claude-code", missing: null, leads: true }] };
  const choices: Partial<CatalogOptions>[] = [
    { ...ollama, ...claude, env: { ...KEYS, AGIRAPH_MODEL: "p/m" }, config: { model: "q/n" } },
    { ...ollama, ...claude, env: KEYS, config: { model: "q/n" } },
    { ...ollama, ...claude, env: KEYS },
    { ...ollama, ...claude, env: { GEMINI_API_KEY: "g", OPENROUTER_API_KEY: "r" } },
    { ...ollama, ...claude },
    { ...ollama, programs: () => [{ name: "claude-code", missing: "claude", leads: true }] },
    {},
  ];

  expect(await Promise.all(choices.map((options) => made(options).chooseDefault()))).toEqual([
    { model: "p/m", why: "set by AGIRAPH_MODEL" },
    { model: "q/n", why: "set in config.json" },
    { model: "anthropic/claude-sonnet-5", why: "ANTHROPIC_API_KEY is set" },
    { model: "google/gemini-3.8-flash", why: "GEMINI_API_KEY is set" },
    { model: "claude-code/sonnet", why: "no key is set, and claude is installed" },
    { model: "ollama/qwen3:8b", why: "no key is set, and a local Ollama has this model" },
    {
      model: "demo/surveyor",
      why:
        "the demo, not a language model: none of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY " +
        "is set, and no local model answers",
    },
  ]);
});

test("a program is named alone or with its model, and is listed with what is missing if it can lead", async () => {
  const programs = () => [
    { name: "claude-code", missing: null, leads: true },
    { name: "codex", missing: "codex-acp", leads: true },
    { name: "gemini", missing: null, leads: true },
    { name: "linter", missing: null, leads: false },
  ];
  const catalog = made({ env: KEYS, programs });
  const ids = ["claude-code", "claude-code/claude-nova-7", "codex/gpt-5.5", "gemini", "linter"];
  expect(ids.map((id) => catalog.resolve(id).id)).toEqual(ids);
  expect([...ids, "gemini/gemini-2.5-pro", "openai/gpt-5"].map((id) => catalog.programOf(id))).toEqual([
    ...["claude-code", "claude-code", "codex", "gemini", "linter"],
    ...[undefined, undefined],
  ]);
  expect(catalog.resolve("gemini/gemini-2.5-pro").id).toBe("google/gemini-2.5-pro");
  expect(() => catalog.resolve("claude-code/sonet")).toThrow("Did you mean claude-code/sonnet?");
  expect(() => catalog.resolve("opencode")).toThrow('"opencode" is not a model\'s name');
  const listed = (await catalog.list()).filter(({ id }) => /^(claude-code|codex|gemini|linter)/.test(id));
  expect(listed.map(({ id, missing }) => [id, missing])).toEqual([
    ["claude-code/opus", null],
    ["claude-code/sonnet", null],
    ["claude-code/haiku", null],
    ["codex", "codex-acp"],
    ["gemini", null],
  ]);
});

test("every model we would choose by ourselves is known, has a price, and leads somewhere", async () => {
  const listed = await made({ env: KEYS }).list();
  const chosen = await Promise.all(
    Object.entries(KEYS).map(async ([name, key]) => (await made({ env: { [name]: key } }).chooseDefault()).model),
  );

  expect(chosen.map((id) => listed.find((model) => model.id === id)?.price?.input)).toEqual([2, 2, 0.75, 2]);
  expect(listed.filter((model) => model.missing !== null)).toEqual([]);
  expect(listed.find((model) => model.id === "demo/surveyor")).toEqual({
    id: "demo/surveyor",
    contextWindow: 200_000,
    searchesWeb: false,
    price: { input: 0, output: 0 },
    missing: null,
    malformed: null,
  });
});

test("what config.json and the environment name is listed, with what its servers say they have", async () => {
  const asked: [string, string | null][] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    asked.push([String(input), new Headers(init?.headers).get("authorization")]);
    if (String(input).includes(":8000")) return Response.json({ data: [{ id: "org/m" }, { id: "a b" }, { id: 7 }] });
    throw new Error("nobody is there");
  };
  const config = {
    worker_model: "openai-compatible/away/w",
    providers: {
      local: { ...servers.local, prices: { input: 1, output: 2 } },
      away: { base_url: "http://127.0.0.1:9" },
    },
    models: { "antropic/claude-sonnet-5": { context_window: 9 }, "gemini/gemini-9-flash": {} },
  };
  const env = { LOCAL_KEY: " k ", AGIRAPH_MODEL: "ollama/llama3.2" };
  const known = new Set((await made({}).list()).map(({ id }) => id));
  const listed = (await made({ env, config, fetch }).list()).filter(({ id }) => !known.has(id));
  const plain = { searchesWeb: false, missing: null, malformed: null };
  expect(listed).toEqual([
    { ...plain, id: "ollama/llama3.2", contextWindow: 32_768, price: { input: 0, output: 0 } },
    { ...plain, id: "openai-compatible/away/w", contextWindow: 32_768, price: null },
    {
      ...plain,
      id: "antropic/claude-sonnet-5",
      contextWindow: 32_768,
      price: null,
      missing: expect.stringContaining("Did you mean anthropic/claude-sonnet-5"),
    },
    {
      ...plain,
      id: "google/gemini-9-flash",
      contextWindow: 1_048_576,
      searchesWeb: true,
      price: null,
      missing: "GEMINI_API_KEY",
    },
    { ...plain, id: "openai-compatible/local/org/m", contextWindow: 64_000, price: { input: 1, output: 2 } },
  ]);
  expect(asked.sort()).toEqual([
    ["http://127.0.0.1:11434/v1/models", null],
    ["http://127.0.0.1:8000/v1/models", "Bearer k"],
    ["http://127.0.0.1:9/v1/models", null],
  ]);
});

test("a server that says too much when it is asked what it has is cut off, and has nothing to offer", async () => {
  const cancel = vi.fn();
  let said = 0;
  const pull = (to: ReadableStreamDefaultController) => {
    if (++said > 100) to.close();
    else to.enqueue(Buffer.alloc(1024 ** 2, " "));
  };
  const endless = new ReadableStream({ pull, cancel });
  const fetch: typeof globalThis.fetch = async (input) => {
    if (String(input).includes(":8000")) return new Response(endless);
    throw new Error("nobody is there");
  };
  const listed = await made({ config: { providers: { local: servers.local } }, fetch }).list();
  expect(listed.filter(({ id }) => id.startsWith("openai-compatible/"))).toEqual([]);
  expect(cancel).toHaveBeenCalled();
});

test.each([
  ["anthropic/claude-sonnet-5", { ANTHROPIC_BASE_URL: "http://h" }, "http://h/v1/messages"],
  ["anthropic/claude-sonnet-5", { ANTHROPIC_BASE_URL: "http://h/v1/" }, "http://h/v1/messages"],
  ["openai/gpt-5", { OPENAI_BASE_URL: "http://h/proxy" }, "http://h/proxy/v1/responses"],
  [
    "gemini/gemini-3-pro-preview",
    { GEMINI_BASE_URL: "http://h" },
    "http://h/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse",
  ],
  ["openrouter/a/b", { OPENROUTER_BASE_URL: "http://h/api/v1" }, "http://h/api/v1/chat/completions"],
  ["ollama/llama3.2", { OLLAMA_BASE_URL: "http://h" }, "http://h/v1/chat/completions"],
  ["ollama/llama3.2", {}, "http://127.0.0.1:11434/v1/chat/completions"],
  ["openai-compatible/plain/org/m", {}, "http://127.0.0.1:8000/v1/chat/completions"],
])("%s with %o asks at %s", async (id, urls, expected) => {
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = async (input) => {
    asked.push(String(input));
    return new Response("no", { status: 400 });
  };
  const model = await made({ env: { ...KEYS, ...urls }, config: { providers: servers }, fetch }).model(id);
  const history = [{ role: "user", from: "human", content: "hi" }] as const;
  await model.reply({ system: "", history, tools: [] }, new AbortController().signal).catch(() => {});

  expect(asked).toEqual([expected]);
});

test("PROMPT-4: what a model of one server thought is sent back to that server, and to no other", async () => {
  const bodies: string[] = [];
  const fetch: typeof globalThis.fetch = async (_, init) => {
    bodies.push(await new Response(init?.body).text());
    return new Response("no", { status: 400 });
  };
  const catalog = made({ env: { LOCAL_KEY: "key" }, config: { providers: servers }, fetch });
  const history: Entry[] = [
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "I think." },
        { type: "text", text: "I say." },
      ],
      model: "openai-compatible/local/m",
      usage: NO_USAGE,
      cost_usd: null,
      finish: "stop",
    },
    { role: "user", from: "human", content: "hi" },
  ];
  for (const id of ["openai-compatible/local/other", "openai-compatible/plain/m"]) {
    const model = await catalog.model(id);
    await model.reply({ system: "", history, tools: [] }, new AbortController().signal).catch(() => {});
  }
  const [local, plain] = bodies;
  expect(bodies.map((body) => body.includes("I say."))).toEqual([true, true]);
  expect([local?.includes("I think."), plain?.includes("I think.")]).toEqual([true, false]);
});

test("PROMPT-5: half a character in the description of a tool is replaced, whoever is asked", async () => {
  const bodies: string[] = [];
  const fetch: typeof globalThis.fetch = async (_, init) => {
    bodies.push(await new Response(init?.body).text());
    return new Response("no", { status: 400 });
  };
  const catalog = made({ env: { ...KEYS, LOCAL_KEY: "key" }, config: { providers: servers }, fetch });
  const parameters = { type: "object", properties: { path: { type: "string", description: "a path \ud83d" } } };
  const tools = [{ name: "look", description: "Looks \ud83d", parameters }];
  const history = [{ role: "user", from: "human", content: "hi" }] as const;
  for (const id of ["anthropic/claude-sonnet-5", "openai-compatible/local/m"]) {
    const model = await catalog.model(id);
    await model.reply({ system: "", history, tools }, new AbortController().signal).catch(() => {});
  }
  expect(bodies.map((body) => /Looks/.test(body) && !/\\ud[89ab]/i.test(body))).toEqual([true, true]);
});

test("an address that is none is named with its variable", async () => {
  const catalog = made({ env: { OLLAMA_BASE_URL: "localhost:11434" } });

  await expect(catalog.model("ollama/m")).rejects.toThrow(
    'OLLAMA_BASE_URL is not a web address: "localhost:11434". Write it like https://host/v1.',
  );
});

test("the demo needs no key", async () => {
  const demo: Model = {
    id: "demo/surveyor",
    contextWindow: 1,
    searchesWeb: false,
    reply: () => Promise.reject(),
  };

  expect(await made({ demo: async () => demo }).model("demo/surveyor")).toBe(demo);
});

function made(options: Partial<CatalogOptions>) {
  const fetch = () => Promise.reject(new Error("no network here"));
  const post = postByFetch(options.fetch ?? fetch);
  return createCatalog({
    env: {},
    config: {},
    fetch,
    post,
    sleep: () => Promise.reject(new Error("no retry here")),
    random: () => 0,
    ...options,
  });
}
