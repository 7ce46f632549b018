import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { type ProviderServer, startProviderServer } from "./provider-server.ts";
import { temporaryHome } from "./temporary-home.ts";

describe("which turn a request gets", () => {
  test("the one after as many assistant turns as the conversation holds, so that conversations do not disturb each other", async () => {
    await using server = await startProviderServer({ turns: [{ text: "one" }, { text: "two" }, { text: "three" }] });
    const [late, first, middle] = await Promise.all([
      chat(server, ["A", "one", "go on", "two", "go on"]),
      chat(server, ["B"]),
      chat(server, ["C", "one", "go on"]),
    ]);
    expect([late, first, middle].map((answer) => answer.text)).toEqual(["three", "one", "two"]);
    server.assertDone();
  });

  test("asked again, the same one again", async () => {
    await using server = await startProviderServer({ turns: [{ text: "one" }] });
    expect([(await chat(server, ["A"])).text, (await chat(server, ["A"])).text]).toEqual(["one", "one"]);
    server.assertDone();
  });

  test("a list of attempts is used up attempt by attempt, for each conversation by itself, and its last one stays", async () => {
    await using server = await startProviderServer({
      turns: [[{ fault: { status: 529 } }, { fault: { status: 500 } }, { text: "at last" }]],
    });
    const answers = [];
    for (const who of ["A", "A", "B", "A", "A"]) answers.push(await chat(server, [who]));
    expect(answers.map(({ status, text }) => text || status)).toEqual([529, 500, 529, "at last", "at last"]);
  });

  test("by the name found in the first message, else in the system prompt", async () => {
    await using server = await startProviderServer({
      turns: { Alice: [{ text: "I am Alice." }], Bob: [{ text: "I am Bob." }] },
    });
    const answers = [
      await chat(server, ["Bob, measure chip A"], "You are Alice's colleague."),
      await chat(server, ["Measure chip A"], "Your name is Alice."),
    ];
    expect(answers.map((answer) => answer.text)).toEqual(["I am Bob.", "I am Alice."]);
    server.assertDone();
  });

  test("a conversation that ends with the assistant's own words goes on with the same turn", async () => {
    await using server = await startProviderServer({
      turns: [[{ text: "half", finish: "pause" }, { text: "the rest" }], { text: "next" }],
    });
    const answers = [
      await chat(server, ["A"]),
      await chat(server, ["A", "half"]),
      await chat(server, ["A", "half the rest", "go on"]),
    ];
    expect(answers.map((answer) => answer.text)).toEqual(["half", "the rest", "next"]);
    server.assertDone();
  });

  test("what respond() says, which sees the whole request", async () => {
    await using server = await startProviderServer({
      respond: ({ api, model, system, turn, messages }) => ({
        text: JSON.stringify({ api, model, system, turn, last: messages.at(-1)?.text }),
      }),
    });
    const { text } = await chat(server, ["A", "b", "C"], "Be brief.");
    expect(JSON.parse(text)).toEqual({ api: "openai-chat", model: "m", system: "Be brief.", turn: 1, last: "C" });
  });
});

describe("strictness", () => {
  test("a request beyond the script is answered with 500 and makes assertDone fail", async () => {
    await using server = await startProviderServer({ turns: [{ text: "one" }] });
    await chat(server, ["A"]);
    const { status, body } = await chat(server, ["A", "one", "and now?"]);
    expect({ status, body: JSON.parse(body) }).toEqual({
      status: 500,
      body: {
        error: {
          message: 'The scripted provider has no answer: the script has no turn 2 for "and now?".',
          type: "server_error",
          param: null,
          code: null,
        },
      },
    });
    expect(() => server.assertDone()).toThrow(
      'The scripted provider is not done.\n- not scripted: openai-chat request 2: the script has no turn 2 for "and now?"',
    );
  });

  test("turns that nobody asked for make assertDone fail, attempts included", async () => {
    await using server = await startProviderServer({
      turns: { Alice: [[{ fault: { status: 500 } }, { text: "ok" }]], Bob: [{ text: "hi" }] },
    });
    await chat(server, ["Alice"]);
    expect(() => server.assertDone()).toThrow(
      'The scripted provider is not done.\n- never asked for: "Alice", turn 1: {"text":"ok"}\n- never asked for: "Bob", turn 1: {"text":"hi"}',
    );
  });

  test("an unknown conversation and an unknown route are told by name", async () => {
    await using server = await startProviderServer({ turns: { Alice: [{ text: "hi" }] } });
    await chat(server, ["Alice"]);
    await chat(server, ["Mallory"]);
    await fetch(`${server.url}/v1/embeddings`, { method: "POST", body: "{}" });
    expect(() => server.assertDone()).toThrow(
      [
        "The scripted provider is not done.",
        '- not scripted: openai-chat request 2: no conversation of the script (Alice) is named in "Mallory"',
        "- not scripted: POST /v1/embeddings is no route of any provider",
      ].join("\n"),
    );
  });

  test("a WebSocket is refused as servers do that have none, and is no problem", async () => {
    await using server = await startProviderServer({ turns: [] });
    const headers = { connection: "Upgrade", upgrade: "websocket" };
    const asked = get(`${server.url}/v1/responses`, { headers });
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(426);
    server.assertDone();
  });

  test("nonsense from a client is answered, not died of", async () => {
    await using server = await startProviderServer({ respond: () => ({ text: "still here" }) });
    const bodies = [
      "",
      "null",
      "[]",
      '{"messages": 7, "tools": {"a": 1}}',
      '{"messages": [null, 1, {"role": 5}]}',
      "{broken",
    ];
    const paths = ["/v1/messages", "/v1/responses", "/v1/chat/completions", "/v1beta/models/m:generateContent"];
    const answers = await Promise.all(
      paths.flatMap((path) =>
        bodies.map(async (body) => (await fetch(server.url + path, { method: "POST", body })).status),
      ),
    );
    expect(new Set(answers)).toEqual(new Set([200]));
    server.assertDone();
  });
});

