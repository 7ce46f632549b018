import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttp } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SIGNATURE_HEADER, signatureOf, TIMESTAMP_HEADER } from "../../src/mail/channels/signature.ts";
import { startProviderServer } from "../../src/testing/index.ts";
import { TOKEN } from "../../src/testing/start-server.ts";
import { ATTACKS } from "./egress-attacks.ts";
import { type Bystanders, Flooded, type Memory } from "./flooded.ts";

/**
 * Floods of every kind against one server. Others are answered meanwhile, nothing is kept for those who do not take it,
 * and the memory comes back. CI checks counts and prints the figures; `AGIRAPH_FLOOD` makes the floods longer (soak).
 */
const TIMES = Number(process.env.AGIRAPH_FLOOD ?? 1);
/** Together more than the kernel holds for a socket that nobody reads. */
const [FACTS, FACT_BYTES] = TIMES > 1 ? [100_000, 200] : [5_000, 4_000];
const READERS = TIMES > 1 ? 100 : 20;
const SECRET = "a secret of the house";
const MB = 1024 * 1024;

let house: Flooded;
let provider: Awaited<ReturnType<typeof startProviderServer>>;
let sse: Awaited<ReturnType<typeof floodingProvider>>;
beforeAll(async () => {
  provider = await startProviderServer({
    respond: () => ({ calls: [{ name: "finish", args: { summary: "Done." } }] }),
    forget: true,
  });
  sse = await floodingProvider();
  const place = (base_url: string) => ({ base_url, context_window: 1_000_000 });
  house = await Flooded.start(
    { facts: FACTS, bytes: FACT_BYTES },
    {
      providers: { local: place(provider.url), flood: place(sse.url) },
      channels: { pager: { type: "webhook", url: "http://127.0.0.1:9/", secret: SECRET } },
    },
  );
}, 120_000);
afterAll(async () => {
  await house[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
  sse.close();
});

test(`${READERS} readers that stall on ${FACTS} facts cost a bounded amount each, and nobody waits for them`, async () => {
  const before = await house.memory();
  let readers: Socket[] = [];
  const others = await house.during(async () => {
    readers = await Promise.all(Array.from({ length: READERS }, () => stalledReader()));
    await settled(readers.length);
  });
  const during = await house.memory();
  for (const reader of readers) reader.destroy();
  await expect.poll(async () => (await house.memory()).sockets).toBe(0);
  report("stalled readers", others, before, during, await house.memory());
  expect(during.sockets).toBe(READERS);
  expect(during.waiting).toBeLessThan(READERS * 2 * 256 * 1024);
  expect(others.notAnswered).toBe(0);
});

test("odd answers through the egress proxy, many at a time", async () => {
  await floodWith("egress answers", async () => {
    for (let round = 0; round < 2 * TIMES; round++)
      await inTurns(ATTACKS, 16, async ({ answer }) => {
        await using upstream = await upstreamThat(answer);
        await said(
          house.proxy,
          `GET http://127.0.0.1:${upstream.port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
        );
      });
  });
});

test("a provider that floods a reply", async () => {
  await floodWith("SSE from a provider", async () => {
    for (let agent = 0; agent < 2 * TIMES; agent++) {
      const made = await api("POST", "/agents", { goal: "Be flooded", model: "openai-compatible/flood/m" });
      const { id } = (await made.json()) as { id: string };
      await expect
        .poll(async () => ((await (await api("GET", `/agents/${id}`)).json()) as { status: string }).status, {
          timeout: 120_000,
        })
        .not.toBe("working");
    }
  });
});

test("clients that send a byte at a time, webhooks nobody signed, and bodies that are too large", async () => {
  await floodWith("slow clients", async () => {
    const slow = Array.from({ length: 200 * TIMES }, () => connect(house.port, "127.0.0.1").on("error", () => {}));
    await Promise.all(slow.map((socket) => once(socket, "connect")));
    for (const byte of "POST /agents HTTP/1.1\r\nX-Slow: xxxx") {
      for (const socket of slow) socket.write(byte);
      await new Promise(setImmediate);
    }
    for (const socket of slow) socket.destroy();
  });
  await floodWith("webhooks", () =>
    inTurns(Array.from({ length: 500 * TIMES }), 16, async (_, at) => {
      const body = Buffer.from(JSON.stringify({ agent_id: "agent-zzzzzzzz", message: `x${at}` }));
      const timestamp = String(Date.now() / 1000);
      const signature = at % 2 === 0 ? "v1=00" : signatureOf(SECRET, timestamp, body);
      const headers = {
        "content-type": "application/json",
        [TIMESTAMP_HEADER]: timestamp,
        [SIGNATURE_HEADER]: signature,
      };
      const answer = await fetch(`${house.url}/webhooks/pager`, { method: "POST", body, headers });
      expect([401, 404]).toContain(answer.status);
    }),
  );
  await floodWith("large bodies", () =>
    inTurns(Array.from({ length: 50 * TIMES }), 8, async () => {
      const head = `POST /agents HTTP/1.1\r\nHost: 127.0.0.1:${house.port}\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nConnection: close\r\n`;
      const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
      const heard = await said(house.port, `${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(32)}0\r\n\r\n`);
      if (heard !== "") expect(heard).toMatch(/^HTTP\/1\.1 413 /);
    }),
  );
});

async function floodWith(name: string, flood: () => Promise<unknown>): Promise<void> {
  const before = await house.memory();
  const others = await house.during(() => house.whileUp(flood()));
  report(name, others, before, await house.memory());
  expect(others.notAnswered).toBe(0);
}

function report(name: string, others: Bystanders, ...memory: Memory[]): void {
  const inMb = (what: "rss" | "used") => memory.map((at) => Math.round(at[what] / MB)).join(" → ");
  console.log(`${name}: others ${JSON.stringify(others)}, in use ${inMb("used")} MB, resident ${inMb("rss")} MB`);
}

/** A WebSocket whose owner never reads. */
async function stalledReader(): Promise<Socket> {
  const socket = connect(house.port, "127.0.0.1").on("error", () => {});
  const key = randomBytes(16).toString("base64");
  socket.write(
    `GET /agents/${house.agent}/events?after=0 HTTP/1.1\r\nHost: 127.0.0.1:${house.port}\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  );
  const [first] = await once(socket, "data");
  expect(String(first)).toMatch(/^HTTP\/1\.1 101 /);
  socket.pause();
  return socket;
}

/** Resolves when the server has given all of these what it is willing to: what waits no longer grows. */
async function settled(sockets: number): Promise<void> {
  let last = -1;
  for (let same = 0; same < 3; ) {
    const now = await house.memoryMeanwhile();
    same = now.sockets === sockets && now.waiting > 0 && now.waiting === last ? same + 1 : 0;
    last = now.waiting;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function floodingProvider(): Promise<{ url: string; close(): void }> {
  const words = JSON.stringify({ choices: [{ index: 0, delta: { content: "x " } }] });
  const server = createHttp(async (request, response) => {
    request.resume();
    response.on("error", () => {}).writeHead(200, { "content-type": "text/event-stream" });
    for (let sent = 0; sent < 20_000 && !response.destroyed; sent++)
      if (!response.write(`data: ${words}\n\n`)) await once(response, "drain").catch(() => {});
    response.end(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function upstreamThat(answer: (typeof ATTACKS)[number]["answer"]): Promise<{ port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.once("data", () => (typeof answer === "string" ? socket.end(answer, "latin1") : answer(socket)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

async function said(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  let heard = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    heard += heard.length < 10_000 ? text : "";
  });
  socket.write(bytes, "latin1");
  await once(socket, "close").catch(() => {});
  return heard;
}

async function inTurns<T>(items: readonly T[], atOnce: number, work: (item: T, at: number) => Promise<unknown>) {
  let next = 0;
  const take = async () => {
    for (let at = next++; at < items.length; at = next++) await work(items[at] as T, at);
  };
  await Promise.all(Array.from({ length: atOnce }, take));
}

function api(method: string, path: string, body?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  return fetch(`${house.url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
}
