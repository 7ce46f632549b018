import { z } from "zod";
import { orAbort } from "../boundary/or-abort.ts";
import { type Lookup, PrivateAddress, systemLookup } from "../sandbox/index.ts";
import { defineTool, type Tool, type ToolOutput } from "./tool.ts";
import { foreignText } from "./web-foreign.ts";
import { type ReadablePage, readablePage } from "./web-page.ts";
import { type Fetched, FetchRefused, requestPage } from "./web-request.ts";

/** `web_fetch`: a page of the public web as markdown, marked as what others wrote. */
export function webFetchTool(options: FetchOptions = {}): Tool {
  const bounds = { ...defaults, ...options };
  // Paging on must not fetch again: the page may have changed meanwhile, and its server has done its work.
  let last: { url: string; page: Page } | null = null;
  return defineTool({
    name: "web_fetch",
    description:
      "Read a public web page; go on in a long one with offset. Put nothing private into the address, and name it when you rely on a page.",
    repeatable: true,
    readOnly: true,
    parameters: toFetch,
    async run({ url, offset = 0 }, signal) {
      try {
        const page = last?.url === url && offset > 0 ? last.page : await fetchPage(url, bounds, signal);
        last = { url, page };
        return part(page, offset, bounds.maxCharacters);
      } catch (error) {
        return problem(error, url, signal);
      }
    },
  });
}

/** The text of a page, for callers that only compare it; rejects, in words, if there is none. */
export async function fetchText(url: string, options: FetchOptions, signal: AbortSignal): Promise<string> {
  try {
    const { fetched, title, text } = await fetchPage(url, { ...defaults, ...options }, signal);
    if (fetched.status < 400) return title ? `# ${title}\n\n${text}` : text;
    throw new FetchRefused(`The server answered ${fetched.status}.`);
  } catch (error) {
    const said = problem(error, url, signal);
    throw new Error(typeof said === "string" ? said : said.content, { cause: error });
  }
}

export interface FetchOptions {
  lookup?: Lookup;
  /** Hosts ("host" or "host:port") that may have a private address: for an intranet, and for tests. */
  allowPrivate?: readonly string[];
  maxBytes?: number;
  maxCharacters?: number;
  timeoutMs?: number;
}

type Bounds = Required<FetchOptions>;

const defaults: Bounds = {
  lookup: systemLookup,
  allowPrivate: [],
  maxBytes: 5 * 1024 ** 2,
  maxCharacters: 15_000,
  timeoutMs: 30_000,
};

const toFetch = z.object({
  url: z.string().trim().min(1).max(4_000),
  offset: z.int().nonnegative().optional(),
});

interface Page extends ReadablePage {
  fetched: Omit<Fetched, "body">;
}

async function fetchPage(
  url: string,
  { lookup, allowPrivate, maxBytes, timeoutMs }: Bounds,
  signal: AbortSignal,
): Promise<Page> {
  const both = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const { body, ...fetched } = await orAbort(
    requestPage(url, { lookup, allowPrivate }, { maxBytes, signal: both }),
    both,
  );
  return { ...(await readablePage({ ...fetched, body }, both)), fetched };
}

function part({ fetched, title, text }: Page, offset: number, most: number): ToolOutput {
  const { url, status, cut } = fetched;
  const from = startOfCharacter(text, Math.min(offset, text.length));
  const to = startOfCharacter(text, Math.min(from + most, text.length));
  const notes = [
    status >= 200 && status < 300 ? "" : `The server answered ${status}.`,
    cut ? "The page was too big; only its first part was read." : "",
    to < text.length ? `Characters ${from} to ${to} of ${text.length}; go on with offset ${to}.` : "",
    offset >= text.length && offset > 0 ? `The page has only ${text.length} characters.` : "",
  ];
  const shown = text.slice(from, to);
  const content = foreignText(
    url,
    [title && from === 0 ? `# ${title}\n` : "", shown || "(empty)"].filter(Boolean).join("\n"),
  );
  return { ok: status < 400, content: [...notes, content].filter(Boolean).join("\n") };
}

/** Not between the two halves of one character. */
function startOfCharacter(text: string, index: number): number {
  return /[\udc00-\udfff]/.test(text.charAt(index)) && /[\ud800-\udbff]/.test(text.charAt(index - 1))
    ? index - 1
    : index;
}

function problem(error: unknown, url: string, signal: AbortSignal): ToolOutput {
  if (signal.aborted) throw signal.reason;
  if (error instanceof FetchRefused) return { ok: false, content: error.message };
  if (error instanceof PrivateAddress)
    return { ok: false, content: `${error.message} Only the public web is fetched.` };
  if (error instanceof DOMException && error.name === "TimeoutError")
    return { ok: false, content: `${url} did not answer in time.` };
  const reason =
    error instanceof Error ? ("code" in error ? `${error.message} (${error.code})` : error.message) : String(error);
  return { ok: false, content: `${url} could not be fetched: ${reason}` };
}
