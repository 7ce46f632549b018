import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { expect, test } from "vitest";
import { temporaryHome } from "../testing/index.ts";
import { startServer, type TestServer, TOKEN } from "../testing/start-server.ts";
import { checkReach } from "./reach.ts";
import { CERTIFICATE, CERTIFICATE_KEY } from "./testing/certificate.ts";

/** Requests as bytes, since a client library would not send them. */
const BEARER = `Authorization: Bearer ${TOKEN}`;

test("a header that decides something is given once: a second one is refused before any route sees it", async () => {
  await using house = await startServer({});
  const own = `127.0.0.1:${house.port}`;
  const get = (...lines: string[]) => status(plain(house), ["GET /agents HTTP/1.1", ...lines, "Connection: close"]);
  expect(await get(`Host: ${own}`, BEARER)).toBe(200);
  const doubled = [
    [`Host: ${own}`, "Host: evil.test", BEARER],
    ["Host: evil.test", `Host: ${own}`, BEARER],
    [`Host: ${own}`, `host: ${own}`, BEARER],
    [`Host: ${own}`, BEARER, "Authorization: Bearer wrong"],
    [`Host: ${own}`, BEARER, `Origin: http://${own}`, "Origin: http://evil.test"],
    [`Host: ${own}`, BEARER, "Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"],
    [`Host: ${own}`, BEARER, "Content-Length: 0", "Content-Length: 5"],
    [`Host: ${own}`, BEARER, "Content-Length: 0", "Content-Length: 0"],
    [`Host: ${own}`, BEARER, "Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
    [`Host: ${own}`, BEARER, "Transfer-Encoding: chunked", "Content-Length: 5"],
    [`Host: ${own}`, BEARER, "Content-Type: application/json", "Content-Type: text/plain"],
  ];
  for (const lines of doubled) expect([lines, await get(...lines)]).toEqual([lines, 400]);
});

test("the name in the address line does not stand in for the Host header", async () => {
  await using house = await startServer({});
  const own = `127.0.0.1:${house.port}`;
  const ask = (target: string, host: string) =>
    status(plain(house), [`GET ${target} HTTP/1.1`, `Host: ${host}`, BEARER, "Connection: close"]);
  expect(await ask(`http://${own}/agents`, "evil.test")).toBe(400);
  expect(await ask("http://evil.test/agents", own)).toBe(400);
  expect(await ask("//evil.test/agents", own)).toBe(404);
  expect(await status(plain(house), ["GET /agents HTTP/1.1", BEARER, "Connection: close"])).toBe(400);
  expect(await status(plain(house), ["GET /agents HTTP/1.0", BEARER])).toBe(403);
});

const hasIpv6 = Object.values(networkInterfaces()).some((at) => at?.some(({ address }) => address === "::1"));

test.skipIf(!hasIpv6)("a server on ::1 is called by its own names only, however the address is written", async () => {
  await using house = await startServer({ host: "::1" });
  const { port } = house;
  const called = (host: string) =>
    status(connect(port, "::1"), ["GET /agents HTTP/1.1", `Host: ${host}`, BEARER, "Connection: close"]);
  for (const host of [`[::1]:${port}`, `localhost:${port}`, `127.0.0.1:${port}`, `LOCALHOST:${port}`])
    expect([host, await called(host)]).toEqual([host, 200]);
  const others = ["[::1]", "::1", `::1:${port}`, `[::1%25lo]:${port}`, `[::1%lo]:${port}`, `[fe80::1%25lo]:${port}`];
  const written = [`[0:0:0:0:0:0:0:1]:${port}`, `[::ffff:127.0.0.1]:${port}`, `[::]:${port}`, `[::1]:${port + 1}`];
  for (const host of [...others, ...written, `0:${port}`, `[::1]:${port}@evil.test`, `evil.test:${port}`])
    expect([host, await called(host)]).toEqual([host, 403]);
});

test("an address of another machine is refused without TLS or a proxy, however it is written", () => {
  const outside = [
    "::",
    "0.0.0.0",
    "0",
    "",
    "::ffff:0.0.0.0",
    "fe80::1%eth0",
    "::1%lo",
    "[::1]",
    "*",
    "127.1",
    "LOCALHOST",
  ];
  for (const host of outside) expect(() => checkReach(host, {}), host).toThrow(/needs TLS, or a proxy/);
});

test("a server with TLS has the same guard, answers nothing in the clear, and outlives broken handshakes", async () => {
  await using home = await temporaryHome();
  await writeFile(join(home.path, "cert.pem"), CERTIFICATE);
  await writeFile(join(home.path, "key.pem"), CERTIFICATE_KEY);
  const tls = { cert: "cert.pem", key: "key.pem" };
  await using house = await startServer({
    home: home.path,
    config: { server: { tls, names: ["agents.example.org"] } },
  });
  const { port } = house;
  const secure = () => connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false });
  const called = (host: string, ...lines: string[]) =>
    status(secure(), ["GET /agents HTTP/1.1", `Host: ${host}`, BEARER, ...lines, "Connection: close"]);
  expect(await called(`127.0.0.1:${port}`)).toBe(200);
  expect(await called(`agents.example.org:${port}`)).toBe(200);
  expect(await called(`agents.example.org:${port}`, `Origin: https://agents.example.org:${port}`)).toBe(200);
  expect(await called(`agents.example.org:${port}`, `Origin: http://agents.example.org:${port}`)).toBe(403);
  expect(await called("agents.example.org")).toBe(403);
  expect(await called(`127.0.0.1:${port}`, `Host: 127.0.0.1:${port}`)).toBe(400);
  const openly = ["GET /healthz HTTP/1.1", `Host: 127.0.0.1:${port}`, "Connection: close"];
  expect(await status(plain(house), openly)).toBeUndefined();
  for (const bytes of ["\u0016\u0003\u0001", "\u0016\u0003\u0001\u00ff\u00ff", "\u0000".repeat(1000), "SSH-2.0-x\r\n"])
    await heardAfter(plain(house), bytes);
  expect(await called(`127.0.0.1:${port}`)).toBe(200);
});

function plain({ port }: TestServer): Socket {
  return connect(port, "127.0.0.1");
}

async function status(socket: Socket, lines: readonly string[]): Promise<number | undefined> {
  const heard = await heardAfter(socket, `${lines.join("\r\n")}\r\n\r\n`);
  const found = /^HTTP\/1\.1 (\d+)/.exec(heard)?.[1];
  return found === undefined ? undefined : Number(found);
}

async function heardAfter(socket: Socket, bytes: string): Promise<string> {
  let heard = "";
  socket.on("error", () => {}).setEncoding("latin1");
  socket.on("data", (text: string) => {
    heard += text;
  });
  socket.end(bytes, "latin1");
  await once(socket, "close");
  return heard;
}
