import { expect, test } from "vitest";
import { createCatalog } from "../../src/models/catalog/catalog.ts";
import { callsOf, type StoredEntry } from "../../src/protocol/index.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { type ProviderTurn, startProviderServer, temporaryHome } from "../../src/testing/index.ts";
import { configFor, PROVIDERS } from "../scenarios/over-the-wire.ts";

/** Every bad answer of hardening.md, as an agent meets it: it is never stuck, and every call has exactly one result. */
const LOOK = { name: "list_files", args: {} };

/** Answers after which the same request, or the model's next try, goes well. */
const PASSING: Record<string, ProviderTurn> = {
  "a stream that breaks off midway": { text: "half of", calls: [LOOK], fault: { truncate: "midway" } },
  "a stream without its end": { text: "half of", calls: [LOOK], fault: { truncate: "before_finish" } },
  "a reset before anything came": { fault: { reset: "before_headers" } },
  "a reset midway": { text: "half of", calls: [LOOK], fault: { reset: "midway" } },
  "a stall": { text: "half of", fault: { stall: "midway" } },
  "a line that is not JSON": { text: "half of", fault: { badJson: true } },
  "an error in the stream": { text: "half of", fault: { streamError: "overloaded" } },
  "a web page": { fault: { webPage: true } },
  "429 with retry-after": { fault: { status: 429, retryAfter: 1 } },
  "529": { fault: { status: 529 } },
  "503": { fault: { status: 503 } },
  "an empty reply": {},
};

/** What the model did wrong itself: it is told, and goes on. */
const MENDED: Record<string, ProviderTurn> = {
  "arguments that are not JSON": { calls: [{ name: "list_files", rawArgs: '{"path": ' }] },
  "a tool that nobody has": { calls: [{ name: "fly_to_the_moon", args: {} }] },
  "missing arguments": { calls: [{ name: "write_file", args: {} }] },
  "an unknown block": { text: "Looking.", calls: [LOOK], unknownBlock: true },
};

const FINISH: ProviderTurn = { calls: [{ name: "finish", args: { summary: "done" } }] };

for (const { name, model } of PROVIDERS) {
  test.each(Object.entries(PASSING))(`over ${name}, after %s the agent finishes`, async (_, bad) => {
    expect(await lifeOf(model, [[bad, FINISH]])).toEqual({ status: "completed", error: null, unanswered: [] });
  });

  test.each(Object.entries(MENDED))(`over ${name}, after %s the agent finishes`, async (_, bad) => {
    // Gemini has no such thing as arguments that are not JSON: the provider stops, and the request is made again.
    const turns = model.startsWith("google/") && "rawArgs" in (bad.calls?.[0] ?? {}) ? [[bad, FINISH]] : [bad, FINISH];
    expect(await lifeOf(model, turns)).toEqual({ status: "completed", error: null, unanswered: [] });
  });

  test.each([
    ["400", { status: 400, message: "bad request" }],
    ["401", { status: 401, message: "wrong key" }],
    ["429 for ever", { status: 429, retryAfter: 1 }],
    ["500 for ever", { status: 500 }],
  ])(`over ${name}, %s fails the agent with the reason`, async (status, fault) => {
    const life = await lifeOf(model, [{ fault }]);
    expect(life).toEqual({ status: "failed", error: expect.stringContaining(status.slice(0, 3)), unanswered: [] });
  });
}

async function lifeOf(model: string, turns: readonly (ProviderTurn | readonly ProviderTurn[])[]) {
  await using home = await temporaryHome();
  await using provider = await startProviderServer({ turns });
  const settings = { home: home.path, env: provider.env, config: configFor(provider) };
  // Nobody waits: what would be slept is skipped, and a stall is told by a timer that is short.
  const catalog = createCatalog({ ...settings, sleep: async () => {}, random: () => 0, stallMs: 300 });
  const runtime = await openRuntime(settings, { catalog });
  try {
    const agent = await runtime.create({ goal: "Look", model, tools: ["list_files", "write_file", "finish"] });
    await agent.idle();
    const { status, error } = agent.now.agent;
    return { status, error, unanswered: unansweredIn(await agent.log.conversation("conversation.jsonl")) };
  } finally {
    await runtime.close();
  }
}

/** Calls without exactly one result right behind their reply. */
function unansweredIn(entries: StoredEntry[]): string[] {
  return entries.flatMap((entry, at) => {
    if (entry.role !== "assistant") return [];
    const calls = callsOf(entry).map((call) => call.id);
    const results = entries
      .slice(at + 1, at + 1 + calls.length)
      .flatMap((next) => (next.role === "tool" ? next.call_id : []));
    return JSON.stringify(calls) === JSON.stringify(results) ? [] : [`${entry.seq}: ${calls} → ${results}`];
  });
}
