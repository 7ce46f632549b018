import { defineTool, openRuntime, z } from "../../dist/bundle/index.js";
import { GOAL, kept, MODEL, NOTE } from "../work.mjs";

/**
 * The product as it is: the runtime over a fresh home, every tool it would have anyway and `note` beside them. Nothing
 * is switched off. A conversation is an agent that works alone; a team is one agent with so many nodes and workers.
 */
export async function open({ baseUrl, home }) {
  const providers = { bench: { base_url: baseUrl, context_window: 1_000_000, prices: { input: 1, output: 2 } } };
  const contract = { max_iterations_per_node: 1_000 };
  const settings = { home, env: {}, config: { max_turns: 1_000, max_concurrent: 1_000, contract, providers } };
  let heard = () => {};
  const note = defineTool({
    name: NOTE.name,
    description: NOTE.description,
    repeatable: true,
    parameters: z.object({ text: z.string().describe(NOTE.parameters.properties.text.description) }),
    run: async ({ text }) => {
      heard();
      return kept(text);
    },
  });
  const runtime = await openRuntime({ ...settings, tools: [note] });
  const begin = async (name) => {
    const agent = await runtime.create({ goal: GOAL, name, model: `openai-compatible/bench/${MODEL}` });
    agent.onDelta(() => {});
    return agent;
  };
  const completed = async (name) => {
    const agent = await begin(name);
    await agent.idle();
    if (agent.now.agent.status !== "completed") throw new Error(`The agent is ${agent.now.agent.status}.`);
    return agent.now;
  };
  return {
    begin,
    async converse(worker, onTurn) {
      heard = onTurn;
      await completed(worker);
    },
    async team(workers) {
      const { board, roster } = await completed("team");
      const done = Object.values(board.nodes).filter((node) => node.status === "completed").length;
      const people = Object.keys(roster).length - 1;
      if (done !== workers || people !== workers)
        throw new Error(`${people} workers completed ${done} nodes, not ${workers}.`);
    },
    close: () => runtime.close(),
  };
}
