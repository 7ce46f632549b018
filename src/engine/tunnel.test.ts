import { createHash, randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../runtime/config/system-clock.ts";
import { Database } from "./database.ts";
import { engineAddress } from "./engine-address.ts";
import { Host } from "./host.ts";
import { HostNotices } from "./host-notices.ts";
import { migrate } from "./migrations.ts";
import { Postgres, withoutPostgres } from "./testing/postgres.ts";
import { type CarriedReply, type CarriedRequest, Tunnel, TunnelError } from "./tunnel.ts";

const ASKED: CarriedRequest = { method: "GET", url: "/agents", headers: {}, body: Buffer.from("{}") };

async function* pieces(...all: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* all;
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const part of body) all.push(part);
  return Buffer.concat(all).toString();
}

describe.skipIf(withoutPostgres)(`requests between hosts ${withoutPostgres}`, () => {
  let postgres: Postgres;
  let schemas = 0;
  beforeAll(async () => {
    postgres = await Postgres.start();
  });
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]();
  });

  async function joined(schema: string) {
    const database = new Database(engineAddress(postgres.url(), schema));
    await migrate(database);
    const { sleep } = systemClock;
    const ports = { newId: randomUUID, elapsed: () => performance.now() };
    const host = new Host({ database, name: "a host", sleep, ...ports });
    await host.join(() => {});
    const { signal } = host;
    const notices = new HostNotices({ database, signal, sleep });
    const listening = notices.listen();
    const tunnel = new Tunnel({ database, notices, host: host.id, signal, ...ports });
    return {
      ...{ host, database, tunnel },
      async [Symbol.asyncDispose]() {
        await host.leave();
        await listening;
        await database.close();
      },
    };
  }

  test("TUNNEL-3: a large answer arrives whole, and only a few parts of it wait in the engine", async () => {
    const schema = `tunnel_${++schemas}`;
    await using one = await joined(schema);
    await using two = await joined(schema);
    const body = randomBytes(14 * 1024 * 1024 + 5);
    let given: CarriedRequest | undefined;
    void two.tunnel.serve(async (request) => {
      given = request;
      return { status: 206, headers: { etag: "x" }, body: pieces(body.subarray(0, 100), body.subarray(100)) };
    });
    const answer = await one.tunnel.ask(two.host.id, { ...ASKED, actor: { kind: "human", via: "channel:mail" } });
    expect([answer.status, answer.headers]).toEqual([206, { etag: "x" }]);
    expect(given).toEqual({ ...ASKED, actor: { kind: "human", via: "channel:mail" } });
    const sum = createHash("sha256");
    let most = 0;
    for await (const part of answer.body) {
      sum.update(part);
      const [row] = await one.database.query<{ count: number }>("select count(*)::int as count from replies");
      most = Math.max(most, row?.count ?? 0);
    }
    expect(sum.digest("hex")).toBe(createHash("sha256").update(body).digest("hex"));
    expect(most).toBeLessThanOrEqual(9);
    expect(await one.database.query("select from requests union all select from replies")).toEqual([]);
  });

  test("TUNNEL-1: of two that take at once, one carries a request out, and each request once", async () => {
    const schema = `tunnel_${++schemas}`;
    await using one = await joined(schema);
    await using two = await joined(schema);
    const counts = new Map<string, number>();
    const carry = async ({ url }: CarriedRequest): Promise<CarriedReply> => {
      counts.set(url, (counts.get(url) ?? 0) + 1);
      return { status: 200, headers: {}, body: pieces(Buffer.from(url)) };
    };
    // The same host twice, as two connections of it would take.
    void two.tunnel.serve(carry);
    void two.tunnel.serve(carry);
    const urls = Array.from({ length: 40 }, (_, at) => `/agents/${at}`);
    const answers = await Promise.all(
      urls.map(async (url) => {
        const { body } = await one.tunnel.ask(two.host.id, { ...ASKED, url });
        return textOf(body);
      }),
    );
    expect(answers).toEqual(urls);
    expect([...counts.values()]).toEqual(urls.map(() => 1));
  });

  test("TUNNEL-2: where the other host is gone, it is said whether anything may have been done", async () => {
    const schema = `tunnel_${++schemas}`;
    await using one = await joined(schema);
    // Nobody serves there: it is taken by nobody, and after this by nobody any more.
    const gone = randomUUID();
    await expect(one.tunnel.ask(gone, ASKED)).rejects.toThrow(new TunnelError(true));
    expect(await one.database.query("select from requests")).toEqual([]);
    await using two = await joined(schema);
    const taken = Promise.withResolvers<void>();
    void two.tunnel.serve(async () => {
      taken.resolve();
      return new Promise(() => {});
    });
    const asking = one.tunnel.ask(two.host.id, ASKED);
    await Promise.all([
      taken.promise.then(() => two.host.leave()),
      expect(asking).rejects.toThrow(new TunnelError(false)),
    ]);
  });
});
