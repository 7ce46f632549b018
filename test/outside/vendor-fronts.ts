import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { json, text } from "node:stream/consumers";
import { TLSSocket } from "node:tls";
import { CERTIFICATE, CERTIFICATE_KEY } from "../../src/server/testing/certificate.ts";

/* What programs ask when their person is signed in with them, before a scripted model: the vendors' own addresses. */

export interface VendorFront extends AsyncDisposable {
  url: string;
  /** What was asked for: methods, or hosts. */
  asked: string[];
}

/** Google's Code Assist, which Gemini CLI asks with a login in place of a key. It lets in those with these tokens. */
export function startCodeAssist(provider: string, accepts: (access: string) => boolean): Promise<VendorFront> {
  const asked: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { authorization = "" } = request.headers;
    const [, method = ""] = request.url?.match(/^\/v1internal:(\w+)/) ?? [];
    asked.push(method);
    const body = (await json(request).catch(() => ({}))) as { model?: string; request?: object };
    if (!accepts(authorization.replace("Bearer ", ""))) return reply(response, 401, { error: { code: 401 } });
    if (method === "loadCodeAssist") return reply(response, 200, ACCOUNT);
    if (!/[gG]enerateContent$/.test(method)) return reply(response, 200, {});
    const isStream = method.startsWith("stream");
    const said = await fetch(`${provider}/v1beta/models/${body.model}:${method}${isStream ? "?alt=sse" : ""}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization },
      body: JSON.stringify(body.request),
    });
    response.writeHead(said.status, { "content-type": said.headers.get("content-type") ?? "application/json" });
    if (!said.ok || !isStream || !said.body) {
      const whole = await said.text();
      return void response.end(said.ok ? `{"response":${whole}}` : whole);
    }
    for await (const line of createInterface({ input: Readable.fromWeb(said.body as never) }))
      response.write(line.startsWith("data: ") ? `data: {"response":${line.slice(6)}}\n` : `${line}\n`);
    response.end();
  };
  return started(
    createServer((request, response) => void answer(request, response).catch(() => response.destroy())),
    asked,
  );
}

const ACCOUNT = { currentTier: { id: "standard-tier", name: "Standard" }, cloudaicompanionProject: "project-1" };

/**
 * A proxy that is chatgpt.com itself, and leads nowhere else: opencode, signed in with ChatGPT, has no other address for
 * it. Who comes by it must take any certificate.
 */
export function startChatGpt(provider: string): Promise<VendorFront> {
  const asked: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { authorization = "" } = request.headers;
    if (request.method !== "POST" || request.url !== "/backend-api/codex/responses") return reply(response, 404, {});
    const said = await fetch(`${provider}/v1/responses`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization },
      body: await text(request),
    });
    response.writeHead(said.status, { "content-type": said.headers.get("content-type") ?? "application/json" });
    if (said.body) for await (const part of Readable.fromWeb(said.body as never)) response.write(part);
    response.end();
  };
  const behind = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  const proxy = createServer();
  proxy.on("connect", ({ url = "" }: IncomingMessage, socket) => {
    asked.push(url);
    socket.on("error", () => {});
    if (url !== "chatgpt.com:443") return void socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    const inside = new TLSSocket(socket, { isServer: true, cert: CERTIFICATE, key: CERTIFICATE_KEY });
    inside.on("error", () => {});
    behind.emit("connection", inside);
  });
  return started(proxy, asked);
}

async function started(server: Server, asked: string[]): Promise<VendorFront> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
