import { openJournal } from "./journal.mjs";
import { GOAL, kept, SYSTEM } from "./work.mjs";

/**
 * What the work costs when somebody writes just that by hand: a list of messages, a request, one durable append a
 * turn, one file a worker. `ask` sends the messages and gives back the assistant's.
 */
export const floorWith =
  (ask) =>
  async ({ baseUrl, home }) => ({
    async converse(worker, onTurn) {
      const journal = await openJournal(`${home}/${worker}.jsonl`);
      const messages = [
        { role: "system", content: SYSTEM },
        { role: "user", content: GOAL },
      ];
      await journal.append(...messages);
      for (;;) {
        const reply = await ask(baseUrl, messages);
        const results = (reply.tool_calls ?? []).map((call) => resultOf(call, onTurn));
        messages.push(reply, ...results);
        await journal.append(reply, ...results);
        if (results.length === 0) return journal.close();
      }
    },
    async close() {},
  });

function resultOf({ id, function: { arguments: args } }, onTurn) {
  onTurn();
  return { role: "tool", tool_call_id: id, content: kept(JSON.parse(args).text) };
}
