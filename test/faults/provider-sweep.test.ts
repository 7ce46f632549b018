import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { ModelFailure, type ModelRequest } from "../../src/models/model.ts";
import { callsOf, entrySchema, type ReplyEntry, textOf } from "../../src/protocol/index.ts";
import type { ProviderTurn } from "../../src/testing/index.ts";
import { routeOf } from "../../src/testing/wire/provider-route.ts";
import { replyFor } from "../../src/testing/wire/reply.ts";
import { type Adapter, modelOf } from "./provider-adapters.ts";

/**
 * Answers that are wrong in their bytes, over every wire: each is a reply that our record takes, or one ModelFailure after
 * a bounded number of tries. Nothing hangs, nothing else is thrown, and every call has an id of its own.
 */
const WIRES: Adapter[] = ["anthropic", "openai", "google", "openrouter", "ollama"];

const WRONG = [null, {}, [], "constructor", "__proto__", -1, 1.5, 4_294_967_290, 1e308, true];

const TURN: ProviderTurn = {
  text: "Reading it.",
  calls: [
    { name: "read_file", args: { path: "a.md" } },
    { name: "read_file", args: { path: "b.md" } },
  ],
};

describe.each(WIRES)("%s", (adapter) => {
  test("a good answer with bytes that are not UTF-8 is read with replacement characters", async () => {
    const body = frames(adapter).join("");
    const at = body.indexOf("Read");
    const bytes = Buffer.concat([
      Buffer.from(body.slice(0, at)),
      Buffer.from([0xff, 0xc3]),
      Buffer.from(body.slice(at)),
    ]);
    const { reply } = await ask(adapter, (response) => response.writeHead(200, STREAM).end(bytes));
    expect(reply && textOf(reply)).toContain("\uFFFD");
    expect(reply && callsOf(reply).length).toBe(2);
  });

  test.each(["text/plain", "application/octet-stream", ""])("the content type %j does not matter", async (type) => {
    const body = frames(adapter).join("");
    const { reply } = await ask(adapter, (response) => response.writeHead(200, { "content-type": type }).end(body));
    expect(reply && callsOf(reply).map(({ args }) => args)).toEqual([{ path: "a.md" }, { path: "b.md" }]);
  });

  test("an informational answer before the real one is passed over", async () => {
    const { reply } = await ask(adapter, (response) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: "</x>; rel=preload" });
      response.writeHead(200, STREAM).end(frames(adapter).join(""));
    });
    expect(reply && callsOf(reply).length).toBe(2);
  });

  test("what only claims to be compressed, or breaks off in the middle of it, is a failure", async () => {
    const whole = gzipSync(frames(adapter).join(""));
    for (const body of [Buffer.from("this is not gzip"), whole.subarray(0, whole.length >> 1)]) {
      const { failure } = await ask(adapter, (response) =>
        response.writeHead(200, { ...STREAM, "content-encoding": "gzip" }).end(body),
      );
      expect(["truncated", "unreadable", "connection"]).toContain(failure?.reason);
    }
  });

  test("a web page is called one, whatever its status", async () => {
    const page = "<!doctype html><title>Sign in to the network</title>";
    for (const status of [200, 403, 502]) {
      const { failure } = await ask(adapter, (response) =>
        response.writeHead(status, { "content-type": "text/html" }).end(page),
      );
      expect(failure?.message).toContain("web page");
    }
  });

  test("cut off or reset behind any event, it is a failure that is tried again, or a reply that was whole", async () => {
    const all = frames(adapter);
    for (const cut of ["end", "reset"] as const) {
      for (let count = 0; count <= all.length; count++) {
        const { reply, failure } = await ask(adapter, (response) => {
          response.writeHead(200, STREAM);
          response.write(all.slice(0, count).join("") || ": nothing\n\n", () =>
            cut === "end" ? response.end() : setImmediate(() => response.socket?.resetAndDestroy()),
          );
        });
        if (reply) expect(callsOf(reply).map(({ args }) => args)).toEqual([{ path: "a.md" }, { path: "b.md" }]);
        else
          expect([failure?.retryable, failure?.reason]).toEqual([true, expect.stringMatching(/truncated|connection/)]);
        if (count < all.length / 2) expect(reply).toBeUndefined();
      }
    }
  });

  test.each(WRONG.map((wrong) => ({ name: JSON.stringify(wrong), wrong })))(
    "$name in the place of any field of any event",
    async ({ wrong }) => {
      const all = frames(adapter).map((frame) => ({ frame, data: dataIn(frame) }));
      const places = all.flatMap(({ data }, at) => pathsIn(data).map((path) => ({ at, path })));
      // Every place with some of the values, and all values with some of the places: the whole table takes a minute.
      const every = Number(process.env.AGIRAPH_SWEEP ?? 7);
      for (const [number, { at, path }] of places.entries()) {
        if ((number + seedOf(wrong)) % every !== 0) continue;
        const body = all.map(({ frame, data }, here) =>
          here === at ? framed(frame, replaced(data, path, wrong)) : frame,
        );
        await ask(adapter, (response) => response.writeHead(200, STREAM).end(body.join("")));
      }
    },
  );

  test("1e999, negative and huge counts of tokens are no counts", async () => {
    for (const count of ["1e999", "-5", "1e300", '"NaN"']) {
      const body = frames(adapter)
        .join("")
        .replace(/("\w*[tT]oken\w*":)\d+/g, `$1${count}`);
      const { reply } = await ask(adapter, (response) => response.writeHead(200, STREAM).end(body));
      if (reply) expect(Object.values(reply.usage).every((each) => each === 0)).toBe(true);
    }
  });

  test("calls with one id have an id each", async () => {
    const body = frames(adapter).join("").replaceAll("1_2", "1_1");
    const { reply } = await ask(adapter, (response) => response.writeHead(200, STREAM).end(body));
    if (reply) expect(new Set(callsOf(reply).map(({ id }) => id)).size).toBe(callsOf(reply).length);
  });

  test("an unknown reason to stop, also one that every object has, is a reply or a failure", async () => {
    for (const reason of ["banana", "constructor", "__proto__", "toString"]) {
      const body = frames(adapter)
        .join("")
        .replace(/"(finish_reason|finishReason|stop_reason|status)":"[\w-]+"/g, `"$1":"${reason}"`);
      const { reply } = await ask(adapter, (response) => response.writeHead(200, STREAM).end(body));
      if (reply) expect(typeof reply.finish).toBe("string");
    }
  });

  test("10,000 calls in one reply are refused in words; 900 are taken", async () => {
    const many = (count: number) =>
      frames(adapter, {
        calls: Array.from({ length: count }, (_, at) => ({ name: "read_file", args: { path: `${at}` } })),
      });
    const { failure } = await ask(adapter, (response) => response.writeHead(200, STREAM).end(many(10_000).join("")));
    expect([failure?.reason, failure?.message]).toEqual([
      "unreadable",
      expect.stringContaining("more than 1000 tool calls"),
    ]);
    const { reply } = await ask(adapter, (response) => response.writeHead(200, STREAM).end(many(900).join("")));
    expect(reply && new Set(callsOf(reply).map(({ id }) => id)).size).toBe(900);
  });

  test("arguments nested 20,000 deep, or with names that every object has, can be kept", async () => {
    const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
    for (const rawArgs of [deep, '{"__proto__":{"x":1},"constructor":2}']) {
      if (adapter === "google" && rawArgs === deep) continue; // its arguments are a value, not a text
      const body = frames(adapter, { calls: [{ name: "constructor", rawArgs }] }).join("");
      const { reply } = await ask(adapter, (response) => response.writeHead(200, STREAM).end(body));
      if (adapter !== "google") expect(reply && callsOf(reply)[0]?.name).toBe("constructor");
    }
  });
});

