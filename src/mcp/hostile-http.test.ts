import type { ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test, vi } from "vitest";
import { ANSWER_TIMES, boundedFetch } from "./bounded-fetch.ts";
import { McpServers } from "./mcp-servers.ts";
import { calmReconnection } from "./reconnection.ts";
import { type Asked, httpServer } from "./testing/http-server.ts";

const call = { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call" }) };
const notice = { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }) };
const events = Buffer.from(`data: ${"x".repeat(1_000)}\n\n`.repeat(12_000));

test.for([
  ["a failure", 500, "text/event-stream", call],
  ["an acceptance", 202, "text/event-stream", call],
  ["a type that only resembles it", 200, "text/event-streams", call],
  ["the answer to a notification", 200, "text/event-stream", notice],
] as const)(
  "a stream of events without an end is cut off where it is read as a whole: %s",
  async ([, status, type, init]) => {
    const { url } = await httpServer(({ response }) => {
      response.writeHead(status, { "content-type": type }).end(events);
      return true;
    });
    await expect((await boundedFetch(url, init)).text()).rejects.toThrow("more than 10 MiB");
  },
);

test("a compressed answer is bounded by what it becomes", async () => {
  const bomb = gzipSync(Buffer.alloc(20 * 2 ** 20, " "));
  const { url } = await httpServer(({ response }) => {
    response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end(bomb);
    return true;
  });
  expect(bomb.length).toBeLessThan(100_000);
  await expect((await boundedFetch(url, call)).text()).rejects.toThrow("more than 10 MiB");
});

test.for(["", " \n", "\ufeff"])("a batch of thousands of messages is refused, also after %j", async (before) => {
  const { url } = await httpServer(({ response }) => {
    const messages = Array.from({ length: 5_000 }, () => '{"jsonrpc":"2.0","method":"notifications/x"}');
    response.writeHead(200, { "content-type": "application/json" }).end(`${before}[${messages.join()}]`);
    return true;
  });
  await expect((await boundedFetch(url, call)).text()).rejects.toThrow("a batch of more than 64 KiB");
});

test("every answer ends in time, however it drips; only the standing stream does not", async () => {
  const standing: ServerResponse[] = [];
  let asked = Promise.withResolvers<void>();
  const { url } = await httpServer(({ method, request, response }) => {
    asked.resolve();
    if (request.url === "/silent") return true;
    const type = request.url === "/body" ? "application/json" : "text/event-stream";
    response.writeHead(200, { "content-type": type }).write(": \n\n");
    if (method === "GET") standing.push(response);
    return true;
  });
  const { callMs, bodyMs, noticeMs } = ANSWER_TIMES;
  // The network keeps its own time; only our limits wait for the test.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const at = (path: string) => new URL(path, url);
  const open = await boundedFetch(at("/mcp"));

  for (const [path, init, ms] of [
    ["/body", call, bodyMs],
    ["/stream", call, callMs],
    ["/silent", call, callMs],
    ["/silent", notice, noticeMs],
    ["/silent", {}, noticeMs],
  ] as const) {
    asked = Promise.withResolvers();
    const begun = boundedFetch(at(path), init);
    const whole = begun.then((response) => response.text()).then(() => "ended", String);
    await (path === "/silent" ? asked.promise : begun);
    vi.advanceTimersByTime(ms - 1);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1);
    expect(await whole).toContain(`did not finish its answer within ${ms / 1000} s`);
  }
  for (const response of standing) response.end("data: still here\n\n");
  expect(await open.text()).toContain("data: still here");
  expect(callMs).toBeGreaterThan(3_600_000);
});

test("a server that ends its stream at once, and names no delay or an endless one, is asked again a few times a minute", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  for (const delay of [0, -1, Number.NaN, 99_999_999_999]) {
    const schedule = calmReconnection();
    let times = 0;
    const reconnect = (): void => {
      times++;
      schedule(reconnect, delay);
    };
    schedule(reconnect, delay);
    await vi.advanceTimersByTimeAsync(delay > 0 ? 29_000 : 0);
    expect(times).toBe(delay > 0 ? 0 : 1);
    await vi.advanceTimersByTimeAsync(120_000);
    expect([times > 2, times < 12]).toEqual([true, true]);
    vi.clearAllTimers();
  }
});

const raw = (text: string) => (asked: Asked) => {
  asked.response.socket?.end(text);
};

test.for([
  [
    "redirects in a circle",
    ({ response }: Asked) => {
      response.writeHead(307, { location: "/mcp" }).end();
    },
    "not followed",
  ],
  [
    "chunks that are none",
    raw("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nZZZ\r\n"),
    "Invalid character",
  ],
  ["a header of a megabyte", raw(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(1e6)}`), "Headers Overflow"],
  ["something else than HTTP", raw("SSH-2.0-server\r\n"), "HTTP"],
  [
    "a reset within the answer",
    async ({ response }: Asked) => {
      response.writeHead(200, { "content-type": "application/json" }).write("{");
      await setImmediate();
      response.socket?.resetAndDestroy();
    },
    "outcome|Outcome",
  ],
] as const)("a call that is answered with %s is a result in words, and the next one works", async ([, attack, why]) => {
  let isHostile = true;
  const { url } = await httpServer((asked) => {
    if (asked.method !== "tools/call" || !isHostile) return false;
    void attack(asked);
    return true;
  });
  const servers = new McpServers({ web: { url } }, { env: {}, now: () => performance.now() });
  onTestFinished(() => servers.close());
  const { tools } = await servers.open(() => true);
  const look = () => tools()[0]?.run({}, new AbortController().signal);
  expect(await look()).toMatchObject({ ok: false, content: expect.stringMatching(why) });
  isHostile = false;
  expect(await look()).toMatchObject({ ok: true, content: expect.stringContaining("\nseen\n") });
});
