import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import { Server } from "@modelcontextprotocol/server";
import { expect, onTestFinished, test } from "vitest";
import type { McpServerConfig } from "../protocol/config.ts";
import { Toolbox } from "../tools/toolbox.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { McpServers } from "./mcp-servers.ts";

test("a server that was begun anew and has forgotten us is greeted again, and the call runs once", async () => {
  const calls: number[] = [];
  let house = await rememberingServer(() => calls.push(1));
  const url = await listening((request, response) => void house(request, response));
  const { run } = await opened({ web: { url } });
  const before = await run();
  house = await rememberingServer(() => calls.push(2));
  expect([before, await run(), calls]).toEqual([true, true, [1, 2]]);
});

test("headers come from named variables, and only then is anything sent", async () => {
  const seen: (string | undefined)[] = [];
  const house = await rememberingServer(() => {});
  const url = await listening((request, response) => {
    seen.push(request.headers.authorization);
    void house(request, response);
  });
  const headers_env = { authorization: "WEB_KEY" };
  const without = await opened({ web: { url, headers_env } });
  expect([without.broken, seen]).toEqual([
    [{ server: "web", why: "WEB_KEY is not set, which it needs for the header authorization" }],
    [],
  ]);
  const { run } = await opened({ web: { url, headers_env } }, { WEB_KEY: "Bearer key" });
  expect([await run(), new Set(seen)]).toEqual([true, new Set(["Bearer key"])]);
});

test("an answer without an end is cut off", async () => {
  const url = await listening((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "application/json" });
    const pour = () => {
      while (response.write("x".repeat(1_000_000)));
      response.once("drain", pour);
    };
    pour();
  });
  const { broken } = await opened({ web: { url } });
  expect(broken).toEqual([{ server: "web", why: expect.stringContaining("more than 10 MiB") }]);
});

test("of a stream each event may be so long and no longer, however short its lines; the stream itself has no end", async () => {
  const pouring = (line: string) =>
    listening((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(line.repeat(Math.ceil(12e6 / line.length)));
    });
  const line = `data: ${"x".repeat(1000)}\n`;
  const read = async (url: string) => (await boundedFetch(url)).text();
  expect((await read(await pouring(`${line}\n`))).length).toBeGreaterThan(12e6 - 1);
  expect((await read(await pouring(`${line.trimEnd()}\r\n\r\n`))).length).toBeGreaterThan(12e6 - 1);
  await expect(read(await pouring(line))).rejects.toThrow("more than 10 MiB");
});

/** One that keeps sessions, as servers of 2025 do. */
async function rememberingServer(onCall: () => void) {
  const server = new Server({ name: "web", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({ tools: [{ name: "look", inputSchema: { type: "object" } }] }));
  server.setRequestHandler("tools/call", () => {
    onCall();
    return { content: [{ type: "text", text: "seen" }] };
  });
  const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() });
  await server.connect(transport);
  onTestFinished(() => server.close());
  return (request: IncomingMessage, response: Parameters<RequestListener>[1]) =>
    transport.handleRequest(request, response);
}

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

async function opened(config: Record<string, McpServerConfig>, env = {}) {
  const servers = new McpServers(config, { env, now: () => 0 });
  onTestFinished(() => servers.close());
  const { tools, broken } = await servers.open(() => true);
  const run = async () => {
    const call = { type: "call" as const, id: "c", name: "mcp__web__look", args: {} };
    const { ok, content } = await new Toolbox(tools()).run(call, new AbortController().signal);
    return ok || content;
  };
  return { run, broken };
}