describe("faults", () => {
  test("an HTTP error comes in the vendor's own words, with retry-after as it was written", async () => {
    await using server = await startProviderServer({
      turns: [
        [
          { fault: { status: 429, retryAfter: 7 } },
          { fault: { status: 529, retryAfter: "Wed, 21 Oct 2026 07:28:00 GMT" } },
        ],
      ],
    });
    const ask = () => post(server, "/v1/messages", { messages: [{ role: "user", content: "hi" }] });
    const [first, second] = [await ask(), await ask()];
    expect(
      [first, second].map(({ status, headers, body }) => [
        status,
        headers.get("retry-after"),
        JSON.parse(body).error.type,
      ]),
    ).toEqual([
      [429, "7", "rate_limit_error"],
      [529, "Wed, 21 Oct 2026 07:28:00 GMT", "overloaded_error"],
    ]);
  });

  test.each([
    ["midway", { text: "half of", finished: false }],
    ["before_finish", { text: "half of this", finished: false }],
  ] as const)("a stream truncated %s ends in good order without its finish", async (truncate, expected) => {
    await using server = await startProviderServer({ turns: [{ text: "half of this", fault: { truncate } }] });
    const { text, body } = await chat(server, ["A"]);
    expect({ text, finished: body.includes("[DONE]") }).toEqual(
      truncate === "midway" ? { ...expected, text: "half o" } : expected,
    );
  });

  test("a reset breaks the connection, before or after half of the reply", async () => {
    await using server = await startProviderServer({
      turns: {
        early: [{ fault: { reset: "before_headers" } }],
        late: [{ text: "half of this", fault: { reset: "midway" } }],
      },
    });
    await expect(chat(server, ["early"])).rejects.toThrow("fetch failed");
    const response = await request(server, ["late"]);
    const heard = await readUntilError(response);
    expect({
      status: response.status,
      half: heard.text.includes("half o"),
      rest: heard.text.includes("f this"),
      error: heard.error,
    }).toEqual({
      status: 200,
      half: true,
      rest: false,
      error: "terminated",
    });
    expect(await endings(server)).toEqual(["cut", "cut"]);
  });

  test("a stall holds until the client leaves, and the server knows that it did", async () => {
    await using server = await startProviderServer({ turns: [{ text: "half of this", fault: { stall: "midway" } }] });
    const stop = new AbortController();
    const response = await request(server, ["A"], stop.signal);
    await server.reached("stall");
    stop.abort();
    expect((await readUntilError(response)).error).toBe("This operation was aborted");
    expect(await endings(server)).toEqual(["left"]);
  });

  test("a stall that is released goes on to the end", async () => {
    await using server = await startProviderServer({ turns: [{ text: "whole", fault: { stall: "before_headers" } }] });
    const asked = chat(server, ["A"]);
    await server.reached("stall");
    server.release("stall");
    expect((await asked).text).toBe("whole");
    expect(await endings(server)).toEqual(["answered"]);
  });

  test("hold points keep answers back at their start and in their middle until they are released", async () => {
    await using server = await startProviderServer({
      turns: [{ text: "one two", hold: "start", holdMidway: "middle" }],
    });
    const [a, b] = [chat(server, ["A"]), chat(server, ["B"])];
    await server.reached("start", 2);
    server.release("start");
    await server.reached("middle", 2);
    server.release("middle");
    expect([(await a).text, (await b).text]).toEqual(["one two", "one two"]);
  });

  test("a broken data line stands in the middle of a stream that is otherwise whole", async () => {
    await using server = await startProviderServer({ turns: [{ text: "one two", fault: { badJson: true } }] });
    const { body } = await chat(server, ["A"]);
    const lines = body.split("\n\n").filter((line) => line.startsWith("data: {"));
    const broken = lines.map((line) => isJson(line.slice("data: ".length)));
    expect({
      broken: broken.filter((ok) => !ok).length,
      first: broken[0],
      done: body.endsWith("data: [DONE]\n\n"),
    }).toEqual({
      broken: 1,
      first: true,
      done: true,
    });
  });

  test.each([
    ["/v1/messages", "event: error"],
    ["/v1/responses", "event: error"],
    ["/v1/chat/completions", 'data: {"error"'],
    ["/openrouter/api/v1/chat/completions", '"finish_reason":"error"'],
    ["/v1beta/models/m:streamGenerateContent", 'data: {"error"'],
  ])("%s: an error inside the stream ends it", async (path, sign) => {
    await using server = await startProviderServer({
      respond: () => ({ text: "one two", fault: { streamError: "overloaded" } }),
    });
    const { status, body } = await post(server, path, { stream: true });
    const last = body.trimEnd().split("\n\n").at(-1) ?? "";
    expect({ status, sign: last.includes(sign) }).toEqual({ status: 200, sign: true });
  });

  test("without a stream, truncation and bad JSON break the body", async () => {
    await using server = await startProviderServer({
      turns: {
        cut: [{ text: "one two", fault: { truncate: "midway" } }],
        bad: [{ text: "one two", fault: { badJson: true } }],
      },
    });
    const ask = (content: string) => post(server, "/v1/chat/completions", { messages: [{ role: "user", content }] });
    await expect(ask("cut")).rejects.toThrow("terminated");
    expect(isJson((await ask("bad")).body)).toBe(false);
  });

  test("a huge reply flows only as fast as it is read, and ends when the client leaves", async () => {
    await using server = await startProviderServer({ turns: [{ text: "x".repeat(50_000_000) }] });
    const stop = new AbortController();
    const response = await request(server, ["A"], stop.signal);
    await response.body?.getReader().read();
    stop.abort();
    expect(await endings(server)).toEqual(["left"]);
  });
});

