import { openJournal } from "../journal.mjs";
import { importPeer } from "../peers.mjs";
import { GOAL, kept, MODEL, NOTE, SYSTEM } from "../work.mjs";

/** Its `Session` is the hook it offers for persistence; this one appends the items it is handed to a durable file. */
export async function open({ baseUrl, home }) {
  const { Agent, OpenAIProvider, Runner, tool } = await importPeer("@openai/agents");
  const modelProvider = new OpenAIProvider({ apiKey: "none", baseURL: baseUrl, useResponses: false });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  return {
    async converse(worker, onTurn) {
      const note = tool({
        ...NOTE,
        strict: true,
        execute: async ({ text }) => {
          onTurn();
          return kept(text);
        },
      });
      const agent = new Agent({ name: "bench", instructions: SYSTEM, model: MODEL, tools: [note] });
      const session = await openSession(worker, `${home}/${worker}.jsonl`);
      const result = await runner.run(agent, GOAL, { stream: true, session, maxTurns: 1_000 });
      for await (const _ of result.toTextStream());
      await result.completed;
      await session.close();
    },
    async close() {},
  };
}

async function openSession(id, path) {
  const journal = await openJournal(path);
  const items = [];
  return {
    getSessionId: async () => id,
    getItems: async () => [...items],
    async addItems(added) {
      items.push(...added);
      await journal.append(...added);
    },
    popItem: async () => items.pop(),
    async clearSession() {
      items.length = 0;
    },
    close: () => journal.close(),
  };
}
