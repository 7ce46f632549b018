import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

export interface Asked {
  /** Of the message; "GET" for the standing stream. */
  method: string;
  id: unknown;
  request: IncomingMessage;
  response: ServerResponse;
}

/** Handles a request in its own way and returns true; all other requests are answered correctly. */
export type Misbehaviour = (asked: Asked) => boolean | undefined;

/** A server of revision 2025 with one tool, `look`, that answers as it is told. It is closed at the end of the test. */
export async function httpServer(misbehave: Misbehaviour) {
  const sockets = new Set<Socket>();
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const { method = "GET", id } = request.method === "POST" ? JSON.parse(await text(request)) : {};
    asked.push(method);
    if (misbehave({ method, id, request, response })) return;
    if (method === "GET") response.writeHead(405).end();
    else if (id === undefined) response.writeHead(202).end();
    else sendResult(response, id, RESULTS[method]);
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return { url, sockets, asked };
}

export function sendResult(response: ServerResponse, id: unknown, result: object | undefined): void {
  const message = result ? { result } : { error: { code: -32601, message: "unknown" } };
  response
    .writeHead(200, { "content-type": "application/json" })
    .end(JSON.stringify({ jsonrpc: "2.0", id, ...message }));
}

const RESULTS: Record<string, object> = {
  initialize: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "web", version: "1" },
  },
  "tools/list": { tools: [{ name: "look", inputSchema: { type: "object" } }] },
  "tools/call": { content: [{ type: "text", text: "seen" }] },
};
