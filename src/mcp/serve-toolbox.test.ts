import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { CallPart } from "../protocol/index.ts";
import { defineTool, refusal } from "../tools/tool.ts";
import { Toolbox } from "../tools/toolbox.ts";
import { mcpHandler } from "./serve-toolbox.ts";

const shape = { repeatable: true, parameters: z.object({}) };

test.each([
  ["legacy", "2025-11-25"],
  ["auto", "2026-07-28"],
] as const)("a %s client lists the tools and calls them, in the revision %s", async (mode, version) => {
  const calls: CallPart[] = [];
  const door = await openDoor([
    defineTool({
      ...shape,
      name: "add",
      description: "Adds two numbers.",
      parameters: z.object({ a: z.number(), b: z.number() }),
      async run({ a, b }, _signal, call) {
        if (call) calls.push(call);
        return String(a + b);
      },
    }),
    defineTool({ ...shape, name: "refuse", description: "Refuses.", run: async () => refusal("Not today.") }),
  ]);
  const client = await connect(door, mode);
  expect(client.getNegotiatedProtocolVersion()).toBe(version);
  const { tools } = await client.listTools();
  expect(tools).toEqual([
    {
      name: "add",
      description: "Adds two numbers.",
      inputSchema: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
      },
    },
    { name: "refuse", description: "Refuses.", inputSchema: { type: "object", properties: {} } },
  ]);
  const results = [
    await client.callTool({ name: "add", arguments: { a: 2, b: 3 } }),
    await client.callTool({ name: "add", arguments: { a: 2, b: 3 } }),
    await client.callTool({ name: "refuse" }),
    await client.callTool({ name: "add", arguments: { a: "two" } }),
  ];
  expect(results.map(({ content, isError = false }) => [content, isError])).toEqual([
    [[{ type: "text", text: "5" }], false],
    [[{ type: "text", text: "5" }], false],
    [[{ type: "text", text: "Not today." }], true],
    [[{ type: "text", text: expect.stringContaining("add did not run, its arguments were wrong") }], true],
  ]);
  await expect(client.callTool({ name: "gone" })).rejects.toThrow('There is no tool "gone".');
  expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
});

test.each(["legacy", "auto"] as const)(
  "MCP-SERVER-3. what a %s client cancels is stopped, and no other call",
  async (mode) => {
    const door = await openDoor([waiting.tool]);
    const [mine, other] = [await connect(door, mode), await connect(door, mode)];
    const begun = waiting.expect(2);
    const stop = new AbortController();
    const cancelled = mine.callTool({ name: "wait" }, { signal: stop.signal });
    const kept = other.callTool({ name: "wait" });
    const [first, second] = await begun;
    // Either may have come first.
    stop.abort("enough");
    await expect(cancelled).rejects.toThrow();
    const stopped = await Promise.race([first, second].map((call) => call?.stopped.then(() => call)));
    const going = stopped === first ? second : first;
    expect(going?.signal.aborted).toBe(false);
    going?.finish("done");
    expect((await kept).content).toEqual([{ type: "text", text: "done" }]);
  },
);

test("MCP-SERVER-3. who hangs up stops their call; a word without a name does not", async () => {
  const door = await openDoor([waiting.tool]);
  const begun = waiting.expect(1);
  const stop = new AbortController();
  const answer = fetch(door.url, {
    ...post(door, { method: "tools/call", params: { name: "wait" } }),
    signal: stop.signal,
  });
  const [call] = await begun;
  const nameless = { method: "notifications/cancelled", params: { requestId: 1 }, id: undefined };
  expect((await fetch(door.url, post(door, nameless))).status).toBe(202);
  expect(call?.signal.aborted).toBe(false);
  stop.abort();
  await expect(answer.then((response) => response.text())).rejects.toThrow();
  await call?.stopped;
});

test("MCP-SERVER-1. without the token, from another host or origin, or with too much to say, nobody gets in", async () => {
  const door = await openDoor([]);
  const list = post(door, { method: "tools/list" });
  const status = async (change: Record<string, string | undefined>, body = list.body) => {
    const headers = Object.entries({ ...list.headers, ...change }).filter(([, value]) => value !== undefined);
    const request = httpRequest(door.url, { method: "POST", headers: Object.fromEntries(headers) });
    request.on("error", () => {}); // a body that nobody reads to its end
    request.end(body);
    const [response] = await once(request, "response");
    response.resume();
    return response.statusCode;
  };
  expect({
    right: await status({}),
    noToken: await status({ authorization: undefined }),
    wrong: await status({ authorization: "Bearer no" }),
    shorter: await status({ authorization: `Bearer ${door.token.slice(0, -1)}` }),
    longer: await status({ authorization: `Bearer ${door.token}x` }),
    basic: await status({ authorization: `Basic ${door.token}` }),
    host: await status({ host: "evil.example" }),
    origin: await status({ origin: "https://evil.example" }),
    big: await status({}, `"${"x".repeat(5 * 1024 ** 2)}"`),
    notJson: await status({}, "{"),
  }).toEqual({
    right: 200,
    noToken: 401,
    wrong: 401,
    shorter: 401,
    longer: 401,
    basic: 401,
    host: 403,
    origin: 403,
    big: 413,
    notJson: 400,
  });
});

interface Door {
  url: string;
  token: string;
}

test("of a hundred calls at once sixty-four run, and the others are told to come again", async () => {
  const door = await openDoor([waiting.tool]);
  const client = await connect(door, "legacy");
  const begun = waiting.expect(64);
  let refused = 0;
  const { promise: areRefused, resolve } = Promise.withResolvers<void>();
  const calls = Array.from({ length: 100 }, async () => {
    const result = await client.callTool({ name: "wait", arguments: {} });
    if (result.isError && ++refused === 36) resolve();
  });
  const running = await begun;
  await areRefused;
  expect(running.length).toBe(64);
  for (const { finish } of running) finish("done");
  await Promise.all(calls);
  expect(refused).toBe(36);
});

async function openDoor(tools: ConstructorParameters<typeof Toolbox>[0]): Promise<Door> {
  const token = "a-token-of-some-length";
  const server = createServer(mcpHandler(new Toolbox(tools), { token, name: "agiraph" }));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, token };
}

async function connect({ url, token }: Door, mode: "legacy" | "auto"): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  onTestFinished(() => client.close());
  return client;
}

function post({ token }: Door, message: object) {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2025-06-18",
  };
  return { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }) };
}

interface WaitingCall {
  signal: AbortSignal;
  stopped: Promise<void>;
  finish(words: string): void;
}

/** A tool that runs until it is told to finish, or stopped. */
const waiting = (() => {
  let calls: WaitingCall[] = [];
  let heard = () => {};
  return {
    tool: defineTool({
      ...shape,
      name: "wait",
      description: "Waits.",
      run(_args, signal) {
        const { promise, resolve, reject } = Promise.withResolvers<string>();
        const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
        signal.addEventListener("abort", () => {
          stop();
          reject(signal.reason);
        });
        calls.push({ signal, stopped, finish: resolve });
        heard();
        return promise;
      },
    }),
    /** Resolves with the calls that have begun, once there are so many. */
    expect(count: number): Promise<WaitingCall[]> {
      calls = [];
      const { promise, resolve } = Promise.withResolvers<WaitingCall[]>();
      heard = () => calls.length >= count && resolve(calls);
      return promise;
    },
  };
})();
