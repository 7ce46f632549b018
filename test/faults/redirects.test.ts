import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkOllama } from "../../src/cli/doctor/checks.ts";
import { ApiClient } from "../../src/client/client.ts";
import type { Utterance } from "../../src/mail/channels/utterance.ts";
import { webhookChannel } from "../../src/mail/channels/webhook.ts";
import { McpServers } from "../../src/mcp/mcp-servers.ts";
import { createCatalog } from "../../src/models/catalog/catalog.ts";
import { createEmbeddingModel } from "../../src/models/embeddings.ts";
import { ModelFailure, type ModelRequest } from "../../src/models/model.ts";
import { searchProvider } from "../../src/tools/web-search-providers.ts";
import { type Adapter, adapters, modelOf } from "./provider-adapters.ts";

/**
 * A server that redirects to another origin gets nothing there: neither the key nor the conversation, whoever asks and
 * whatever the status. `there` is that other origin, `here` the address that was configured.
 */
const CANARY = "canary-4f1d6b2a9c8e7035";
const STATUSES = [301, 302, 303, 307, 308];

let status = 307;
let stop: () => Promise<void>;
let here = "";
let there = "";
let arrived: string[] = [];

beforeEach(async () => {
  arrived = [];
  const target = createServer((request, response) => {
    arrived.push(`${request.method} ${request.url}`);
    request.resume();
    response.end("{}");
  });
  const configured = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { location: `${there}/elsewhere?echo=${CANARY}` });
    response.end("Moved.");
  });
  const servers = [target, configured];
  for (const server of servers) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
  [there = "", here = ""] = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  stop = async () => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    }
  };
});
afterEach(() => stop());

const request: ModelRequest = {
  system: "You are brief.",
  history: [{ role: "user", from: "human", content: `Do not pass on ${CANARY}.` }],
  tools: [],
};

const SETTINGS: Record<Adapter, string> = {
  anthropic: "ANTHROPIC_BASE_URL",
  openai: "OPENAI_BASE_URL",
  google: "GEMINI_BASE_URL",
  openrouter: "OPENROUTER_BASE_URL",
  ollama: "OLLAMA_BASE_URL",
  "openai-compatible": "providers.local.base_url in config.json",
  "text fallback": "providers.plain.base_url in config.json",
};

describe.each(adapters)("a model over %s", (adapter) => {
  test.each(STATUSES)("answered with %i: refused at once, naming the origin and the setting", async (answered) => {
    status = answered;
    const told: unknown[] = [];
    const model = await modelOf(adapter, { url: here, env: environment() }, { sleep: noSleep });
    const failure = await model
      .reply({ ...request, onFailure: ({ reason }, wait) => told.push([reason, wait]) }, new AbortController().signal)
      .catch((error: unknown) => error);

    expect(arrived).toEqual([]);
    expect(failure).toBeInstanceOf(ModelFailure);
    expect(failure).toMatchObject({ reason: "redirected", status: answered, retryable: false });
    expect(told).toEqual([["redirected", null]]);
    const { message } = failure as ModelFailure;
    expect(message).toContain(`to ${there} `);
    expect(message).toContain(SETTINGS[adapter]);
    expect(message).not.toContain(CANARY);
  });
});

/** Everything else that sends a secret or somebody's words to an address from the configuration. */
const OTHERS: Record<string, () => Promise<unknown>> = {
  "the embeddings of a provider": () =>
    createEmbeddingModel("openai/text-embedding-3-small", { env: environment(), config: {}, fetch }).embed(
      [CANARY],
      new AbortController().signal,
    ),
  "the list of models of a configured server": () => declared(),
  "the search by Brave": () => search({ BRAVE_API_KEY: CANARY, BRAVE_BASE_URL: here }),
  "the search by Serper": () => search({ SERPER_API_KEY: CANARY, SERPER_BASE_URL: here }),
  "the search by Tavily": () => search({ TAVILY_API_KEY: CANARY, TAVILY_BASE_URL: here }),
  "the search by SearXNG": () => search({ SEARXNG_URL: here }),
  "a channel": () => channel(),
  "an MCP server": () => mcp(),
  "the client of our own server": () => new ApiClient({ url: here, token: CANARY }).loginLink(),
  "doctor's look for Ollama": () => checkOllama({ OLLAMA_BASE_URL: here }, 5_000),
};

describe.each(Object.entries(OTHERS))("%s", (_, ask) => {
  test.each(STATUSES)("answered with %i: nothing arrives at the other origin", async (answered) => {
    status = answered;
    const said = await ask().then(
      (value) => JSON.stringify(value),
      (error: unknown) => String(error),
    );
    expect(arrived).toEqual([]);
    expect(said).not.toContain(CANARY);
  });
});

test("whoever can tell a person says where the redirect points", async () => {
  status = 308;
  const said = await Promise.all(
    ["the search by Brave", "a channel", "an MCP server", "the client of our own server"].map((name) =>
      OTHERS[name]?.().then(
        (value) => JSON.stringify(value),
        (error: unknown) => String(error),
      ),
    ),
  );
  expect(said.filter((text) => !text?.includes(`to ${there} `))).toEqual([]);
});

function environment(): Record<string, string> {
  const providers = ["ANTHROPIC", "OPENAI", "GEMINI", "OPENROUTER", "OLLAMA"];
  return Object.fromEntries(
    providers.flatMap((name) => [
      [`${name}_API_KEY`, CANARY],
      [`${name}_BASE_URL`, here],
    ]),
  );
}

async function declared(): Promise<unknown> {
  const config = { providers: { local: { base_url: here, api_key_env: "OPENAI_API_KEY" } } };
  const catalog = createCatalog({ env: environment(), config, sleep: noSleep, random: () => 0 });
  return (await catalog.list()).filter(({ id }) => id.startsWith("openai-compatible/local/"));
}

function search(env: Record<string, string>): Promise<unknown> {
  return searchProvider(env, fetch)?.search("anything", new AbortController().signal) ?? Promise.resolve("nobody");
}

function channel(): Promise<unknown> {
  const webhook = { name: "chat", url: `${here}/hook`, secret: CANARY };
  const who = { id: "a", name: "A" };
  const said: Utterance = {
    delivery: "d1",
    topic: "messages",
    agent: who,
    from: who,
    ts: 1,
    of: "m1",
    fact: 1,
    text: "Hello.",
  };
  return webhookChannel(webhook, Date.now).deliver(said, new AbortController().signal);
}

async function mcp(): Promise<unknown> {
  const servers = new McpServers(
    { web: { url: `${here}/mcp`, headers_env: { authorization: "WEB_KEY" } } },
    { env: { WEB_KEY: `Bearer ${CANARY}` }, now: Date.now },
  );
  try {
    return await servers.states();
  } finally {
    await servers.close();
  }
}

async function noSleep(): Promise<void> {
  throw new Error("A redirect is not tried again.");
}
