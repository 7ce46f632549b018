import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import type { ModelRequest } from "../../src/models/model.ts";
import { type Adapter, modelOf } from "./provider-adapters.ts";

/** What a provider sends without an end is cut off early: counted is what it could send, not how long it took. */
const MIB = 1024 ** 2;
/** What lies in the buffers of two sockets and two streams when the connection is cut. */
const IN_BUFFERS = 12 * MIB;

const STREAM = { "content-type": "text/event-stream" };
const FLOODS: Record<string, { status: number; headers: Record<string, string>; piece: string; most: number }> = {
  "a line without an end": { status: 200, headers: STREAM, piece: "x".repeat(64 * 1024), most: 8 * MIB },
  "an event without an end": {
    status: 200,
    headers: STREAM,
    piece: `data: ${"x".repeat(2000)}\n`.repeat(32),
    most: 8 * MIB,
  },
  "an error without an end": {
    status: 400,
    headers: { "content-type": "application/json" },
    piece: "x".repeat(64 * 1024),
    most: MIB,
  },
  "a page of an error without an end": {
    status: 502,
    headers: { "content-type": "text/html" },
    piece: "<p>Bad gateway\n".repeat(4096),
    most: MIB,
  },
};

/** One of each wire: the others are the same code. */
const WIRES: Adapter[] = ["anthropic", "openai", "google", "openrouter", "ollama"];

describe.each(WIRES)("%s", (adapter) => {
  test.each(Object.entries(FLOODS))("%s is cut off early, and the agent is told", async (_, flood) => {
    await using server = await flooding(flood);
    const told: string[] = [];
    const env = environment(server.url);
    const model = await modelOf(
      adapter,
      { url: server.url, env },
      { sleep: async () => {}, retry: { maxAttempts: 1 } },
    );
    const failure = await model
      .reply({ ...request, onFailure: ({ reason }) => told.push(reason) }, new AbortController().signal)
      .catch((error: unknown) => error);
    await server.cut;

    expect(failure).toMatchObject({ name: "ModelFailure" });
    expect(told).toEqual([flood.status === 200 ? "unreadable" : flood.status === 400 ? "bad_request" : "server"]);
    expect(server.sent()).toBeLessThan(flood.most + IN_BUFFERS);
  });

  test("pings without a word are cut off after half an hour, and tried again no more than twice", async () => {
    await using server = await flooding({ status: 200, headers: STREAM, piece: ": ping\n\n".repeat(1000), most: 0 });
    const told: [string, string][] = [];
    let time = 0;
    // Each look at the clock is a minute later.
    const now = () => (time += 60_000);
    const ports = { sleep: async () => {}, now };
    const model = await modelOf(adapter, { url: server.url, env: environment(server.url) }, ports);
    const onFailure: ModelRequest["onFailure"] = ({ reason, message }) => told.push([reason, message]);
    await expect(model.reply({ ...request, onFailure }, new AbortController().signal)).rejects.toMatchObject({
      reason: "stalled",
    });
    expect(told).toEqual(
      Array.from({ length: 3 }, () => ["stalled", expect.stringContaining("nothing but keep-alives for 30 min")]),
    );
  });
});

function environment(url: string): Record<string, string> {
  return Object.fromEntries(
    ["ANTHROPIC", "OPENAI", "GEMINI", "OPENROUTER", "OLLAMA"].flatMap((name) => [
      [`${name}_API_KEY`, "some-key"],
      [`${name}_BASE_URL`, url],
    ]),
  );
}

async function flooding({ status, headers, piece }: (typeof FLOODS)[string]) {
  const cut = Promise.withResolvers<void>();
  let bytes = 0;
  const pour = (response: ServerResponse) => {
    while (!response.destroyed) {
      bytes += piece.length;
      if (!response.write(piece)) return response.once("drain", () => pour(response));
    }
    return response;
  };
  const server = createServer((incoming, response) => {
    incoming.resume();
    response.once("close", cut.resolve);
    response.writeHead(status, headers);
    pour(response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: cut.promise,
    sent: () => bytes,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const request: ModelRequest = {
  system: "You are brief.",
  history: [{ role: "user", from: "human", content: "Go." }],
  tools: [],
};
