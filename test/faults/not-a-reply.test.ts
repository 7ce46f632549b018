import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ModelFailure, type ModelRequest } from "../../src/models/model.ts";
import { type Adapter, modelOf } from "./provider-adapters.ts";

/**
 * Whatever answers in a model's place is named for what it is, over every wire: a person who reads "broke off" looks for
 * the fault at the provider, and not at the address or the network.
 */
const SETTINGS = {
  anthropic: "ANTHROPIC_BASE_URL",
  openai: "OPENAI_BASE_URL",
  google: "GEMINI_BASE_URL",
  openrouter: "OPENROUTER_BASE_URL",
  ollama: "OLLAMA_BASE_URL",
  "openai-compatible": "providers.local.base_url in config.json",
} as const satisfies Partial<Record<Adapter, string>>;

const PAGE = "<!doctype html>\n<title>Sign in</title>\n\n<p>Welcome to the hotel</p>\n\n";
const NOISE = Buffer.from(Array.from({ length: 500 }, (_, at) => (at * 7919 + 13) % 256));
const HALF = '{"id":"m1","content":[{"type":"te';
const OTHER = '{"status":"ok"}';

/** What is answered, and what it has to be called. `null` sends no content type. */
const ANSWERS: Record<string, [type: string | null, body: string | Buffer, called: string]> = {
  "a web page": ["text/html; charset=utf-8", PAGE, "with a web page instead of a model's reply"],
  "a web page without a type": [null, PAGE, "with a web page instead of a model's reply"],
  "a web page that says it is a stream": ["text/event-stream", PAGE, "with a web page instead of a model's reply"],
  "a web page that says it is JSON": ["application/json", PAGE, "with a web page instead of a model's reply"],
  "a page of unusual HTML": ["text/html", "<center>Moved</center>", "with a web page instead of a model's reply"],
  "random bytes as a stream": ["text/event-stream", NOISE, "with binary data instead of a model's reply"],
  "random bytes as JSON": ["application/json", NOISE, "with binary data instead of a model's reply"],
  "random bytes": ["application/octet-stream", NOISE, "with binary data instead of a model's reply"],
  "half of a JSON text": ["application/json", HALF, `with broken JSON instead of a model's reply: ${HALF}`],
  "half of a JSON text as a stream": [
    "text/event-stream",
    HALF,
    `with broken JSON instead of a model's reply: ${HALF}`,
  ],
  "half of a JSON text as an event": [
    "text/event-stream",
    `data: ${HALF}\n\n`,
    `with a garbled stream instead of a model's reply: data: ${HALF}`,
  ],
  "events that are not JSON": [
    "text/event-stream",
    "data: %$#\n\ndata: [DONE]\n\n",
    "with a garbled stream instead of a model's reply: data: %$#",
  ],
  "another service's JSON": ["application/json", OTHER, `with JSON that is not a streamed reply: ${OTHER}`],
  "another service's events": [
    "text/event-stream",
    `data: ${OTHER}\n\n`,
    `with events that are not a model's reply: data: ${OTHER}`,
  ],
  "plain text": ["text/plain", "It works!\n", 'with plain text instead of a model\'s reply: "It works!"'],
  "nothing, with a 200": [null, "", "with an empty body instead of a model's reply"],
  "nothing, as JSON": ["application/json", "", "with an empty body instead of a model's reply"],
  "an empty stream": ["text/event-stream", "", "with an empty stream instead of a model's reply"],
  "a stream of comments": ["text/event-stream", ": ping\n\n", "with an empty stream instead of a model's reply"],
  "a stream with its end alone": [
    "text/event-stream",
    "data: [DONE]\n\n",
    "with an empty stream instead of a model's reply",
  ],
};

let url = "";
let answer: (response: ServerResponse) => void = () => {};
const server = createServer((request, response) => {
  request.resume().on("end", () => answer(response));
});

beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe.each(Object.entries(SETTINGS) as [keyof typeof SETTINGS, string][])("over %s", (adapter, setting) => {
  test.each(Object.entries(ANSWERS))("%s is called that", async (_, [type, body, called]) => {
    answer = (response) => response.writeHead(200, type === null ? {} : { "content-type": type }).end(body);
    const { message, retryable } = await failureOver(adapter);
    expect(message).toContain(`answered ${called}`);
    expect(message).toContain(`Is ${setting} (${url}) right?`);
    expect(message).not.toMatch(/broke off|Unexpected|normalized|failed/);
    expect(retryable).toBe(true);
  });

  test.each([403, 404, 502, 511])("a web page with the status %i is called that", async (status) => {
    answer = (response) => response.writeHead(status, { "content-type": "text/html" }).end(PAGE);
    const { message } = await failureOver(adapter);
    expect(message).toContain(`answered ${status} with a web page instead of a model's reply. Is ${setting}`);
    expect(message).not.toContain("Check the");
  });
});

async function failureOver(adapter: Adapter): Promise<ModelFailure> {
  const providers = ["ANTHROPIC", "OPENAI", "GEMINI", "OPENROUTER", "OLLAMA"];
  const env = Object.fromEntries(
    providers.flatMap((name) => [
      [`${name}_API_KEY`, "k"],
      [`${name}_BASE_URL`, url],
    ]),
  );
  const model = await modelOf(adapter, { url, env }, { sleep: async () => {}, retry: { maxAttempts: 1 } });
  const failure = await model.reply(REQUEST, new AbortController().signal).catch((error: unknown) => error);
  if (!(failure instanceof ModelFailure)) throw new Error(`not a failure: ${JSON.stringify(failure)}`);
  return failure;
}

const REQUEST: ModelRequest = {
  system: "s",
  history: [{ role: "user", from: "human", content: "hi" }],
  tools: [],
};
