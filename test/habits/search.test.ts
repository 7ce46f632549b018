import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { type ProviderTurn, startProviderServer, temporaryHome } from "../../src/testing/index.ts";
import { configFor, PROVIDERS } from "../scenarios/over-the-wire.ts";

const FINISH: ProviderTurn = { calls: [{ name: "finish", args: { summary: "done", learned: "" } }] };
const search = (count: number): ProviderTurn => ({
  calls: Array.from({ length: count }, (_, at) => ({ name: "web_search", args: { query: `chips ${at}` } })),
});

/** The names of all tools that were sent, and what the tools answered. */
async function lifeOf(model: string, turns: ProviderTurn[], tools: string[], env: Record<string, string> = {}) {
  await using home = await temporaryHome();
  await using provider = await startProviderServer({ turns });
  const runtime = await openRuntime({
    home: home.path,
    env: { ...provider.env, ...env },
    config: configFor(provider),
  });
  try {
    const agent = await runtime.create({ goal: "Look", model, tools });
    await agent.idle();
    const entries = await agent.log.conversation("conversation.jsonl");
    const answers = entries.flatMap((entry) =>
      entry.role === "tool" && entry.tool === "web_search" ? [entry.ok] : [],
    );
    return { status: agent.now.agent.status, offered: provider.requests[0]?.tools ?? [], answers };
  } finally {
    await runtime.close();
  }
}

test.each([...PROVIDERS, { name: "Gemini 3", model: "google/gemini-3-pro-preview", searches: true }])(
  "over $name, whoever may not use web_search has no search of the provider either",
  async ({ model, searches }) => {
    const isSearch = (name: string) => /search/i.test(name);
    const without = await lifeOf(model, [FINISH], ["read_file", "finish"]);
    expect([without.status, without.offered.filter(isSearch)]).toEqual(["completed", []]);
    const within = await lifeOf(model, [FINISH], ["read_file", "web_search", "finish"]);
    const inText = model.includes("/words/");
    expect([within.status, within.offered.filter(isSearch).length]).toEqual(["completed", inText ? 0 : 1]);
    const isOwn = within.offered.some((name) => isSearch(name) && !within.offered.includes("web_search"));
    expect(isOwn && !searches).toBe(false);
  },
);

test("one reply has five searches, and the next has five again", async () => {
  let asked = 0;
  const engine = createServer((_, response) => {
    asked++;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ results: [] }));
  });
  await new Promise<void>((listening) => engine.listen(0, "127.0.0.1", listening));
  onTestFinished(() => void engine.close());
  const address = engine.address();
  const port = typeof address === "object" ? address?.port : 0;
  const turns = [search(7), search(2), search(5), FINISH];
  const env = { SEARXNG_URL: `http://127.0.0.1:${port}` };
  const { status, answers } = await lifeOf("openai-compatible/local/small", turns, ["web_search", "finish"], env);
  expect({ status, answers, asked }).toEqual({
    status: "completed",
    answers: [...Array(5).fill(true), false, false, true, true, ...Array(5).fill(true)],
    asked: 12,
  });
});
