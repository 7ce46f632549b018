import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { call, script } from "../testing/index.ts";
import { startServer, type TestServer, TOKEN } from "../testing/start-server.ts";
import { checkReach, isFromHere, ownUrl, pageOrigin, reachOf } from "./reach.ts";

/** Every route there is, with a body that is right, and an agent that is there. */
const ROUTES: readonly (readonly [method: string, path: string, body?: object])[] = [
  ["POST", "/agents", { goal: "Say hello" }],
  ["GET", "/agents"],
  ["GET", "/agents/ID"],
  ["POST", "/agents/ID/pause"],
  ["POST", "/agents/ID/stop"],
  ["POST", "/agents/ID/resume", {}],
  ["POST", "/agents/ID/send", { message: "hello" }],
  ["POST", "/agents/ID/nudge", { message: "hello" }],
  ["POST", "/agents/ID/respond", { response: "yes" }],
  ["POST", "/agents/ID/seen"],
  ["GET", "/agents/ID/questions"],
  ["GET", "/agents/ID/conversation"],
  ["GET", "/agents/ID/board"],
  ["GET", "/agents/ID/board/node-1"],
  ["GET", "/agents/ID/workers"],
  ["GET", "/agents/ID/workers/coordinator/conversation"],
  ["GET", "/agents/ID/workspace"],
  ["GET", "/agents/ID/workspace/GOAL.md"],
  ["GET", "/agents/ID/memory"],
  ["GET", "/agents/ID/memory/MEMORY.md"],
  ["POST", "/agents/ID/memory/search", { query: "hello" }],
  ["GET", "/agents/ID/triggers"],
  ["POST", "/agents/ID/triggers", { type: "delayed", config: { delay_seconds: 3600 }, action: "Look again" }],
  ["DELETE", "/agents/ID/triggers/trigger-1"],
  ["GET", "/agents/ID/events"],
  ["GET", "/inbox"],
  ["GET", "/models"],
  ["GET", "/openapi.json"],
  ["GET", "/metrics"],
  ["POST", "/login"],
  ["POST", "/agents/ID/restore"],
  ["DELETE", "/agents/ID"],
];

const GOOD = { authorization: `Bearer ${TOKEN}` };

/** What a stranger tries, and how it ends; the body is JSON unless it says otherwise. */
const ATTACKS: Readonly<Record<string, { headers: OutgoingHttpHeaders; status: number; bodies?: "form" | "huge" }>> = {
  "no token": { headers: {}, status: 401 },
  "wrong token": { headers: { authorization: `Bearer ${TOKEN}x` }, status: 401 },
  "token in the wrong scheme": { headers: { authorization: `Basic ${TOKEN}` }, status: 401 },
  "foreign Origin": { headers: { ...GOOD, origin: "https://evil.example" }, status: 403 },
  "Origin of another port": { headers: { ...GOOD, origin: "http://127.0.0.1:1" }, status: 403 },
  "Origin null": { headers: { ...GOOD, origin: "null" }, status: 403 },
  "foreign Host": { headers: { ...GOOD, host: "evil.example" }, status: 403 },
  "Host without the port": { headers: { ...GOOD, host: "127.0.0.1" }, status: 403 },
  "cross-site fetch": { headers: { ...GOOD, "sec-fetch-site": "cross-site" }, status: 403 },
  "same-site fetch": { headers: { ...GOOD, "sec-fetch-site": "same-site" }, status: 403 },
  "form body": { headers: GOOD, status: 415, bodies: "form" },
  "oversized body": { headers: GOOD, status: 413, bodies: "huge" },
};

