import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createEmbeddingModel } from "./embeddings.ts";

const signal = new AbortController().signal;

test("texts become vectors in their order, whatever order the server answers in", async () => {
  await using server = await serving(({ input }) => ({
    data: input.map((text, index) => ({ index, embedding: [text.length, 1] })).reverse(),
  }));
  const model = createEmbeddingModel("openai/text-embedding-3-small", {
    env: { OPENAI_API_KEY: "key", OPENAI_BASE_URL: server.url },
    config: {},
    fetch,
  });
  expect([model.id, await model.embed(["a", "bcd"], signal)]).toEqual([
    "openai/text-embedding-3-small",
    [Float32Array.of(1, 1), Float32Array.of(3, 1)],
  ]);
  expect(server.asked).toEqual([
    {
      url: "/v1/embeddings",
      authorization: "Bearer key",
      body: { model: "text-embedding-3-small", input: ["a", "bcd"], encoding_format: "float" },
    },
  ]);
});

test("a server of the config's own is asked without a key where it needs none", async () => {
  await using server = await serving(() => ({ data: [{ index: 0, embedding: [1] }] }));
  const config = { providers: { local: { base_url: server.url } } };
  const model = createEmbeddingModel("openai-compatible/local/bge", { env: {}, config, fetch });
  expect(await model.embed(["a"], signal)).toEqual([Float32Array.of(1)]);
  expect(server.asked.map(({ authorization, body }) => [authorization, body.model])).toEqual([[undefined, "bge"]]);
});

test.each<[string, unknown, string]>([
  ["fewer vectors than texts", { data: [{ index: 0, embedding: [1] }] }, "gave 1 vectors for 2 texts"],
  ["something else", { vectors: [] }, "data"],
])("%s is a failure, not a wrong answer", async (_, answer, why) => {
  await using server = await serving(() => answer);
  const model = createEmbeddingModel("ollama/bge", { env: { OLLAMA_BASE_URL: server.url }, config: {}, fetch });
  await expect(model.embed(["a", "b"], signal)).rejects.toThrow(why);
});

test.each([
  ["openai/text-embedding-3-small", "OPENAI_API_KEY is not set"],
  ["anthropic/claude-sonnet-5", "has no embedding models that Agiraph can use"],
  ["demo/surveyor", "has no embedding models that Agiraph can use"],
  ["nonsense", "is not a model's name"],
])("%s cannot be used here, and the reason is said", (name, why) => {
  const env = { ANTHROPIC_API_KEY: "key" };
  expect(() => createEmbeddingModel(name, { env, config: {}, fetch })).toThrow(why);
});

interface Asked {
  url: string | undefined;
  authorization: string | undefined;
  body: { model: string; input: string[] };
}

async function serving(answer: (body: Asked["body"]) => unknown) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await textOf(request));
    asked.push({ url: request.url, authorization: request.headers.authorization, body });
    response.setHeader("content-type", "application/json").end(JSON.stringify(answer(body)));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    asked,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}

test("a malformed key is refused before it is sent, and not shown", () => {
  const make = () =>
    createEmbeddingModel("openai/text-embedding-3-small", { env: { OPENAI_API_KEY: "sk-1\nsk-2" }, config: {}, fetch });
  expect(make).toThrow("OPENAI_API_KEY is malformed");
  expect(make).not.toThrow("sk-");
});
