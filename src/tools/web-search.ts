import { z } from "zod";
import { defineTool, refusal, type Tool, type ToolOutput } from "./tool.ts";
import { foreignText, withoutControls } from "./web-foreign.ts";
import { type SearchHit, type SearchProvider, searchProvider } from "./web-search-providers.ts";

/**
 * `web_search`. If a model's provider has its own search, that replaces this tool (`models/wire/sdk-wire.ts`). The
 * limit is per turn: the calls of one reply (seed 003: per inference call).
 */
export function webSearchTool({ env, fetch, turn }: SearchPorts): Tool {
  const provider = searchProvider(env, fetch);
  const most = maxUses(env);
  let used = 0;
  let usedIn = turn();
  return defineTool({
    name: "web_search",
    description: `Search the web, at most ${most} times a turn. Read a page with web_fetch before you rely on it.`,
    repeatable: true,
    readOnly: true,
    parameters: toSearch,
    async run({ query }, signal) {
      if (!provider) return refusal(noProvider);
      if (turn() !== usedIn) used = 0;
      usedIn = turn();
      if (used >= most)
        return refusal(`A turn has ${most} searches, and this one has used them. Look at what you found first.`);
      used++;
      return search(provider, query, signal);
    },
  });
}

export function canSearch(env: SearchPorts["env"]): boolean {
  return searchProvider(env, fetch) !== null;
}

export interface SearchPorts {
  /** The number of the reply whose calls are being made. */
  turn(): number;
  env: Readonly<Record<string, string | undefined>>;
  fetch: typeof fetch;
}

const toSearch = z.object({ query: z.string().trim().min(1).max(400) });

const someTimes = z.coerce.number().int().nonnegative();

const maxHits = 5;
const timeoutMs = 20_000;

const noProvider =
  "No search provider is configured. Set BRAVE_API_KEY, SERPER_API_KEY or TAVILY_API_KEY, or SEARXNG_URL; ask the human if you need it. " +
  "You can still read pages whose address you know with web_fetch.";

async function search(provider: SearchProvider, query: string, signal: AbortSignal): Promise<ToolOutput> {
  try {
    const hits = (await provider.search(query, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]))).slice(
      0,
      maxHits,
    );
    if (hits.length === 0) return `${provider.name} found nothing for "${query}". Try other or fewer words.`;
    return foreignText(`a web search (${provider.name}) for "${query}"`, hits.map(formatted).join("\n\n"));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return refusal(`The search failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function formatted({ title, url, snippet }: SearchHit, index: number): string {
  return `${index + 1}. ${oneLine(title, 200)}\n   ${oneLine(url, 500)}\n   ${oneLine(snippet, 500)}`;
}

/** Providers mark the words they found with tags. */
function oneLine(text: string, longest: number): string {
  const plain = withoutControls(text.replace(/<[^<>]{0,50}>/g, ""))
    .replace(/\s+/g, " ")
    .trim();
  return plain.length > longest ? `${plain.slice(0, longest - 1)}…` : plain;
}

function maxUses({ AGIRAPH_SEARCH_MAX_USES: value }: SearchPorts["env"]): number {
  const parsed = someTimes.safeParse(value);
  return value && parsed.success ? parsed.data : 5;
}
