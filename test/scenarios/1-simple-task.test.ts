import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startProviderServer } from "../../src/testing/index.ts";
import { configFor, PROVIDERS, runToItsEnd } from "./over-the-wire.ts";

/** Seed 002 §11, test 1: single agent, simple task. */
const GOAL = "What are the top 3 programming languages in 2026?";
const QUERY = "top programming languages 2026";
const ANSWER = "The top 3 in 2026 are Python, TypeScript and Rust.";
const FINDINGS = "# Top languages\n\n1. Python\n2. TypeScript\n3. Rust\n";

test.each(PROVIDERS)("an agent answers a simple question over $name", async ({ model, searches }) => {
  await using engine = await searchEngine();
  const result = { url: "https://example.org/index", title: "Language index 2026", encrypted: "EqgB-encrypted" };
  const first = searches
    ? {
        search: { query: QUERY, results: [result] },
        text: "I searched.",
        calls: [{ name: "write_file", args: { path: "research.md", content: FINDINGS } }],
      }
    : { text: "Searching.", calls: [{ name: "web_search", args: { query: QUERY } }] };
  const write = searches ? [] : [{ calls: [{ name: "write_file", args: { path: "research.md", content: FINDINGS } }] }];
  await using provider = await startProviderServer({
    turns: [first, ...write, { calls: [{ name: "finish", args: { summary: ANSWER } }] }],
  });

  const order = {
    goal: GOAL,
    model,
    tools: ["web_search", "write_file", "finish"],
    env: { ...provider.env, SEARXNG_URL: engine.url },
    config: configFor(provider),
  };
  await runToItsEnd(order, async (told) => {
    // Agent status transitions: idle → working → completed
    expect(told.statuses).toEqual(["idle", "working", "completed"]);
    // workspace/research.md exists and contains content
    expect(await readFile(join(told.run, "research.md"), "utf8")).toBe(FINDINGS);
    // finish() result is a coherent answer
    expect(told.summary).toBe(ANSWER);
    // conversation.jsonl has full trace: the goal, every call with its result, in order
    const trace = told.conversation.map((entry) =>
      entry.role === "assistant"
        ? entry.content.flatMap((part) => (part.type === "call" ? part.name : [])).join()
        : entry.role === "tool"
          ? `${entry.tool}: ${entry.ok}`
          : entry.role,
    );
    const search = searches ? [] : ["web_search", "web_search: true"];
    expect(trace).toEqual(["system", "user", ...search, "write_file", "write_file: true", "finish", "finish: true"]);
    // the search was really made
    if (searches) expect(JSON.stringify(told.conversation)).toContain(result.url);
    else expect(engine.queries).toEqual([QUERY]);
    // Runs in < 60 seconds
    const seconds = (told.facts.at(-1)?.ts ?? 0) - (told.facts[0]?.ts ?? 0);
    expect(seconds).toBeLessThan(60);
  });
  provider.assertDone();
  if (searches)
    expectEncryptedResultsHandedBack(
      provider.requests.map((request) => JSON.stringify(request.body)),
      model,
    );
});

/** Seed 003: encrypted search results go back as they came, on every later turn. */
function expectEncryptedResultsHandedBack(bodies: string[], model: string): void {
  if (model.startsWith("anthropic/")) expect(bodies.at(-1)).toContain("EqgB-encrypted");
}

/** A SearXNG that knows one page. */
async function searchEngine() {
  const queries: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    queries.push(url.searchParams.get("q") ?? "");
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        results: [
          { title: "Language index 2026", url: "https://example.org/index", content: "Python, TypeScript, Rust." },
        ],
      }),
    );
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    queries,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
