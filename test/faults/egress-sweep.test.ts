import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ATTACKS, type Attack, REQUESTS } from "./egress-attacks.ts";

/** Whatever comes through the egress proxy, the server in the same process goes on. */
let child: ChildProcess;
let url = "";
let proxy = 0;

beforeAll(async () => {
  child = fork(join(import.meta.dirname, "egress-child.ts"), { stdio: ["ignore", "ignore", "pipe", "ipc"] });
  child.stderr?.on("data", (chunk: Buffer) => complaints.push(String(chunk)));
  const over = once(child, "close").then(() => Promise.reject(new Error(`The server ended: ${complaints.join("")}`)));
  over.catch(() => {});
  whileUp = (work) => Promise.race([work, over]);
  const [ready] = await whileUp(once(child, "message"));
  ({ url, proxy } = ready as { url: string; proxy: number });
});
afterAll(() => {
  child.disconnect();
});
const complaints: string[] = [];
/** The same promise, or the reason why the server ended meanwhile. */
let whileUp: <T>(work: Promise<T>) => Promise<T>;

async function upstreamThat(answers: Attack["answer"]): Promise<{ at: string } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.once("data", () => {
      if (typeof answers === "string") socket.end(answers, "latin1");
      else answers(socket);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    at: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** All that the proxy says until it closes the connection; `half` closes our side first. */
async function say(bytes: string, half: boolean): Promise<string> {
  const socket = connect({ port: proxy, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => {});
  let heard = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    heard += heard.length < 100_000 ? text : "";
  });
  socket.on("end", () => socket.end());
  if (half) socket.end(bytes, "latin1");
  else socket.write(bytes, "latin1");
  await whileUp(once(socket, "close"));
  return heard;
}

const healthy = async () => expect((await whileUp(fetch(`${url}/healthz`))).status).toBe(200);

test(`${ATTACKS.length} odd answers through the egress proxy: the client gets an end, and the server goes on`, async () => {
  const passed: string[] = [];
  for (const { name, answer } of ATTACKS) {
    await using upstream = await upstreamThat(answer);
    const during = say(`GET http://${upstream.at}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, false);
    const [heard] = await Promise.all([during, healthy()]);
    await healthy();
    // Whatever gets through is a well-formed answer of ours.
    if (heard !== "") expect(heard, name).toMatch(/^HTTP\/1\.1 [2-5]\d\d /);
    if (heard.startsWith("HTTP/1.1 2")) passed.push(name);
  }
  console.log(`${ATTACKS.length} answers, ${passed.length} passed on, the server ended 0 times`);
  expect(ATTACKS.length).toBeGreaterThan(100);
  expect(passed).toContain("100, then 200");
  expect(passed).not.toContain('status "001"');
});

test(`${REQUESTS.length} odd requests to the egress proxy: the server goes on`, async () => {
  await using upstream = await upstreamThat("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
  for (const { name, bytes } of REQUESTS) {
    const heard = await say(bytes.replaceAll("AT", upstream.at), true);
    await healthy();
    if (heard !== "") expect(heard, name).toMatch(/^HTTP\/1\.1 [1-5]\d\d /);
  }
});
