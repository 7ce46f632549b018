import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inSandbox, skipped } from "../../../test/try-sandbox.ts";
import { egressProxy } from "./egress.ts";

let server: Server;
let port: number;
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => response.end(`${request.method} ${request.url} ${request.headers.host} ${body}`));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  port = typeof address === "object" && address ? address.port : 0;
});
afterAll(() => server.close());

/** Speaks to the proxy with nothing but bash, and says what it answered. */
const ask = (lines: string, then = "") =>
  `exec 9<>/dev/tcp/127.0.0.1/3128; printf '${lines}\\r\\n\\r\\n${then}' >&9; cat <&9`;

describe.skipIf(skipped)(`the way out ${skipped}`, () => {
  test("leads to a listed host, by plain HTTP and by CONNECT", async () => {
    const { run } = await inSandbox();
    const network = { allow: [`127.0.0.1:${port}`] };
    const plain = await run(ask(`GET http://127.0.0.1:${port}/a?b HTTP/1.1\\r\\nHost: other\\r\\nConnection: close`), {
      network,
    });
    expect(plain.output).toMatch(new RegExp(`^HTTP/1.1 200 OK.*GET /a\\?b 127.0.0.1:${port} `, "s"));
    const tunnel = await run(
      ask(`CONNECT 127.0.0.1:${port} HTTP/1.1`, "GET /c HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n"),
      { network },
    );
    expect(tunnel.output).toMatch(/^HTTP\/1.1 200 Connection established.*GET \/c h /s);
  });

  test.skipIf(!existsSync("/usr/bin/python3"))("is taken by programs that know proxies (needs python3)", async () => {
    const { run } = await inSandbox();
    const program = `import urllib.request as u; print(u.urlopen("http://localhost:${port}/py", data=b"body").read().decode())`;
    const { output } = await run(`/usr/bin/python3 -c '${program}'`, { network: { allow: ["localhost"] } });
    expect(output).toBe(`POST /py localhost:${port} body\n`);
  });

  test("leads nowhere else, and says so", async () => {
    const { run } = await inSandbox();
    const network = { allow: ["example.com:443"] };
    const { output } = await run(
      `${ask(`GET http://127.0.0.1:${port}/ HTTP/1.1\\r\\nHost: h\\r\\nConnection: close`)}; ${ask("CONNECT example.com:22 HTTP/1.1")}`,
      { network },
    );
    expect(output).toContain(
      `agiraph: 127.0.0.1:${port} is not on the list of hosts that this sandbox may reach: example.com:443.`,
    );
    expect(output).toContain("agiraph: example.com:22 is not on the list");
    expect(output).not.toContain("200");
    const direct = await run(`exec 9<>/dev/tcp/127.0.0.1/${port}`, { network });
    expect(direct.output).toContain("Connection refused");
  });

  test("does not lead to a private address under a listed name, whatever the name server says", async () => {
    const { run } = await inSandbox({ lookup: async () => [{ address: "127.0.0.1", family: 4 }] });
    const request = ask(`GET http://inside.test:${port}/ HTTP/1.1\\r\\nHost: h\\r\\nConnection: close`);
    for (const allow of [["inside.test"], ["*.test"], ["*"]]) {
      expect((await run(request, { network: { allow } })).output).toMatch(/403 Forbidden.*not a public address/s);
    }
    const both = await run(request, { network: { allow: ["inside.test", "127.0.0.1"] } });
    expect(both.output).toMatch(/200 OK.*GET \/ inside.test/s);
  });

  test("is closed behind the command, with whatever still went through it", async () => {
    const egress = egressProxy({ allow: [`127.0.0.1:${port}`] });
    const closed = once(await egress.dial("127.0.0.1", port), "close");
    egress.close();
    await closed;
  });
});

describe("connections of the proxy", () => {
  test("are bounded, also those that are still being made", async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<{ address: string; family: number }[]>();
    const egress = egressProxy({ allow: ["slow.test"] }, () => answered);
    const waiting = Array.from({ length: 256 }, () => egress.dial("slow.test", 1));
    await expect(egress.dial("slow.test", 1)).rejects.toThrow("256 connections open, the most that it may have");
    answer([{ address: "127.0.0.1", family: 4 }]);
    const ends = await Promise.allSettled(waiting);
    expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(256);
    await expect(egress.dial("slow.test", 1)).rejects.toThrow("not a public address");
  });

  test("end when the client left while they were made", async () => {
    const far = createServer();
    far.listen(0, "127.0.0.1");
    await once(far, "listening");
    const at = `slow.test:${(far.address() as AddressInfo).port}`;
    const asked = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    const egress = egressProxy({ allow: ["slow.test", "127.0.0.1"] }, async () => {
      asked.resolve();
      await left.promise;
      return [{ address: "127.0.0.1", family: 4 }];
    });
    egress.server.listen(0, "127.0.0.1");
    const [[client]] = await Promise.all([
      once(egress.server, "connection"),
      once(egress.server, "listening").then(() => {
        const socket = connect((egress.server.address() as AddressInfo).port, "127.0.0.1");
        socket.write(`GET http://${at}/ HTTP/1.1\r\nHost: h\r\n\r\n`);
        asked.promise.then(() => socket.destroy());
      }),
    ]);
    await once(client, "close");
    const dialed = once(far, "connection");
    left.resolve();
    const [socket] = await dialed;
    await once(socket.resume(), "close");
    far.close();
    egress.server.close();
  });
});
