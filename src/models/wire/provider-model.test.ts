import { expect, test } from "vitest";
import type { Entry } from "../../protocol/index.ts";
import { postByFetch } from "../../testing/post-by-fetch.ts";
import { createCatalog } from "../catalog/catalog.ts";
import type { ModelRequest } from "../model.ts";
import type { StartTimer } from "./attempt.ts";
import { createProviderModel } from "./provider-model.ts";
import { compatibleQuirks } from "./provider-quirks.ts";
import type { Wire } from "./wire.ts";

const history: Entry[] = [{ role: "user", from: "human", content: "hi" }];
const server = { local: { base_url: "http://local" } };
const never = new AbortController().signal;

test("a turn that the provider pauses goes on, and is one reply", async () => {
  const { reply, bodies } = await ask("anthropic/claude-sonnet-4-5", [
    anthropic("pause_turn", "Still "),
    anthropic("end_turn", "there."),
  ]);

  expect(reply).toEqual({
    role: "assistant",
    model: "anthropic/claude-sonnet-4-5",
    content: [
      { type: "text", text: "Still " },
      { type: "text", text: "there." },
    ],
    usage: { input: 20, output: 10, cache_read: 0, cache_write: 0, reasoning: 0 },
    cost_usd: expect.closeTo((20 * 3 + 10 * 15) / 1e6, 12),
    finish: "stop",
  });
  expect(bodies[1]?.messages).toMatchObject([{ role: "user" }, { role: "assistant", content: [{ text: "Still" }] }]);
});

test("a provider that pauses for ever is stopped", async () => {
  const { reply, bodies } = await ask(
    "anthropic/claude-sonnet-4-5",
    Array.from({ length: 30 }, () => anthropic("pause_turn", "…")),
  );

  expect({ requests: bodies.length, finish: reply.finish }).toEqual({ requests: 9, finish: "stop" });
});

test("silence is measured from the last byte, not from the last word", async () => {
  const timer = manualTimer();
  const wire = openStream();
  const failures: string[] = [];
  const reply = asking(
    { fetch: async () => wire.response, startTimer: timer.start, stallMs: 45_000, retry: { maxAttempts: 1 } },
    {
      onFailure: (failure) => failures.push(failure.message),
    },
  );
  for (const bytes of [": still thinking\n\n", ": still thinking\n\n"]) {
    await wire.read;
    wire.send(bytes);
    await wire.read;
  }
  const refreshed = timer.refreshed;
  timer.fire();

  await expect(reply).rejects.toMatchObject({ reason: "stalled", retryable: true });
  expect({ heard: refreshed >= 2, timers: timer.started, stopped: timer.stopped, failures }).toEqual({
    heard: true,
    timers: [45_000],
    stopped: 1,
    failures: ["openai-compatible/local/m sent nothing for 45 s; the request was dropped."],
  });
});

test.each(["anthropic/claude-sonnet-4-5", "openai-compatible/local/m"])(
  "%s: a stop ends a request that the server never answers, with the signal's reason",
  async (id) => {
    const controller = new AbortController();
    const reason = new Error("the human said stop");
    const fetch = () => {
      queueMicrotask(() => controller.abort(reason));
      return new Promise<Response>(() => {});
    };

    await expect(asking({ fetch }, {}, controller.signal, id)).rejects.toBe(reason);
  },
);

test("a stop in the middle of a stream is a stop, not a failure", async () => {
  const controller = new AbortController();
  const wire: Wire = {
    async ask(_request, _said, _attempt, take) {
      take({ type: "text-delta", id: "0", delta: "half a " });
      controller.abort("stop");
      throw new Error("aborted");
    },
  };
  const model = createProviderModel(
    { id: "p/m", wire, quirks: compatibleQuirks("p"), contextWindow: 1, searchesWeb: false },
    { costOf: async () => 0, startTimer: manualTimer().start, now: () => 0 },
  );

  await expect(model.reply({ system: "", history, tools: [] }, controller.signal)).rejects.toBe("stop");
});

test("a request that is stopped already is not sent", async () => {
  const fetch = () => Promise.reject(new Error("sent"));

  await expect(asking({ fetch }, {}, AbortSignal.abort("stop"))).rejects.toBe("stop");
});

test("an old model is asked for no more than it gives", async () => {
  const models = ["anthropic/claude-3-haiku-20240307", "anthropic/claude-sonnet-5"];
  const asked = await Promise.all(models.map((id) => ask(id, [anthropic("end_turn", "hi")])));

  expect(asked.map(({ bodies }) => bodies[0]?.max_tokens)).toEqual([4_096, 32_000]);
});

