import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, test } from "vitest";
import { httpPost } from "./post.ts";

const never = new AbortController().signal;

test("POST-2. when every kept connection was closed meanwhile, the request goes out on a new one", async () => {
  const sockets = new Set<Socket>();
  const both = Promise.withResolvers<void>();
  await using server = await serving(async (request, response) => {
    if (sockets.has(request.socket)) return void request.socket.resetAndDestroy();
    sockets.add(request.socket);
    if (sockets.size === 2) both.resolve();
    await both.promise;
    response.end("answer");
  });
  const ask = async () => {
    const answer = await httpPost(server.url, {}, [], never);
    await answer.read(() => true);
  };
  await Promise.all([ask(), ask()]);
  await ask();
  expect(sockets.size).toBe(3);
});

test("an answer that nobody wants any more ends with its connection", async () => {
  const closed = Promise.withResolvers<void>();
  await using server = await serving((request, response) => {
    request.socket.on("close", () => closed.resolve());
    response.write("half");
  });
  const answer = await httpPost(server.url, {}, [], never);
  await answer.read(() => false);
  await closed.promise;
});

test.each([
  ["was stopped", "stop"],
  ["was cut off", "aborted"],
])("POST-3. an answer that %s before it was read does not keep its reader waiting", async (how, words) => {
  const begun = Promise.withResolvers<Socket>();
  const closed = Promise.withResolvers<void>();
  await using server = await serving((request, response) => {
    request.socket.once("close", () => closed.resolve());
    response.write("half");
    begun.resolve(request.socket);
  });
  const stop = new AbortController();
  const answer = await httpPost(server.url, {}, [], stop.signal);
  if (how === "was stopped") stop.abort(new Error("stop"));
  else (await begun.promise).resetAndDestroy();
  await closed.promise;
  // Our end has heard of it too: whoever asks anew gets an answer.
  await (await httpPost(server.url, {}, [], never)).read(() => false);
  await expect(answer.read(() => true)).rejects.toThrow(words);
});

test("a header that comes more than once is heard whole", async () => {
  await using server = await serving((_, response) => {
    response.setHeader("set-cookie", ["a=1", "b=2"]);
    response.end();
  });
  const answer = await httpPost(server.url, {}, [], never);
  await answer.read(() => true);
  expect(answer.headers["set-cookie"]).toBe("a=1, b=2");
});

async function serving(listener: RequestListener): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer(listener);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const close = async () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, [Symbol.asyncDispose]: close };
}
