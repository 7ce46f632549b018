/**
 * A tool: agents look up tickets in a tracker over HTTP.
 *
 * Copy this file into AGIRAPH_HOME/extensions/ and set TRACKER_URL and TRACKER_TOKEN (in AGIRAPH_HOME/.env, for example).
 */
import { defineExtension, defineTool, z } from "agiraph";

export default defineExtension(({ env }) => {
  const url = env.TRACKER_URL ?? "http://127.0.0.1:8080";
  const headers = { authorization: `Bearer ${env.TRACKER_TOKEN ?? ""}` };

  const findTickets = defineTool({
    name: "find_tickets",
    // All that a model is told of the tool, besides the names and descriptions of its parameters.
    description: "Finds tickets in our tracker by their words. Gives the id, the state and the title of each.",
    parameters: z.object({
      words: z.string().min(1).describe("What to look for, e.g. login timeout"),
      limit: z.int().min(1).max(50).optional().describe("At most so many; 10 by default"),
    }),
    // It changes nothing, so it may be called again after a crash, and while a message waits.
    repeatable: true,
    readOnly: true,
    timeoutSeconds: 20,
    async run({ words, limit = 10 }, signal) {
      const query = new URLSearchParams({ q: words, limit: String(limit) });
      const response = await fetch(`${url}/tickets?${query}`, { headers, signal });
      // What the model can do something about is a result with `ok: false`; anything else may be thrown.
      if (response.status === 404) return { ok: false, content: `No ticket has the words "${words}". Try fewer.` };
      if (!response.ok) throw new Error(`the tracker answered ${response.status}`);
      const tickets = (await response.json()) as { id: string; state: string; title: string }[];
      return tickets.map(({ id, state, title }) => `${id} (${state}): ${title}`).join("\n");
    },
  });

  return { tools: [findTickets] };
});
