import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { manualClock, startProviderServer, temporaryHome, until } from "../../src/testing/index.ts";
import { configFor, PROVIDERS } from "./over-the-wire.ts";

/** Seed 002 §11, test 9: infinite game. The front page gets one more post about AI with every look. */
const POSTS = ["AI chips are scarce", "AI writes proofs", "AI beats go", "AI sleeps"];
const CYCLE_SECONDS = 30;
const note = (cycle: number) => ({
  name: "memory_write",
  args: { path: `knowledge/hn-cycle-${cycle}.md`, content: `Reported in cycle ${cycle}: ${POSTS[cycle - 1]}` },
});
const summaryOf = (cycle: number) => `# AI on HN\n\n${POSTS.slice(0, cycle).join("\n")}\n`;
/** One cycle: look, write the summary with what is new and the note of what was reported, sleep. */
const cycle = (number: number, url: string) => [
  { calls: [{ name: "web_fetch", args: { url } }] },
  {
    calls: [
      { name: "write_file", args: { path: "hn_summary.md", content: summaryOf(number) } },
      note(number),
      { name: "checkpoint", args: { summary: `Cycle ${number}: ${POSTS[number - 1]}` } },
    ],
  },
];

test.each(PROVIDERS)("an agent works in cycles until it is stopped, over $name", async ({ model }) => {
  await using page = await frontPage();
  await using home = await temporaryHome();
  await using provider = await startProviderServer({ turns: [1, 2, 3].flatMap((number) => cycle(number, page.url)) });
  const clock = manualClock();
  const config = configFor(provider, { web_fetch: { allow: ["127.0.0.1"] } });
  const runtime = await openRuntime({ home: home.path, env: provider.env, config }, { clock });
  const agent = await runtime.create({
    goal: "Monitor Hacker News front page. Every cycle, check for AI-related posts and update a running summary.",
    model,
    mode: "infinite",
    cycle_seconds: CYCLE_SECONDS,
  });
  const summaries: string[] = [];
  const file = join(agent.log.dir, "runs/run-1/hn_summary.md");
  let slept = 0;
  const asleep = async () => {
    slept += 1;
    await until(
      agent,
      ({ triggers, roster }) => triggers.made >= slept + 1 && roster.coordinator?.status === "waiting",
    );
    summaries.push(await readFile(file, "utf8"));
  };
  await asleep();
  const calls = agent.now.spending.total.calls;
  await clock.advance((CYCLE_SECONDS - 1) * 1000);
  expect(agent.now.spending.total.calls).toBe(calls); // sleeping costs nothing
  await clock.advance(1000);
  await asleep();
  await clock.advance(CYCLE_SECONDS * 1000);
  await asleep();
  await agent.stop("human");
  await clock.advance(10 * CYCLE_SECONDS * 1000);
  await agent.idle();

  // Agent ran 3+ cycles
  const facts = await agent.log.read({ after: 0, limit: 100_000 });
  expect(facts.filter((fact) => fact.type === "worker.checkpointed")).toHaveLength(3);
  // workspace/hn_summary.md was updated each cycle
  expect(summaries).toEqual([summaryOf(1), summaryOf(2), summaryOf(3)]);
  // memory/ has notes from each cycle
  const notes = [1, 2, 3].map((number) =>
    readFile(join(agent.log.dir, `memory/knowledge/hn-cycle-${number}.md`), "utf8"),
  );
  const withoutDay = (text: string) => text.replace(/\s*\([^()]*, run-1\)\n$/, "");
  expect((await Promise.all(notes)).map(withoutDay)).toEqual([1, 2, 3].map((n) => note(n).args.content));
  // Agent didn't re-report the same posts
  const reported = facts.flatMap((fact) => (fact.type === "worker.checkpointed" ? fact.data.summary : []));
  expect(new Set(reported.map((text) => text.split(": ")[1])).size).toBe(3);
  // It saw a new page each time, and what it knew before
  expect(page.looks).toBe(3);
  // Agent stopped cleanly when asked
  expect([agent.now.agent.status, agent.now.agent.run?.finished]).toEqual(["stopped", null]);
  provider.assertDone();
  await runtime.close();
});

async function frontPage() {
  const page = { looks: 0 };
  const server = createServer((_, response) => {
    page.looks += 1;
    const items = POSTS.slice(0, page.looks).map((title) => `<li>${title}</li>`);
    response.setHeader("content-type", "text/html");
    response.end(`<html><body><h1>Hacker News</h1><ul>${items.join("")}</ul></body></html>`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return Object.assign(page, {
    url: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await close();
    },
  });
}