test.each<[string, string[], string[] | undefined]>([
  ["stands in the place of our tool", ["look", "web_search"], ["look", "web_search"]],
  ["is not there for somebody who may not search", ["look"], ["look"]],
  ["is not there where there are no tools", [], undefined],
])("the provider's own search %s", async (_, names, offered) => {
  const tools = names.map((name) => ({ name, description: "", parameters: { type: "object" } }));
  const { bodies } = await ask("anthropic/claude-sonnet-5", [anthropic("end_turn", "hi")], { tools });

  const sent = bodies[0]?.tools;
  expect(JSON.stringify(sent ?? "").includes("web_search_20250305")).toBe(names.includes("web_search"));
  expect(Array.isArray(sent) ? sent.map(({ name }) => name) : sent).toEqual(offered);
});

test("a server that cannot stream is heard too", async () => {
  const whole = {
    choices: [
      {
        message: { content: "hi", tool_calls: [{ id: "c", function: { name: "look", arguments: "{}" } }] },
        finish_reason: "stop",
      },
    ],
    usage: { prompt_tokens: 3, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 1 } },
  };
  const reply = await asking({ fetch: async () => Response.json(whole) });

  expect(reply).toEqual({
    role: "assistant",
    model: "openai-compatible/local/m",
    content: [
      { type: "text", text: "hi" },
      { type: "call", id: "c", name: "look", args: {} },
    ],
    usage: { input: 3, output: 2, cache_read: 1, cache_write: 0, reasoning: 0 },
    cost_usd: null,
    finish: "stop",
  });
});

test("two calls under one id get one result each", async () => {
  const call = (index: number) => ({ index, id: "same", function: { name: "look", arguments: "{}" } });
  const body = `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [call(0), call(1)] }, finish_reason: "tool_calls" }] })}\n\n`;
  const { content } = await asking({ fetch: async () => new Response(body) });

  expect(content.map((part) => part.type === "call" && part.id)).toEqual(["same", "same_again"]);
});

test("words are heard as they come, when somebody listens", async () => {
  const heard: unknown[] = [];
  const body = [{ reasoning_content: "hm" }, { content: "a" }, { content: "b" }]
    .map((delta) => `data: ${JSON.stringify({ choices: [{ delta, finish_reason: "stop" }] })}\n\n`)
    .join("");
  await asking({ fetch: async () => new Response(body) }, { onDelta: (delta) => heard.push(delta) });

  expect(heard).toEqual([
    { kind: "reasoning", text: "hm" },
    { kind: "text", text: "a" },
    { kind: "text", text: "b" },
  ]);
});

type Options = Partial<Parameters<typeof createCatalog>[0]>;

async function asking(
  options: Options,
  request: Partial<ModelRequest> = {},
  signal = never,
  id = "openai-compatible/local/m",
) {
  const catalog = createCatalog({
    env: { ANTHROPIC_API_KEY: "k" },
    config: { providers: server },
    sleep: () => Promise.reject(new Error("no retry here")),
    random: () => 0,
    ...(options.fetch && { post: postByFetch(options.fetch) }),
    ...options,
  });
  const onWarning = (message: string) => {
    throw new Error(`warned: ${message}`);
  };
  return (await catalog.model(id)).reply({ system: "", history, tools: [], onWarning, ...request }, signal);
}

async function ask(id: string, recorded: string[], request: Partial<ModelRequest> = {}) {
  const bodies: Record<string, unknown>[] = [];
  const fetch: typeof globalThis.fetch = async (_, init) => {
    bodies.push(JSON.parse(String(init?.body)));
    return new Response(recorded[bodies.length - 1]);
  };
  return { reply: await asking({ fetch }, request, never, id), bodies };
}

function anthropic(stop_reason: string, text: string): string {
  const usage = { input_tokens: 10, output_tokens: 1 };
  return [
    {
      type: "message_start",
      message: { id: "m", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ]
    .map((event) => `data: ${JSON.stringify(event)}\n\n`)
    .join("");
}

/** A response that stays open; `read` resolves when the client waits for the next bytes. */
function openStream() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let reading = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>(
    {
      start: (opened) => {
        controller = opened;
      },
      pull: () => reading.resolve(),
    },
    { highWaterMark: 0 },
  );
  return {
    response: new Response(body),
    get read() {
      return reading.promise;
    },
    send(text: string) {
      reading = Promise.withResolvers();
      controller?.enqueue(new TextEncoder().encode(text));
    },
  };
}

function manualTimer() {
  const timer = { started: [] as number[], refreshed: 0, stopped: 0, fire: () => {} };
  const start: StartTimer = (ms, callback) => {
    timer.started.push(ms);
    timer.fire = callback;
    return { refresh: () => void timer.refreshed++, stop: () => void timer.stopped++ };
  };
  return Object.assign(timer, { start });
}
