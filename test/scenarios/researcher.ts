import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Model } from "../../src/models/model.ts";
import { callsOf, type Entry, NO_USAGE, textOf } from "../../src/protocol/index.ts";
import type { ProviderMessage } from "../../src/testing/index.ts";

export const COMPANIES = [
  "Aleph",
  "Borealis",
  "Cantor",
  "Dryad",
  "Ember",
  "Fathom",
  "Gneiss",
  "Halcyon",
  "Isotope",
  "Juniper",
] as const;
export const RESEARCH_GOAL =
  "Do a comprehensive analysis of the top 10 AI startups. Research each one individually: " +
  `${COMPANIES.join(", ")}. Then write analysis.md with what each is worth.`;

interface Shown {
  messages: readonly ProviderMessage[];
  tools: readonly string[];
}

export interface Move {
  text: string;
  calls: { name: string; args: unknown }[];
}

/**
 * A mind without a memory of its own: what it does next follows from what it is shown and from nothing else. A company
 * whose file it cannot see it would research again; a figure it cannot see it cannot write.
 */
export function research({ messages, tools }: Shown, look: (company: string) => Move["calls"][number]): Move {
  const words = messages.map((each) =>
    each.role === "assistant" ? `${each.text}${JSON.stringify(each.calls)}` : each.text,
  );
  const seen = words.join("\n");
  const done = COMPANIES.filter((name) => new RegExp(`(Wrote \\d+ bytes to|- )\\s*research/${name}\\.md`).test(seen));
  const next = COMPANIES.find((name) => !done.includes(name));
  const flush = words.findLastIndex((each) => each.includes("Your conversation is about to be compacted"));
  if (flush >= 0) {
    const isWritten = messages.slice(flush + 1).some((each) => each.role !== "assistant");
    return isWritten ? say(`Next is ${next ?? "the analysis"}.`) : act(noting(done, tools));
  }
  const found = next && worthOf(next, seen);
  if (next && !found) return act(look(next));
  if (next)
    return act(write(`research/${next}.md`, `# ${next} is valued at $${found} million\n\n${"Why. ".repeat(250)}\n`));
  const unknown = COMPANIES.find((name) => !worthOf(name, seen));
  if (unknown) return act({ name: "read_file", args: { path: `research/${unknown}.md`, limit: 1 } });
  const analysis = COMPANIES.map((name) => `${name}: $${worthOf(name, seen)} million`).join("\n");
  if (!/Wrote \d+ bytes to analysis\.md/.test(seen)) return act(write("analysis.md", analysis));
  return act({ name: "finish", args: { summary: analysis } });
}

function worthOf(name: string, seen: string): string | undefined {
  return new RegExp(`${name} is valued at \\$(\\d+) million`).exec(seen)?.[1];
}

function noting(done: readonly string[], tools: readonly string[]): Move["calls"][number] {
  const content = `## Researched so far\n\n${done.join(", ")}\n`;
  return tools.includes("memory_write")
    ? { name: "memory_write", args: { path: "knowledge/startups.md", content, mode: "replace" } }
    : write("agent/memory/knowledge/startups.md", content);
}

function write(path: string, content: string) {
  return { name: "write_file", args: { path, content } };
}

function say(text: string): Move {
  return { text, calls: [] };
}

function act(...calls: Move["calls"]): Move {
  return { text: "", calls };
}

/** The same mind in the process. Strict about its history, as providers are. */
export function researcher(contextWindow: number): Model {
  let made = 0;
  return {
    id: "scripted/coordinator",
    contextWindow,
    searchesWeb: false,
    async reply({ history, tools }, signal) {
      signal.throwIfAborted();
      const shown = { messages: asSent(history), tools: tools.map(({ name }) => name) };
      checkPairs(shown.messages);
      const { text, calls } = research(shown, searchFor);
      const id = () => `call-${history.length}-${++made}`;
      return {
        role: "assistant",
        content: [
          ...(text ? [{ type: "text" as const, text }] : []),
          ...calls.map((call) => ({ type: "call" as const, id: id(), ...call })),
        ],
        model: "scripted/coordinator",
        usage: NO_USAGE,
        cost_usd: 0,
        finish: calls.length > 0 ? "tool-calls" : "stop",
      };
    },
  };
}

export function searchFor(company: string) {
  return { name: "web_search", args: { query: company } };
}

function asSent(history: readonly Entry[]): ProviderMessage[] {
  return history.map((entry) => {
    if (entry.role === "assistant")
      return {
        role: "assistant",
        text: textOf(entry),
        calls: callsOf(entry).map(({ id, name, args }) => ({ id, name, args })),
      };
    if (entry.role === "tool") return { role: "tool", call_id: entry.call_id, text: entry.content };
    return { role: "user", text: entry.content };
  });
}

/** What providers refuse: words before anybody spoke, a call without its result, a result without its call. */
export function checkPairs(messages: readonly ProviderMessage[]): void {
  if (messages[0]?.role !== "user") throw new Error(`The conversation begins with ${messages[0]?.role}.`);
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool") {
      if (!open.delete(message.call_id)) throw new Error(`${message.call_id} is a result without its call.`);
    } else {
      if (open.size > 0) throw new Error(`${[...open].join()} has no result.`);
      open = new Set(message.role === "assistant" ? message.calls.map(({ id }) => id) : []);
    }
  }
  if (messages.at(-1)?.role === "assistant") throw new Error("There is nothing to answer.");
}

/** What only the web knows. */
export function worth(company: string): number {
  return 100 + 7 * COMPANIES.indexOf(company as (typeof COMPANIES)[number]);
}

/** A SearXNG, and pages for whoever fetches them; it remembers what was asked. */
export async function startWeb() {
  const queries: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    const company = url.searchParams.get("q") ?? "";
    queries.push(company);
    const content = `${company} is valued at $${worth(company)} million. ${"It builds models. ".repeat(20)}`;
    const page = url.pathname === "/page";
    response.setHeader("content-type", page ? "text/plain" : "application/json");
    const results = Array.from({ length: 5 }, (_, at) => ({
      title: company,
      url: `https://example.org/${at}`,
      content,
    }));
    response.end(page ? content.repeat(5) : JSON.stringify({ results }));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    queries,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
