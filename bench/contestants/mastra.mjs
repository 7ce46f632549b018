import { importPeer } from "../peers.mjs";
import { GOAL, kept, MODEL, NOTE, SYSTEM } from "../work.mjs";

/** Its own memory over its LibSQL storage, saved at every step. */
export async function open({ baseUrl, home }) {
  const { Agent } = await importPeer("@mastra/core/agent");
  const { createTool } = await importPeer("@mastra/core/tools");
  const { Memory } = await importPeer("@mastra/memory");
  const { LibSQLStore } = await importPeer("@mastra/libsql");
  const { createOpenAICompatible } = await importPeer("@ai-sdk/openai-compatible");
  const { z } = await importPeer("zod");
  const storage = new LibSQLStore({ id: "bench", url: `file:${home}/mastra.db` });
  await storage.init();
  const memory = new Memory({ storage, options: { lastMessages: 10_000 } });
  const model = createOpenAICompatible({ name: "bench", baseURL: baseUrl, apiKey: "none", includeUsage: true })(MODEL);
  const inputSchema = z.object({ text: z.string().describe(NOTE.parameters.properties.text.description) });
  return {
    async converse(worker, onTurn) {
      const note = createTool({
        id: NOTE.name,
        description: NOTE.description,
        inputSchema,
        execute: async ({ text }) => {
          onTurn();
          return kept(text);
        },
      });
      const agent = new Agent({ id: worker, name: worker, instructions: SYSTEM, model, memory, tools: { note } });
      const options = { memory: { thread: worker, resource: "bench" }, maxSteps: 1_000, savePerStep: true };
      const result = await agent.stream(GOAL, options);
      for await (const _ of result.textStream);
      if (result.error) throw result.error;
    },
    close: () => storage.close(),
  };
}
