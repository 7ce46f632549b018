import { openJournal } from "../journal.mjs";
import { importPeer } from "../peers.mjs";
import { GOAL, kept, MODEL, NOTE, SYSTEM } from "../work.mjs";

/** It keeps nothing by itself; its subscribers are awaited, so one appends each message as it ends (as its own coding agent does). */
export async function open({ baseUrl, home }) {
  const { Agent } = await importPeer("@mariozechner/pi-agent-core");
  const { Type } = await importPeer("@mariozechner/pi-ai");
  const parameters = Type.Object({ text: Type.String({ description: NOTE.parameters.properties.text.description }) });
  return {
    async converse(worker, onTurn) {
      const journal = await openJournal(`${home}/${worker}.jsonl`);
      const note = {
        name: NOTE.name,
        label: NOTE.name,
        description: NOTE.description,
        parameters,
        execute: async (_id, { text }) => {
          onTurn();
          return { content: [{ type: "text", text: kept(text) }], details: {} };
        },
      };
      const agent = new Agent({
        initialState: { systemPrompt: SYSTEM, model: modelAt(baseUrl), tools: [note] },
        getApiKey: () => "none",
      });
      agent.subscribe((event) => (event.type === "message_end" ? journal.append(event.message) : undefined));
      await agent.prompt(GOAL);
      if (agent.state.errorMessage) throw new Error(agent.state.errorMessage);
      await journal.close();
    },
    async close() {},
  };
}

const modelAt = (baseUrl) => ({
  id: MODEL,
  name: MODEL,
  api: "openai-completions",
  provider: "bench",
  baseUrl,
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1_000_000,
  maxTokens: 4096,
});