const STREAM = { "content-type": "text/event-stream" };
const PATHS: Partial<Record<Adapter, string>> = {
  anthropic: "/v1/messages",
  openai: "/v1/responses",
  google: "/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse",
  openrouter: "/openrouter/api/v1/chat/completions",
  ollama: "/ollama/v1/chat/completions",
};

/** The events of a good answer in this provider's format. */
function frames(adapter: Adapter, turn: ProviderTurn = TURN): string[] {
  const route = routeOf(PATHS[adapter] ?? "");
  if (!route) throw new Error(`There is no route for ${adapter}.`);
  const request = { system: "", messages: [], tools: ["read_file"], model: "m" };
  return route.wire.stream(replyFor(turn, request, 1, 400)).frames;
}

/** One try, and what our side of the world must be able to rely on. */
async function ask(
  adapter: Adapter,
  answer: (response: ServerResponse) => unknown,
): Promise<{ reply?: ReplyEntry; failure?: ModelFailure }> {
  const server = createServer((incoming, response) => {
    incoming.resume();
    answer(response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = Object.fromEntries(
    ["ANTHROPIC", "OPENAI", "GEMINI", "OPENROUTER", "OLLAMA"].flatMap((name) => [
      [`${name}_API_KEY`, "k"],
      [`${name}_BASE_URL`, url],
    ]),
  );
  const told: string[] = [];
  let warnings = 0;
  const listeners = { onFailure: ({ reason }: ModelFailure) => told.push(reason), onWarning: () => void warnings++ };
  const ports = { sleep: async () => {}, retry: { maxAttempts: 1 } };
  const model = await modelOf(adapter, { url, env }, ports);
  try {
    const reply = await model.reply({ ...REQUEST, ...listeners }, AbortSignal.timeout(20_000));
    const stored: unknown = JSON.parse(JSON.stringify(reply));
    expect(entrySchema.safeParse(stored).error).toBeUndefined();
    expect(new Set(callsOf(reply).map(({ id }) => id)).size).toBe(callsOf(reply).length);
    return { reply };
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error;
    expect(told).toEqual([error.reason]);
    expect(error.message).toContain(model.id);
    return { failure: error };
  } finally {
    expect(warnings).toBeLessThanOrEqual(10);
    server.closeAllConnections();
    server.close();
  }
}

const REQUEST: ModelRequest = {
  system: "You read files.",
  history: [{ role: "user", from: "human", content: "What does a.md say?" }],
  tools: [
    {
      name: "read_file",
      description: "Reads a file.",
      parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    },
  ],
};

function dataIn(frame: string): unknown {
  const text = /^data: (.*)$/m.exec(frame)?.[1] ?? "";
  return text.startsWith("{") ? JSON.parse(text) : undefined;
}

function framed(frame: string, data: unknown): string {
  return frame.replace(/^data: .*$/m, () => `data: ${JSON.stringify(data)}`);
}

type Path = readonly (string | number)[];

function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return path.length > 0 ? [path] : [];
  const inner = Object.entries(value).flatMap(([key, field]) =>
    pathsIn(field, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  return path.length > 0 ? [path, ...inner] : inner;
}

function replaced(value: unknown, [key, ...rest]: Path, wrong: unknown): unknown {
  if (key === undefined) return wrong;
  if (Array.isArray(value)) return value.map((item, at) => (at === key ? replaced(item, rest, wrong) : item));
  return { ...(value as object), [key]: replaced((value as Record<string | number, unknown>)[key], rest, wrong) };
}

function seedOf(value: unknown): number {
  return [...JSON.stringify(value)].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
}
