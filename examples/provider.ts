/**
 * A provider of models: any service that takes a conversation and gives back words and calls of tools.
 *
 * Copy this file into AGIRAPH_HOME/extensions/, set ACME_KEY and ACME_URL, and name a model: agiraph run --model
 * acme/rocket "…". (A server that speaks OpenAI's chat completions needs no extension: see "providers" in
 * docs/configuration.md.)
 */
import { defineExtension, defineProvider, type Entry, type ModelRequest, type Part } from "agiraph";

interface AcmeMessage {
  role: "user" | "model" | "result";
  text?: string;
  calls?: { id: string; tool: string; input: unknown }[];
  of?: string;
}

export default defineExtension(({ env }) => {
  const url = env.ACME_URL ?? "https://api.acme.example";

  const acme = defineProvider({
    name: "acme",
    keyVariable: "ACME_KEY",
    models: [{ name: "rocket", contextWindow: 128_000, prices: { input: 0.5, output: 2 } }],
    model: (name, { apiKey, settings }) => ({
      // One try. Agiraph repeats it where that may help, and keeps keys out of what is recorded.
      async reply(request, signal) {
        const response = await fetch(`${url}/replies`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-acme-key": apiKey },
          body: JSON.stringify({ model: name, temperature: settings.temperature, ...asked(request) }),
          signal,
        });
        // A `status` tells what kind of failure it is: 401 is not tried again, 503 is.
        if (!response.ok) throw Object.assign(new Error(await response.text()), { status: response.status });
        const said = (await response.json()) as AcmeMessage & { tokens: { in: number; out: number } };
        if (said.text) request.onDelta?.({ kind: "text", text: said.text });
        return { content: partsOf(said), usage: { input: said.tokens.in, output: said.tokens.out } };
      },
    }),
  });

  return { providers: [acme] };
});

function asked({ system, history, tools }: ModelRequest) {
  return {
    system,
    messages: history.map(messageOf),
    tools: tools.map(({ name, description, parameters }) => ({ name, description, schema: parameters })),
  };
}

/** An entry of a conversation, as this service writes it. */
function messageOf(entry: Entry): AcmeMessage {
  if (entry.role === "tool") return { role: "result", of: entry.call_id, text: entry.content };
  if (entry.role !== "assistant") return { role: "user", text: entry.content };
  const text = entry.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  const calls = entry.content.flatMap((part) =>
    part.type === "call" ? [{ id: part.id, tool: part.name, input: part.args }] : [],
  );
  return { role: "model", text, calls };
}

function partsOf({ text, calls = [] }: AcmeMessage): Part[] {
  return [
    ...(text ? [{ type: "text" as const, text }] : []),
    ...calls.map(({ id, tool, input }) => ({ type: "call" as const, id, name: tool, args: input })),
  ];
}
