import { createServer, type IncomingMessage } from "node:http";

export interface TestDoor extends AsyncDisposable {
  url: string;
  token: string;
  /** Calls of its one tool, `publish`, in order. */
  readonly calls: unknown[];
}

/** A door with one tool behind it: the smallest MCP server over HTTP that real agents take for one. */
export async function openDoor(): Promise<TestDoor> {
  const calls: unknown[] = [];
  const token = "the-token-of-this-worker";
  const server = createServer(async (request, response) => {
    if (request.headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end();
    if (request.method !== "POST") return response.writeHead(405).end();
    const { id, method, params } = JSON.parse(await bodyOf(request));
    if (id === undefined) return response.writeHead(202).end();
    const result = answerTo(method, params, calls);
    const body = result
      ? { jsonrpc: "2.0", id, result }
      : { jsonrpc: "2.0", id, error: { code: -32_601, message: method } };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    token,
    calls,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answerTo(method: string, params: { protocolVersion?: string; arguments?: unknown }, calls: unknown[]) {
  if (method === "initialize") {
    const { protocolVersion } = params;
    return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "agiraph", version: "1" } };
  }
  if (method === "tools/list") return { tools: [PUBLISH] };
  if (method === "ping") return {};
  if (method !== "tools/call") return undefined;
  calls.push(params.arguments);
  return { content: [{ type: "text", text: "Published." }] };
}

const PUBLISH = {
  name: "publish",
  description: "Finalise your work on this node.",
  inputSchema: { type: "object", properties: { summary: { type: "string" } }, required: ["summary"] },
};

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
