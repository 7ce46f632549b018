import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from "@modelcontextprotocol/node";
import {
  type CallToolResult,
  createMcpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from "@modelcontextprotocol/server";
import type { ToolSpec } from "../models/model.ts";
import type { Tools } from "../tools/toolbox.ts";

const MAX_BODY_BYTES = 4 * 1024 ** 2;
/** At once, by one program. */
const MAX_CALLS = 64;

/**
 * Serves a toolbox as an MCP server over streamable HTTP, for the program behind one door.
 *
 * MCP-SERVER-1. Nothing is read before token, host and origin have been checked.
 * MCP-SERVER-2. A call runs once, under an id of ours, whatever id the program gives it.
 * MCP-SERVER-3. A program that disconnects or cancels a call stops that call and no other.
 * MCP-SERVER-4. The number of concurrent calls is limited; a further call is refused and can be retried.
 *
 * There are no sessions: every request is independent, so a restarted program continues as before. Supports the
 * revision of 2026-07-28 and earlier ones.
 */
export function mcpHandler(
  tools: Tools,
  { token, name }: { token: string; name: string },
): (request: IncomingMessage, response: ServerResponse) => void {
  const running = new RunningCalls();
  const serve = toNodeHandler(
    createMcpHandler(({ requestInfo }) => serverOf(tools, name, running, sessionOf(requestInfo?.headers)), {
      maxRequestBodySize: MAX_BODY_BYTES,
    }),
    { maxRequestBodySize: MAX_BODY_BYTES },
  );
  const isLocal = localhostHostValidation();
  const isOwnOrigin = localhostOriginValidation();
  const isAllowed = bearerCheck(token);
  return (request, response) => {
    if (!isLocal(request, response) || !isOwnOrigin(request, response)) return;
    if (!isAllowed(request.headers.authorization)) {
      response.writeHead(401, { "www-authenticate": "Bearer", "content-type": "application/json" });
      response.end(JSON.stringify(refused("The bearer token is missing or wrong.")));
      return;
    }
    // Old clients begin without a word about the version. The name they are given tells their calls from those of
    // another client behind the same door; nothing is remembered under it.
    if (request.headers["mcp-protocol-version"] === undefined && request.headers["mcp-session-id"] === undefined)
      response.setHeader("mcp-session-id", randomUUID());
    // A request that came in by a server has both.
    serve(request as IncomingMessage & { method: string; url: string }, response).catch(() => response.destroy());
  };
}

function serverOf(tools: Tools, name: string, running: RunningCalls, session: string): Server {
  const server = new Server({ name, version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({ tools: tools.specs.map(described) }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }): Promise<CallToolResult> => {
    if (!tools.specs.some((spec) => spec.name === params.name))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${params.name}".`);
    const call = { type: "call" as const, id: `mcp_${randomUUID()}`, name: params.name, args: params.arguments ?? {} };
    if (running.isFull) return { content: [{ type: "text", text: TOO_MANY }], isError: true };
    const cancelled = running.begin(session, mcpReq.id);
    try {
      // The first is aborted when the client hangs up.
      const { content, ok } = await tools.run(call, AbortSignal.any([mcpReq.signal, cancelled.signal]));
      return { content: [{ type: "text", text: content }], ...(ok ? {} : { isError: true }) };
    } finally {
      running.end(session, mcpReq.id, cancelled);
    }
  });
  server.setNotificationHandler("notifications/cancelled", ({ params }) => {
    if (params.requestId !== undefined) running.cancel(session, params.requestId);
  });
  return server;
}

const TOO_MANY = `Not run: ${MAX_CALLS} of your calls are under way. Call again when some of them have ended.`;

type RequestId = string | number;

/** The calls under way, by whom and under which number they were asked for. */
class RunningCalls {
  readonly #calls = new Map<string, AbortController>();
  /** Two may have the same number. */
  #count = 0;

  get isFull(): boolean {
    return this.#count >= MAX_CALLS;
  }

  begin(session: string, id: RequestId): AbortController {
    const call = new AbortController();
    this.#count += 1;
    this.#calls.set(keyOf(session, id), call);
    return call;
  }

  end(session: string, id: RequestId, call: AbortController): void {
    const key = keyOf(session, id);
    this.#count -= 1;
    if (this.#calls.get(key) === call) this.#calls.delete(key);
  }

  cancel(session: string, id: RequestId): void {
    // Without a name it could be anybody's call.
    if (session !== "") this.#calls.get(keyOf(session, id))?.abort(new Error("The call was cancelled."));
  }
}

function keyOf(session: string, id: RequestId): string {
  return JSON.stringify([session, id]);
}

function sessionOf(headers: Headers | undefined): string {
  return headers?.get("mcp-session-id") ?? "";
}

function described({ name, description, parameters }: ToolSpec) {
  return {
    name,
    description,
    inputSchema: { ...parameters, type: "object" as const },
  };
}

/** In constant time, and whatever the length. */
function bearerCheck(token: string): (authorization: string | undefined) => boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const wanted = digest(token);
  return (authorization) => {
    const given = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    return given !== undefined && timingSafeEqual(digest(given), wanted);
  };
}

function refused(message: string) {
  return { jsonrpc: "2.0", error: { code: -32_000, message }, id: null };
}