test("a client without tools of its own gets calls between the tags that its prompt shows", async () => {
  await using server = await startProviderServer({
    turns: [
      {
        text: "Reading.",
        calls: [
          { name: "read", args: { path: "a" } },
          { name: "read", rawArgs: "{oops" },
        ],
      },
    ],
  });
  const prompt =
    'Answer with <tool_call nonce="k3J9">{"name": …, "arguments": …}</tool_call nonce="k3J9"> and nothing else.';
  expect((await chat(server, ["A"], prompt)).text).toBe(
    [
      "Reading.",
      '<tool_call nonce="k3J9">{"name":"read","arguments":{"path":"a"}}</tool_call nonce="k3J9">',
      '<tool_call nonce="k3J9">{"name": "read", "arguments": {oops}</tool_call nonce="k3J9">',
    ].join("\n"),
  );
});

test("models can be listed, as OpenAI and as Ollama", async () => {
  await using server = await startProviderServer({ models: ["llama"] });
  const get = async (path: string) => (await fetch(server.url + path)).json();
  expect([await get("/v1/models"), await get("/ollama/api/tags")]).toEqual([
    { object: "list", data: [{ id: "llama", object: "model", created: 0, owned_by: "scripted" }] },
    { models: [{ name: "llama", model: "llama" }] },
  ]);
  server.assertDone();
});

test("it runs as a process of its own, from a JSON file", async () => {
  await using home = await temporaryHome();
  const script = join(home.path, "turns.json");
  await writeFile(script, JSON.stringify([{ text: "from a file" }]));
  const main = fileURLToPath(new URL("./provider-server-main.ts", import.meta.url));
  const child = spawn(process.execPath, [main, "--turns", script], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = await once(createInterface(child.stdout), "line");
    const { port } = JSON.parse(line);
    expect((await chat({ url: `http://127.0.0.1:${port}` }, ["A"])).text).toBe("from a file");
  } finally {
    child.kill();
  }
  expect(await once(child, "exit")).toEqual([0, null]);
});

/** A conversation as alternating words, the user's first, over Chat Completions. */
function request(server: { url: string }, words: string[], signal?: AbortSignal, system = "") {
  const spoken = words.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content }));
  const body = JSON.stringify({ model: "m", stream: true, messages: [{ role: "system", content: system }, ...spoken] });
  return fetch(`${server.url}/v1/chat/completions`, { method: "POST", body, ...(signal && { signal }) });
}

async function chat(server: { url: string }, words: string[], system = "") {
  const response = await request(server, words, undefined, system);
  const body = await response.text();
  const said = [...body.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => {
    const data = isJson(json ?? "") ? JSON.parse(json ?? "") : {};
    return data.choices?.[0]?.delta?.content ?? "";
  });
  return { status: response.status, headers: response.headers, body, text: said.join("") };
}

async function post(server: ProviderServer, path: string, json: unknown) {
  const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(json) });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

async function readUntilError(response: Response): Promise<{ text: string; error: string | undefined }> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    return { text, error: undefined };
  } catch (error) {
    return { text, error: error instanceof Error ? error.message : String(error) };
  }
}

function endings(server: ProviderServer) {
  return Promise.all(server.requests.map((request) => request.ending));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
