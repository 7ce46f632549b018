import { openJournal } from "../journal.mjs";
import { importPeer } from "../peers.mjs";
import { GOAL, kept, MODEL, NOTE, SYSTEM } from "../work.mjs";

/** `ai` keeps nothing by itself: its documented hook, `onStepFinish`, appends the step's new messages. */
export async function open({ baseUrl, home }) {
  const { jsonSchema, stepCountIs, streamText, tool } = await importPeer("ai");
  const { createOpenAICompatible } = await importPeer("@ai-sdk/openai-compatible");
  const model = createOpenAICompatible({ name: "bench", baseURL: baseUrl, apiKey: "none", includeUsage: true })(MODEL);
  return {
    async converse(worker, onTurn) {
      const journal = await openJournal(`${home}/${worker}.jsonl`);
      const note = tool({
        description: NOTE.description,
        inputSchema: jsonSchema(NOTE.parameters),
        execute: ({ text }) => {
          onTurn();
          return kept(text);
        },
      });
      await journal.append({ role: "user", content: GOAL });
      const result = streamText({
        model,
        system: SYSTEM,
        prompt: GOAL,
        tools: { note },
        stopWhen: stepCountIs(1_000),
        onStepFinish: ({ response }) => journal.append(...response.messages),
        onError: ({ error }) => {
          throw error;
        },
      });
      for await (const _ of result.textStream);
      await journal.close();
    },
    async close() {},
  };
}
