import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ProviderRequest, startProviderServer } from "../../src/testing/index.ts";
import { configFor, PROVIDERS, runToItsEnd, type Told } from "./over-the-wire.ts";
import { COMPANIES, checkPairs, RESEARCH_GOAL, research, searchFor, startWeb, worth } from "./researcher.ts";

/** Seed 002 §11, test 7: a long-running agent through a small window. */
const WINDOW = 6_000;
const TOOLS = ["web_search", "web_fetch", "read_file", "write_file", "memory_write", "finish"];

test.each(PROVIDERS)("ten companies are researched through a small window over $name", async ({ model, searches }) => {
  await using web = await startWeb();
  const look = searches ? pageAt(web.url) : searchFor;
  await using provider = await startProviderServer({ respond: (request) => answer(request, look) });
  const config = configFor(provider, {
    models: { [model]: { context_window: WINDOW } },
    web_fetch: { allow: ["127.0.0.1"] },
  });
  const env = { ...provider.env, SEARXNG_URL: web.url };
  await runToItsEnd({ goal: RESEARCH_GOAL, model, tools: TOOLS, env, config }, async (told) => {
    await expectNothingLostOrRedone(told, web.queries);
    // Every request fitted, so the provider was never near its end.
    expect(provider.requests.filter(({ body }) => tokens(body) > WINDOW)).toEqual([]);
  });
  provider.assertDone();
});

test("a window smaller than we were told is found out by its refusals, and nothing is lost", async () => {
  const most = 5_500;
  await using web = await startWeb();
  await using provider = await startProviderServer({
    respond: (request) =>
      tokens(request.body) > most
        ? { fault: { status: 400, message: `prompt is too long: ${tokens(request.body)} tokens > ${most} maximum` } }
        : answer(request, searchFor),
  });
  const model = "openai-compatible/local/small"; // 32,768 tokens, as far as we know
  const env = { ...provider.env, SEARXNG_URL: web.url };
  await runToItsEnd({ goal: RESEARCH_GOAL, model, tools: TOOLS, env, config: configFor(provider) }, async (told) => {
    expect(told.facts.filter((fact) => fact.type === "model.failed").map(({ data }) => data.reason)).toContain(
      "context_too_long",
    );
    await expectNothingLostOrRedone(told, web.queries);
  });
  provider.assertDone();
});

async function expectNothingLostOrRedone(told: Told, queries: string[]): Promise<void> {
  expect(told.statuses).toEqual(["idle", "working", "completed"]);
  // Compaction happened at least once, and each time it made room
  const compactions = told.facts.filter((fact) => fact.type === "memory.compacted").map(({ data }) => data);
  expect(compactions.length).toBeGreaterThanOrEqual(3);
  for (const { tokens_before, tokens_after } of compactions) expect(tokens_after).toBeLessThan(tokens_before * 0.9);
  // Agent didn't lose track of which companies it already researched: each was looked for and written once
  expect(queries).toEqual([...COMPANIES]);
  const written = told.conversation.flatMap((entry) =>
    entry.role === "tool" && entry.tool === "write_file" ? (/research\/(\w+)/.exec(entry.content)?.[1] ?? []) : [],
  );
  expect(written).toEqual([...COMPANIES]);
  // Workspace files contain research for all 10 companies
  const files = await Promise.all(COMPANIES.map((name) => readFile(join(told.run, `research/${name}.md`), "utf8")));
  expect(files.map((text) => text.split("\n", 1)[0])).toEqual(
    COMPANIES.map((name) => `# ${name} is valued at $${worth(name)} million`),
  );
  // memory/ has durable notes written during flush
  const memory = join(told.run, "../../memory/knowledge");
  expect(await readdir(memory)).toContain("startups.md");
  expect(await readFile(join(memory, "startups.md"), "utf8")).toContain("Aleph, Borealis");
  // Final output covers all 10 companies
  const analysis = COMPANIES.map((name) => `${name}: $${worth(name)} million`).join("\n");
  expect(told.summary).toBe(analysis);
  expect(await readFile(join(told.run, "analysis.md"), "utf8")).toBe(analysis);
  // The archive only grows: everything that was ever said is in it
  expect(told.conversation.map(({ seq }) => seq)).toEqual(told.conversation.map((_, at) => at + 1));
  expect(told.conversation.filter(({ role }) => role === "summary").length).toBe(compactions.length);
}

function answer(request: ProviderRequest, look: Parameters<typeof research>[1]) {
  checkPairs(request.messages);
  return research(request, look);
}

/** For providers that search by themselves, so that we offer no search: the page is fetched. */
function pageAt(url: string) {
  return (company: string) => ({ name: "web_fetch", args: { url: `${url}/page?q=${company}` } });
}

/** As the scripted provider counts. */
function tokens(body: unknown): number {
  return Math.ceil(JSON.stringify(body).length / 4);
}
