import { expect, test } from "vitest";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { type ProviderRequest, startProviderServer, temporaryHome } from "../../src/testing/index.ts";
import { configFor, PROVIDERS } from "./over-the-wire.ts";

/** Issue 15: the fixed part of a request, system prompt and tools as they go over the wire, in bytes / 4. */
const MOST = { coordinator: 3500, worker: 2200 };

const GOAL = "Find out.";
const TASK = "Look it up.";

test.each(PROVIDERS)(
  "what a default team is sent before goal and task stays within its budget, over $name",
  async ({ model }) => {
    await using home = await temporaryHome();
    await using provider = await startProviderServer({
      turns: {
        [GOAL]: [
          { calls: [{ name: "create_work_node", args: { task: TASK } }] },
          { text: "I wait." },
          { calls: [{ name: "finish", args: { summary: "Done." } }] },
        ],
        [TASK]: [
          { calls: [{ name: "write_file", args: { path: "scratch/a.md", content: "a" } }] },
          { calls: [{ name: "publish", args: { summary: "It is so." } }] },
        ],
      },
    });
    const runtime = await openRuntime({ home: home.path, env: provider.env, config: configFor(provider) });
    const agent = await runtime.create({ goal: GOAL, model });
    await agent.idle();
    await runtime.close();
    expect(agent.now.agent.status).toBe("completed");
    const coordinator = provider.requests[0];
    const worker = provider.requests.find(({ system }) => system !== coordinator?.system);
    if (!coordinator || !worker) throw new Error("somebody was never asked");
    expect(withinBudget(coordinator, MOST.coordinator), "coordinator").toEqual("within the budget");
    expect(withinBudget(worker, MOST.worker), "worker").toEqual("within the budget");
  },
);

function withinBudget({ system, body }: ProviderRequest, most: number): string | string[] {
  const sections = system
    .replace(GOAL, "")
    .replaceAll(TASK, "")
    .split("\n\n---\n\n")
    .map((text) => ({ name: `prompt: ${text.split("\n", 1)[0]?.slice(0, 40)}`, bytes: Buffer.byteLength(text) + 7 }));
  const parts = [...sections, ...toolsIn(body)];
  const tokens = Math.ceil(parts.reduce((sum, { bytes }) => sum + bytes, 0) / 4);
  if (tokens <= most) return "within the budget";
  const biggest = parts.toSorted((a, b) => b.bytes - a.bytes).map(({ name, bytes }) => `${bytes} bytes: ${name}`);
  return [`${tokens} tokens, ${most} allowed`, ...biggest];
}

/** Each provider nests them differently; Gemini has one list of declarations. */
function toolsIn({ tools }: ProviderRequest["body"]): { name: string; bytes: number }[] {
  const list = (Array.isArray(tools) ? tools : []).flatMap((tool) => tool.functionDeclarations ?? [tool]);
  return list.map((tool) => ({
    name: `tool: ${tool.name ?? tool.function?.name ?? tool.type}`,
    bytes: Buffer.byteLength(JSON.stringify(tool)) + 1,
  }));
}
