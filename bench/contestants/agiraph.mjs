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
  let heard = () => {};
  const note = defineTool({
    name: NOTE.name,
    description: NOTE.description,
    guidance: "",
    repeatable: true,
    parameters: z.object({ text: z.string().describe(NOTE.parameters.properties.text.description) }),
    run: async ({ text }) => {
      heard();
      return kept(text);
    },
  });
  const equipment = equip(settings);
  const runtime = await openRuntime(settings, { tools: (...bound) => [...equipment(...bound), note] });
  return {
    async converse(worker, onTurn) {
      heard = onTurn;
      const agent = await runtime.create({ goal: GOAL, name: worker, model: `openai-compatible/bench/${MODEL}` });
      agent.onDelta(() => {});
      await agent.idle();
      if (agent.now.agent.status !== "completed") throw new Error(`The agent is ${agent.now.agent.status}.`);
    },
    close: () => runtime.close(),
  };
}
