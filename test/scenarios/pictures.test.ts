import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { startProviderServer, temporaryHome } from "../../src/testing/index.ts";
import type { ProviderTurns } from "../../src/testing/provider-script.ts";
import { configFor, PROVIDERS } from "./over-the-wire.ts";

/** One red point. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const SEERS = ["anthropic/", "openai/", "google/"];

const look = { calls: [{ name: "read_file", args: { path: "project/dot.png" } }] };
const done = { calls: [{ name: "finish", args: { summary: "Red." } }] };

test.each([...PROVIDERS, { name: "OpenRouter, a model that sees", model: "openrouter/anthropic/claude-sonnet-5" }])(
  "a picture is shown to a model that can see, the same in every request; others are told what it is, over $name",
  async ({ model }) => {
    const list = { calls: [{ name: "list_files", args: { path: "project" } }] };
    await inProject(model, [look, list, done], async ({ bodies, conversation, status }) => {
      expect(status).toBe("completed");
      const sees = SEERS.some((seer) => model.replace("openrouter/", "").startsWith(seer));
      expect(bodies.map((body) => body.includes(PNG))).toEqual([false, sees, sees]);
      // The conversation itself stays small.
      expect(conversation.includes(PNG)).toBe(false);
      if (sees) expect(conversation).toContain("project/dot.png is a PNG image, 70 bytes:");
      else expect(bodies[1]).toContain("project/dot.png is a PNG image, 70 bytes; it is not shown as text.");
    });
  },
);

test("a picture that the provider refuses is left out from then on, and the work goes on", async () => {
  const refused = { fault: { status: 400, message: "Could not process image" } } as const;
  const list = { calls: [{ name: "list_files", args: { path: "project" } }] };
  await inProject("anthropic/claude-sonnet-4-5", [look, [refused, list], done], async ({ bodies, status }) => {
    expect(status).toBe("completed");
    expect(bodies.map((body) => body.includes(PNG))).toEqual([false, true, false, false]);
    expect(bodies[3]).toContain("the provider refused it, so you do not see it");
  });
});

interface Seen {
  bodies: string[];
  conversation: string;
  status: string;
}

async function inProject(model: string, turns: ProviderTurns, look: (seen: Seen) => Promise<void>) {
  await using home = await temporaryHome();
  await using provider = await startProviderServer({ turns });
  const project = await mkdtemp(join(tmpdir(), "agiraph-test-"));
  await writeFile(join(project, "dot.png"), Buffer.from(PNG, "base64"));
  const runtime = await openRuntime({ home: home.path, env: provider.env, config: configFor(provider) });
  try {
    const agent = await runtime.create({ goal: "Which colour?", model, project });
    await agent.idle();
    const conversation = JSON.stringify(await agent.log.conversation("conversation.jsonl"));
    const bodies = provider.requests.map(({ body }) => JSON.stringify(body));
    await look({ bodies, conversation, status: agent.now.agent.status });
  } finally {
    await runtime.close();
    await rm(project, { recursive: true });
  }
}
