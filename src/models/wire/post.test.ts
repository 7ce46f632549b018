import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { httpPost } from "./post.ts";

const never = new AbortController().signal;

async function serving(listener: RequestListener): Promise<{ url: string; server: Server } & AsyncDisposable> {
  const server = createServer(listener);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const close = async () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, server, [Symbol.asyncDispose]: close };
}

async function told(answer: Awaited<ReturnType<typeof httpPost>>): Promise<string> {
  const chunks: Uint8Array[] = [];
  await answer.read((bytes) => {
    chunks.push(bytes);
    return true;
  });
  return Buffer.concat(chunks).toString();
}

test("the body and the headers arrive as they are, and the answer comes with its status whatever it is", async () => {
  await using server = await serving(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    response.writeHead(418, { "x-said": "tea" });
    response.end(`${request.method} ${request.headers["x-key"]} ${Buffer.concat(chunks)}`);
  });
  const answer = await httpPost(server.url, { "x-key": "k" }, [Buffer.from("grö"), Buffer.from("ße")], never);
  expect([answer.status, answer.headers["x-said"], await told(answer)]).toEqual([418, "tea", "POST k größe"]);
});

test("who is named in the address is named in the request, unless a header says who asks", async () => {
  await using server = await serving((request, response) => response.end(request.headers.authorization));
  const url = server.url.replace("//", "//ann:pass%20word@");
  const basic = `Basic ${Buffer.from("ann:pass word").toString("base64")}`;
  const asked = async (headers: Record<string, string>) => told(await httpPost(url, headers, [], never));
  expect([await asked({}), await asked({ authorization: "Bearer key" })]).toEqual([basic, "Bearer key"]);
});

test("a connection that the server closed while it was idle is no failure", async () => {
  let requests = 0;
  await using server = await serving((request, response) => {
    requests += 1;
    // The second request on a kept connection is cut without an answer, as by a server that was just closing it.
    if (requests === 2) request.socket.resetAndDestroy();
    else response.end(`answer ${requests}`);
  });
  expect(await told(await httpPost(server.url, {}, [], never))).toBe("answer 1");
  expect(await told(await httpPost(server.url, {}, [], never))).toBe("answer 3");
});

test("a new connection that is reset is a failure, at once", async () => {
  let requests = 0;
  await using server = await serving((request) => {
    requests += 1;
    request.socket.resetAndDestroy();
  });
  await expect(httpPost(server.url, {}, [], never)).rejects.toThrow(/ECONNRESET|socket hang up/);
  expect(requests).toBe(1);
});

test("an answer that breaks off rejects; one that nobody wants any more ends", async () => {
  await using server = await serving((request, response) => {
    response.write("half");
    if (request.headers["x-do"] === "cut") setImmediate(() => request.socket.resetAndDestroy());
  });
  await expect(told(await httpPost(server.url, { "x-do": "cut" }, [], never))).rejects.toThrow();
  const endless = await httpPost(server.url, {}, [], never);
  await endless.read(() => false);
});

test("the signal ends it before the head and in the middle, with its reason in the middle", async () => {
  const arrived = Promise.withResolvers<void>();
  await using server = await serving((request, response) => {
    if (request.headers["x-do"] === "begin") response.write("half");
    else arrived.resolve();
  });
  const before = new AbortController();
  const waiting = httpPost(server.url, {}, [], before.signal);
  await arrived.promise;
  before.abort(new Error("stop"));
  await expect(waiting).rejects.toThrow();
  const midway = new AbortController();
  const answer = await httpPost(server.url, { "x-do": "begin" }, [], midway.signal);
  const reading = answer.read(() => {
    midway.abort(new Error("stop"));
    return true;
  });
  await expect(reading).rejects.toThrow("stop");
});
