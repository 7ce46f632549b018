import { expect, test } from "vitest";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { type ProviderRequest, startProviderServer, temporaryHome } from "../../src/testing/index.ts";
import { configFor, PROVIDERS } from "./over-the-wire.ts";

/** Issue 15: providers charge a tenth for a prefix they know, and know it by its bytes. */
test.each(PROVIDERS)("each request begins with all of the one before it, over $name", async ({ model }) => {
  await using home = await temporaryHome();
  await using provider = await startProviderServer({
    turns: {
      "Work it out.": [
        { calls: [{ name: "create_work_node", args: { task: "Look it up." } }] },
        { text: "I wait." },
        { calls: [{ name: "write_file", args: { path: "output/a.md", content: "a" } }] },
        {
          calls: [
            { name: "read_file", args: { path: "output/a.md" } },
            { name: "check_board", args: {} },
          ],
        },
        { calls: [{ name: "finish", args: { summary: "Done.", learned: "" } }] },
      ],
      "Look it up.": [
        { calls: [{ name: "write_file", args: { path: "scratch/a.md", content: "a" } }] },
        { calls: [{ name: "edit_file", args: { path: "scratch/a.md", old: "a", new: "b" } }] },
        { calls: [{ name: "publish", args: { summary: "It is so." } }] },
      ],
    },
  });
  const runtime = await openRuntime({ home: home.path, env: provider.env, config: configFor(provider) });
  const agent = await runtime.create({ goal: "Work it out.", model });
  await agent.idle();
  await runtime.close();
  expect(agent.now.agent.status).toBe("completed");

  const conversations = Map.groupBy(provider.requests, ({ system }) => system);
  expect([...conversations.values()].map((requests) => requests.length)).toEqual([5, 3]);
  for (const requests of conversations.values()) {
    for (const [at, request] of requests.slice(1).entries()) {
      const [before, now] = [partsOf(requests[at] as ProviderRequest), partsOf(request)];
      expect(now.fixed).toBe(before.fixed);
      // The last message of the request before may have grown: neighbours of one speaker are one message.
      const kept = before.messages.slice(0, -1);
      expect(now.messages.slice(0, kept.length)).toEqual(kept);
      expect(now.messages.length).toBeGreaterThan(before.messages.length);
    }
  }
});

/** What comes before the messages, and each of those as the text that is sent; marks that say where to cache move on. */
function partsOf({ body }: ProviderRequest): { fixed: string; messages: string[] } {
  const plain = withoutMarks(body) as Record<string, unknown>;
  const list = ["messages", "input", "contents"].map((key) => plain[key]).find(Array.isArray) ?? [];
  const { messages: _m, input: _i, contents: _c, ...fixed } = plain;
  return { fixed: JSON.stringify(fixed), messages: list.map((message) => JSON.stringify(message)) };
}

function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (!(value instanceof Object)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== "cache_control")
      .map(([key, each]) => [key, withoutMarks(each)]),
  );
}
