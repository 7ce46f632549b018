import { z } from "zod";
import { equip } from "../../dist/runtime/equipment.js";
import { openRuntime } from "../../dist/runtime/open-runtime.js";
import { defineTool } from "../../dist/tools/tool.js";
import { GOAL, kept, MODEL, NOTE } from "../work.mjs";

/**
 * The product as it is: the runtime over a fresh home, an agent per conversation, every tool it would have anyway and
 * `note` beside them. Nothing is switched off.
 */
export async function open({ baseUrl, home }) {
  const providers = { bench: { base_url: baseUrl, context_window: 1_000_000, prices: { input: 1, output: 2 } } };
  const settings = { home, env: {}, config: { max_turns: 1_000, providers } };
  const turns = new Map();
  const noteOf = (agentDir) =>
    defineTool({
      name: NOTE.name,
      description: NOTE.description,
      guidance: "",
      effect: "read",
      parameters: z.object({ text: z.string() }),
      run: async ({ text }) => {
        turns.get(agentDir)?.();
        return kept(text);
      },
    });
  const equipment = equip(settings);
  const runtime = await openRuntime(settings, {
    tools: (scope, actor, model) => [...equipment(scope, actor, model), noteOf()],
  });
  return {
    async converse(worker, onTurn) {
      const agent = await runtime.create({ goal: GOAL, name: worker, model: `openai-compatible/bench/${MODEL}` });
      await agent.idle();
    },
    close: () => runtime.close(),
  };
}