test("every route refuses every stranger, changes nothing, and takes the owner's word", {
  timeout: 120_000,
}, async () => {
  await using house = await startServer({ coordinator: script(call("ask_human", { question: "Which?" })) });
  const { log } = await house.runtime.create({ goal: "Ask", model: "scripted/coordinator" });
  await house.until(log.id, ({ questions }) => "question-1" in questions.open);
  const before = log.seq;
  const wrong: string[] = [];
  for (const [method, path, body] of ROUTES) {
    for (const [attack, { headers, status, bodies }] of Object.entries(ATTACKS)) {
      if (bodies === "huge" && body === undefined) continue;
      // The limit on guesses has a test of its own.
      const answer = await ask(house, method, path.replace("ID", log.id), headers, bodyOf(body, bodies));
      const isRefused = answer.status === status || (status === 401 && answer.status === 429);
      if (!isRefused || !/^\{"error":\{"code":"/.test(answer.text) || hasCors(answer.headers))
        wrong.push(`${method} ${path}, ${attack}: ${answer.status} ${answer.text.slice(0, 80)}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(log.seq).toBe(before);

  const refused: string[] = [];
  for (const [method, path, body] of ROUTES) {
    if (path === "/agents/ID/memory/MEMORY.md" || path === "/agents/ID/board/node-1") continue;
    const answer = await ask(house, method, path.replace("ID", log.id), GOOD, bodyOf(body));
    if ([401, 403, 413, 415, 429].includes(answer.status)) refused.push(`${method} ${path}: ${answer.status}`);
  }
  expect(refused).toEqual([]);
});

test("no stranger hears what happens: WebSockets have the same guard", async () => {
  await using house = await startServer({ coordinator: script(call("ask_human", { question: "Which?" })) });
  const { log } = await house.runtime.create({ goal: "Ask", model: "scripted/coordinator" });
  await house.until(log.id, ({ questions }) => "question-1" in questions.open);
  const heard: unknown[] = [];
  for (const path of [`/agents/${log.id}/events`, "/events"]) {
    for (const [attack, { headers, status, bodies }] of Object.entries(ATTACKS)) {
      if (bodies) continue;
      const answer = await upgrade(house, path, headers);
      if (answer !== status) heard.push([path, attack, answer]);
    }
    const subprotocol = (token: string) => ({ "sec-websocket-protocol": `agiraph, bearer.${token}` });
    expect([
      await upgrade(house, path, GOOD),
      await upgrade(house, path, subprotocol(TOKEN)),
      await upgrade(house, path, subprotocol("wrong")),
      await upgrade(house, path, { ...subprotocol(TOKEN), origin: "https://evil.example" }),
    ]).toEqual([101, 101, 401, 403]);
  }
  expect(heard).toEqual([]);
});

test("the server is there for whoever asks, but not for strangers", async () => {
  await using house = await startServer({ coordinator: script() });
  const answers = {
    health: await ask(house, "GET", "/healthz", {}),
    healthForeign: await ask(house, "GET", "/healthz", { host: "evil.example" }),
    nowhere: await ask(house, "GET", "/nowhere", {}),
    nowhereOwner: await ask(house, "GET", "/nowhere", GOOD),
    preflight: await ask(house, "OPTIONS", "/agents", {
      origin: "https://evil.example",
      "access-control-request-method": "POST",
    }),
  };
  expect(Object.entries(answers).map(([which, { status, headers }]) => [which, status, hasCors(headers)])).toEqual([
    ["health", 200, false],
    ["healthForeign", 403, false],
    ["nowhere", 401, false],
    ["nowhereOwner", 404, false],
    ["preflight", 403, false],
  ]);
  expect(JSON.parse(answers.healthForeign.text)).toEqual({
    error: { code: "wrong_host", message: "Unknown Host header. Add the name to server.names in config.json." },
  });
});

test("who guesses tokens has to wait; who has the right one never", async () => {
  await using house = await startServer({ coordinator: script() });
  const guess = () => ask(house, "GET", "/agents", { authorization: "Bearer wrong" });
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++) statuses.push((await guess()).status);
  expect(statuses).toEqual([...Array(10).fill(401), 429, 429]);
  expect((await guess()).headers["retry-after"]).toMatch(/^\d+$/);
  expect((await ask(house, "GET", "/agents", GOOD)).status).toBe(200);
});

test("a link logs a browser in, once; its cookie is good for that origin alone", async () => {
  await using house = await startServer({ coordinator: script(call("ask_human", { question: "Which?" })) });
  const origin = `http://localhost:${house.port}`;
  const localhost = { host: `localhost:${house.port}` };
  const made = await ask(house, "POST", "/login", { ...GOOD, ...localhost });
  const { url } = JSON.parse(made.text) as { url: string };
  expect(url).toMatch(new RegExp(`^${origin}/login\\?once=[\\w-]{43}$`));
  const path = url.slice(origin.length);

  const entered = await ask(house, "GET", path, localhost);
  const [set = ""] = entered.headers["set-cookie"] ?? [];
  expect({ status: entered.status, location: entered.headers.location }).toEqual({ status: 303, location: "/" });
  expect(set).toMatch(/; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
  expect((await ask(house, "GET", path, localhost)).status).toBe(401);

  const cookie = set.split(";")[0] ?? "";
  const again = await ask(house, "GET", path, { ...localhost, cookie });
  expect([again.status, again.headers.location, again.headers["set-cookie"]]).toEqual([303, "/", undefined]);
  const { log } = await house.runtime.create({ goal: "Ask", model: "scripted/coordinator" });
  const socket = (headers: OutgoingHttpHeaders) =>
    upgrade(house, `/agents/${log.id}/events`, { ...localhost, cookie, ...headers });
  expect([
    await socket({ origin }),
    await socket({}),
    await socket({ origin: `http://127.0.0.1:${house.port}` }),
  ]).toEqual([101, 401, 401]);
  const forged = cookie.replace(/=\d/, "=9");
  const asks = {
    page: await ask(house, "GET", "/agents", { ...localhost, cookie }),
    change: await ask(house, "POST", "/login", { ...localhost, cookie, origin }),
    changeWithoutOrigin: await ask(house, "POST", "/login", { ...localhost, cookie }),
    changeFromElsewhere: await ask(house, "POST", "/login", { ...localhost, cookie, origin: "http://localhost:1" }),
    otherName: await ask(house, "GET", "/agents", { cookie }),
    forged: await ask(house, "GET", "/agents", { ...localhost, cookie: forged }),
    guessed: await ask(house, "GET", "/login?once=guess", localhost),
    guessedByBrowser: await ask(house, "GET", "/login?once=guess", { ...localhost, accept: "text/html" }),
    guessedWithForged: await ask(house, "GET", "/login?once=guess", { ...localhost, cookie: forged }),
    guessedAtOtherName: await ask(house, "GET", "/login?once=guess", { cookie }),
  };
  expect(Object.entries(asks).map(([which, { status }]) => [which, status])).toEqual([
    ["page", 200],
    ["change", 200],
    ["changeWithoutOrigin", 401],
    ["changeFromElsewhere", 403],
    ["otherName", 401],
    ["forged", 401],
    ["guessed", 401],
    // This server has no page to lead to.
    ["guessedByBrowser", 401],
    ["guessedWithForged", 401],
    ["guessedAtOtherName", 401],
  ]);
});

test("it leaves the machine only with TLS or behind the one proxy that is named", () => {
  const tls = { cert: "c.pem", key: "k.pem" };
  const proxy = { origin: "https://agents.example.org", address: "10.0.0.1" };
  expect(() => checkReach("0.0.0.0", {})).toThrow(/needs TLS, or a proxy/);
  expect(() => checkReach("192.168.1.5", { names: ["me.lan"] })).toThrow(/needs TLS, or a proxy/);
  for (const [host, config] of [
    ["127.0.0.1", {}],
    ["::1", {}],
    ["0.0.0.0", { tls }],
    ["10.0.0.2", { proxy }],
  ] as const)
    expect(() => checkReach(host, config)).not.toThrow();
  expect(reachOf({ address: "0.0.0.0", port: 443 }, { tls, names: ["agents.example.org"] })).toEqual({
    hosts: new Set([...LOCAL(443), "127.0.0.1", "localhost", "[::1]", "agents.example.org:443", "agents.example.org"]),
    origins: new Set(
      [...LOCAL(443), "127.0.0.1", "localhost", "[::1]", "agents.example.org:443", "agents.example.org"].map(
        (host) => `https://${host}`,
      ),
    ),
  });
  expect(reachOf({ address: "127.0.0.1", port: 4747 }, { proxy })).toEqual({
    hosts: new Set(["127.0.0.1:4747", "localhost:4747", "[::1]:4747", "agents.example.org"]),
    origins: new Set([
      "http://127.0.0.1:4747",
      "http://localhost:4747",
      "http://[::1]:4747",
      "https://agents.example.org",
    ]),
  });
});

test("only the proxy's own address may use the proxy's name", async () => {
  const named = { host: "agents.example.org", ...GOOD };
  const proxy = (address: string) => ({ server: { proxy: { origin: "https://agents.example.org", address } } });
  await using trusted = await startServer({ coordinator: script(), config: proxy("127.0.0.1") });
  expect((await ask(trusted, "GET", "/agents", named)).status).toBe(200);
  await using stranger = await startServer({ coordinator: script(), config: proxy("10.9.9.9") });
  expect((await ask(stranger, "GET", "/agents", named)).status).toBe(403);
});

test("from other machines and without TLS only the proxy is heard, by whatever name", async () => {
  const proxy = { origin: "https://agents.example.org", address: "10.0.0.1" };
  await using house = await startServer({ coordinator: script(), config: { server: { proxy } } });
  const heard = async (remoteAddress: string, host: string) =>
    (await house.app.inject({ url: "/agents", remoteAddress, headers: { ...GOOD, host } })).statusCode;
  const own = `127.0.0.1:${house.port}`;
  expect([await heard("10.0.0.3", own), await heard("10.0.0.1", own), await heard("127.0.0.1", own)]).toEqual([
    403, 200, 200,
  ]);
  const here = [
    { remoteAddress: "127.0.0.1", localAddress: "127.0.0.1" },
    { remoteAddress: "::ffff:127.0.0.9", localAddress: "::ffff:127.0.0.1" },
    { remoteAddress: "10.0.0.2", localAddress: "10.0.0.2" },
    { remoteAddress: "::1", localAddress: "::1" },
  ];
  const elsewhere = [
    { remoteAddress: "10.0.0.3", localAddress: "10.0.0.2" },
    { remoteAddress: "::127.0.0.1", localAddress: "10.0.0.2" },
    { localAddress: "10.0.0.2" },
  ] as { remoteAddress?: string; localAddress: string }[];
  expect([...here, ...elsewhere].map((socket) => isFromHere(socket as Parameters<typeof isFromHere>[0]))).toEqual([
    ...here.map(() => true),
    ...elsewhere.map(() => false),
  ]);
});

test("a proxy that says nothing of its scheme logs browsers in all the same, and its link leads to it", async () => {
  const server = { proxy: { origin: "https://agents.example.org", address: "127.0.0.1" } };
  await using house = await startServer({ coordinator: script(), config: { server } });
  const link = await ask(house, "POST", "/login", GOOD);
  const { url } = JSON.parse(link.text) as { url: string };
  expect(url).toMatch(/^https:\/\/agents\.example\.org\/login\?once=/);
  const host = "agents.example.org";
  const { pathname, search } = new URL(url);
  const login = await ask(house, "GET", `${pathname}${search}`, { host });
  const cookie = login.headers["set-cookie"]?.[0] ?? "";
  expect([login.status, cookie.endsWith("; Secure")]).toEqual([303, true]);
  const page = await ask(house, "GET", "/agents", { host, cookie: cookie.split(";")[0] });
  expect(page.status).toBe(200);
});

test("a server that listens everywhere is reached by the programs of its machine, and its link by its outside name", () => {
  const at = { address: "0.0.0.0", port: 4747 };
  const tls = { cert: "c.pem", key: "k.pem" };
  expect([ownUrl(at, {}), ownUrl({ ...at, address: "::" }, { tls }), ownUrl({ ...at, address: "::1" }, {})]).toEqual([
    "http://127.0.0.1:4747",
    "https://127.0.0.1:4747",
    "http://[::1]:4747",
  ]);
  expect(reachOf(at, { tls }).hosts).toEqual(new Set(LOCAL(4747)));
  expect([
    pageOrigin(at, { tls }),
    pageOrigin(at, { tls, names: ["agents.example.org"] }),
    pageOrigin({ ...at, port: 443 }, { tls, names: ["agents.example.org"] }),
    pageOrigin(at, { proxy: { origin: "https://agents.example.org", address: "10.0.0.1" } }),
  ]).toEqual([
    "https://127.0.0.1:4747",
    "https://agents.example.org:4747",
    "https://agents.example.org",
    "https://agents.example.org",
  ]);
});

test("the page needs no key and runs only its own scripts; nothing beside it is served", async () => {
  const webDir = await mkdtemp(join(tmpdir(), "agiraph-web-"));
  try {
    await writeFile(join(webDir, "index.html"), "<!doctype html>page");
    await writeFile(join(webDir, "secret.txt"), "secret");
    await mkdir(join(webDir, "assets"));
    for (const name of ["index-Bx3_k9Qa.js", "theme.js"]) await writeFile(join(webDir, "assets", name), "1;");
    await using house = await startServer({ coordinator: script(), webDir });
    const page = await ask(house, "GET", "/ui/agents/agent-1234", {});
    expect({ status: page.status, text: page.text, type: page.headers["content-type"] }).toEqual({
      status: 200,
      text: "<!doctype html>page",
      type: "text/html; charset=utf-8",
    });
    expect(page.headers["content-security-policy"]).toMatch(
      /script-src 'self'; style-src 'self';.*frame-ancestors 'none'/,
    );
    const kept = await Promise.all(
      ["/assets/index-Bx3_k9Qa.js", "/assets/theme.js", "/ui/"].map((path) => ask(house, "GET", path, {})),
    );
    expect(kept.map(({ status, headers }) => [status, headers["cache-control"]])).toEqual([
      [200, "public, max-age=31536000, immutable"],
      [200, "no-cache"],
      [200, "no-cache"],
    ]);
    const others = ["/assets/..%2fsecret.txt", "/assets/%2e%2e/secret.txt", "/assets/"].map((path) =>
      ask(house, "GET", path, {}),
    );
    for (const { status, text } of await Promise.all(others)) {
      expect([401, 404]).toContain(status);
      expect(text).not.toContain("secret");
    }
  } finally {
    await rm(webDir, { recursive: true });
  }
});

const LOCAL = (port: number) => ["127.0.0.1", "localhost", "[::1]"].map((host) => `${host}:${port}`);

interface Heard {
  status: number;
  headers: import("node:http").IncomingHttpHeaders;
  text: string;
}

/** By hand: `fetch` does not let anybody say who they are. */
test("a WebSocket that is refused is hung up on, so that the server can end", async () => {
  await using server = await startServer({ coordinator: script() });
  const refused = httpRequest({
    port: server.port,
    path: "/events",
    headers: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    },
  }).end();
  const [response] = (await once(refused, "response")) as [IncomingMessage];
  response.resume();
  await once(response.socket, "close");
  expect(response.statusCode).toBe(401);
});

function ask(
  house: TestServer,
  method: string,
  path: string,
  headers: OutgoingHttpHeaders,
  body?: Sent,
): Promise<Heard> {
  const { promise, resolve, reject } = Promise.withResolvers<Heard>();
  const all = {
    ...(body && { "content-type": body.type, "content-length": Buffer.byteLength(body.text) }),
    ...headers,
  };
  const sent = httpRequest(
    { host: "127.0.0.1", port: house.port, method, path, headers: all, agent: false },
    (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      response.on("error", reject);
    },
  );
  let isAnswered = false;
  sent.on("response", () => (isAnswered = true));
  // A server that has answered need not read the rest.
  sent.on("error", (error) => isAnswered || reject(error));
  sent.end(body?.text);
  return promise;
}

/** How the server answers to whoever wants a WebSocket. */
function upgrade(house: TestServer, path: string, headers: OutgoingHttpHeaders): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const wanted = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
  };
  const sent = httpRequest({
    host: "127.0.0.1",
    port: house.port,
    path,
    headers: { ...wanted, ...headers },
    agent: false,
  });
  sent.on("upgrade", (response, socket) => {
    socket.destroy();
    resolve(response.statusCode ?? 0);
  });
  sent.on("response", (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  sent.on("error", reject).end();
  return promise;
}

interface Sent {
  type: string;
  text: string;
}

function bodyOf(body: object | undefined, kind?: "form" | "huge"): Sent | undefined {
  if (kind === "form") return { type: "application/x-www-form-urlencoded", text: "goal=evil" };
  if (body === undefined) return undefined;
  const text = JSON.stringify(kind === "huge" ? { ...body, goal: "x".repeat(300_000) } : body);
  return { type: "application/json", text };
}

function hasCors(headers: object): boolean {
  return Object.keys(headers).some((name) => name.startsWith("access-control-"));
}
