import { expect, test } from "vitest";

/** The package as people import it: the built files, by the names that package.json gives them. */
const library = (await import(/* @vite-ignore */ "agiraph" as string)) as typeof import("../src/index.ts");
const testing = (await import(
  /* @vite-ignore */ "agiraph/testing" as string
)) as typeof import("../src/testing/index.ts");

test("someone adds a tool of their own and a scripted provider calls it", async () => {
  const heard: string[] = [];
  const note = library.defineTool({
    name: "note",
    description: "Keeps a note.",
    guidance: "",
    repeatable: true,
    parameters: library.z.object({ text: library.z.string() }),
    run: async ({ text }) => {
      heard.push(text);
      return "kept";
    },
  });
  await using home = await testing.temporaryHome();
  await using provider = await testing.startProviderServer({
    turns: [
      { calls: [{ name: "note", args: { text: "first" } }] },
      { calls: [{ name: "note", args: { word: "wrong" } }] },
      { calls: [{ name: "finish", args: { summary: "Done." } }] },
    ],
  });
  const settings = { home: home.path, env: provider.env, config: {} };
  const equipment = library.equip(settings);
  const runtime = await library.openRuntime(settings, {
    tools: (...bound) => [...equipment.tools(...bound), note],
  });
  const agent = await runtime.create({ goal: "Keep a note.", model: "ollama/small" });
  await agent.idle();
  await runtime.close();
  expect({ heard, status: agent.now.agent.status }).toEqual({ heard: ["first"], status: "completed" });
});
