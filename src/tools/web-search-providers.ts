import { z } from "zod";
import { boundedText } from "../boundary/bounded-body.ts";
import { RedirectRefused, withoutRedirects } from "../boundary/without-redirects.ts";

/** The search provider: the first that is configured, or none. */
export function searchProvider(env: Readonly<Record<string, string | undefined>>, fetch: Fetch): SearchProvider | null {
  for (const { name, key, base, ask } of vendors) {
    const secret = env[key];
    if (secret)
      return {
        name,
        search: (query, signal) =>
          ask(fetch, { key: secret, base: baseUrl(env[`${name.toUpperCase()}_BASE_URL`] || base) }, query, signal),
      };
  }
  const address = env.SEARXNG_URL;
  return address
    ? { name: "SearXNG", search: (query, signal) => askSearxng(fetch, baseUrl(address), query, signal) }
    : null;
}

export interface SearchProvider {
  readonly name: string;
  search(query: string, signal: AbortSignal): Promise<SearchHit[]>;
}

export interface SearchHit {
  title: string;
  url: string;
  snippet: string;
}

type Fetch = typeof fetch;
interface VendorAccess {
  key: string;
  base: string;
}

const vendors = [
  { name: "Brave", key: "BRAVE_API_KEY", base: "https://api.search.brave.com", ask: askBrave },
  { name: "Serper", key: "SERPER_API_KEY", base: "https://google.serper.dev", ask: askSerper },
  { name: "Tavily", key: "TAVILY_API_KEY", base: "https://api.tavily.com", ask: askTavily },
];

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? "");

const braveAnswer = z.object({
  web: z.object({ results: z.array(z.object({ title: text, url: z.string(), description: text })) }).nullish(),
});

async function askBrave(
  fetch: Fetch,
  { key, base }: VendorAccess,
  query: string,
  signal: AbortSignal,
): Promise<SearchHit[]> {
  const url = `${base}/res/v1/web/search?${new URLSearchParams({ q: query, count: "5" })}`;
  const { web } = await answer(
    fetch,
    "Brave",
    url,
    { headers: { "x-subscription-token": key, accept: "application/json" }, signal },
    braveAnswer,
  );
  return (web?.results ?? []).map(({ title, url, description }) => ({ title, url, snippet: description }));
}

const serperAnswer = z.object({
  organic: z.array(z.object({ title: text, link: z.string(), snippet: text })).nullish(),
});

async function askSerper(
  fetch: Fetch,
  { key, base }: VendorAccess,
  query: string,
  signal: AbortSignal,
): Promise<SearchHit[]> {
  const { organic } = await answer(
    fetch,
    "Serper",
    `${base}/search`,
    posted({ q: query, num: 5 }, { "x-api-key": key }, signal),
    serperAnswer,
  );
  return (organic ?? []).map(({ title, link, snippet }) => ({ title, url: link, snippet }));
}

const listAnswer = z.object({ results: z.array(z.object({ title: text, url: z.string(), content: text })) });

async function askTavily(
  fetch: Fetch,
  { key, base }: VendorAccess,
  query: string,
  signal: AbortSignal,
): Promise<SearchHit[]> {
  const request = posted({ query, max_results: 5 }, { authorization: `Bearer ${key}` }, signal);
  return hitsOf(await answer(fetch, "Tavily", `${base}/search`, request, listAnswer));
}

async function askSearxng(fetch: Fetch, base: string, query: string, signal: AbortSignal): Promise<SearchHit[]> {
  const url = `${base}/search?${new URLSearchParams({ q: query, format: "json" })}`;
  return hitsOf(await answer(fetch, "SearXNG", url, { headers: { accept: "application/json" }, signal }, listAnswer));
}

function hitsOf({ results }: z.infer<typeof listAnswer>): SearchHit[] {
  return results.map(({ title, url, content }) => ({ title, url, snippet: content }));
}

function posted(body: unknown, headers: Record<string, string>, signal: AbortSignal): RequestInit {
  return {
    method: "POST",
    body: JSON.stringify(body),
    headers: { ...headers, "content-type": "application/json" },
    signal,
  };
}

const MAX_ANSWER_BYTES = 4 * 1024 ** 2;

/** A key must not follow a redirect to another host, and an answer is what its schema says or an error that says so. */
async function answer<T>(fetch: Fetch, name: string, url: string, init: RequestInit, schema: z.ZodType<T>): Promise<T> {
  const setting = name === "SearXNG" ? "SEARXNG_URL" : `${name.toUpperCase()}_BASE_URL`;
  const response = await withoutRedirects(fetch, setting)(url, init).catch((error: unknown) => {
    if (error instanceof RedirectRefused) throw new Error(`${name} cannot be reached: ${error.message}.`);
    if (error instanceof DOMException && error.name === "TimeoutError")
      throw new Error(`${name} did not answer in time.`);
    throw new Error(`${name} cannot be reached at ${new URL(url).origin}: ${reasonOf(error)}.`);
  });
  if (!response.ok)
    throw new Error(
      `${name} answered ${response.status}${hints[response.status] ?? ""}.${name === "SearXNG" && response.status === 403 ? jsonHint : ""}`,
    );
  const body = await boundedText(response, MAX_ANSWER_BYTES);
  const parsed = schema.safeParse(parsedJson(body));
  if (!parsed.success)
    throw new Error(`${name} answered something that is not a list of results: ${body.slice(0, 200)}`);
  return parsed.data;
}

const hints: Readonly<Record<number, string>> = {
  401: ": the key is not accepted",
  402: ": the account has no credit left",
  403: ": access is denied",
  429: ": too many searches; wait a little",
};
const jsonHint = " Its settings must allow format=json (search.formats).";

function parsedJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || error.cause.name : error.message;
}

/** Taken with or without its version, as people write it. */
function baseUrl(address: string): string {
  return address.replace(/\/+$/, "").replace(/(\/res)?\/v1$/, "");
}
