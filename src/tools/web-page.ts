import { Worker } from "node:worker_threads";
import { z } from "zod";
import { withoutControls } from "./web-foreign.ts";
import { type Fetched, FetchRefused } from "./web-request.ts";

/** What a model reads of what was fetched: markdown for pages, the text itself for text; what is neither is refused. */
export async function readablePage(
  fetched: Fetched,
  signal: AbortSignal,
  bounds: PageBounds = pageBounds,
): Promise<ReadablePage> {
  const kind = kindOf(fetched);
  if (kind === "binary") {
    const type = fetched.contentType || "unknown kind";
    throw new FetchRefused(
      `${fetched.url} is not text but ${type}, ${fetched.cut ? "more than " : ""}${fetched.body.length} bytes. It is not shown.`,
    );
  }
  const text = decoded(fetched);
  if (kind === "text") return { title: "", text: withoutControls(text) };
  const page = await inThread(text, fetched.url, signal, bounds);
  return { title: withoutControls(page.title), text: withoutControls(page.markdown) };
}

export interface ReadablePage {
  title: string;
  text: string;
}

export interface PageBounds {
  timeoutMs: number;
  memoryMb: number;
}

const pageBounds: PageBounds = { timeoutMs: 15_000, memoryMb: 512 };

function kindOf({ contentType, body }: Fetched): "page" | "text" | "binary" {
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  if (type === "text/html" || type === "application/xhtml+xml") return "page";
  if (
    /^text\/|[/+](json|xml|yaml|x-yaml|toml|javascript|x-javascript|ld\+json|x-ndjson|x-sh|x-tex|rtf|sql|graphql)$/.test(
      type,
    )
  )
    return "text";
  if (type && type !== "application/octet-stream" && type !== "unknown/unknown") return "binary";
  const start = body.subarray(0, 1024);
  if (start.includes(0)) return "binary";
  return /^\s*<(!doctype html|html|head|body)/i.test(start.toString("latin1")) ? "page" : "text";
}

/** By what the server says, else by what the page says, else as UTF-8, and if it is not that, as browsers do. */
function decoded({ contentType, body, cut }: Fetched): string {
  const said = /charset\s*=\s*["']?([\w-]+)/i;
  const declared = said.exec(contentType)?.[1] ?? said.exec(body.subarray(0, 2048).toString("latin1"))?.[1];
  const bom =
    body[0] === 0xff && body[1] === 0xfe ? "utf-16le" : body[0] === 0xfe && body[1] === 0xff ? "utf-16be" : undefined;
  const decoder = decoderFor(bom ?? declared);
  if (decoder) return decoder.decode(body);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body, { stream: cut });
  } catch {
    return new TextDecoder("windows-1252").decode(body);
  }
}

function decoderFor(label: string | undefined): InstanceType<typeof TextDecoder> | undefined {
  try {
    return label ? new TextDecoder(label) : undefined;
  } catch {
    return undefined; // A label that nobody knows says nothing.
  }
}

const answerSchema = z.union([
  z.object({ title: z.string(), markdown: z.string() }),
  z.object({ problem: z.string() }),
]);

/** In a thread of its own, because a page may be made to take for ever or all memory; then the thread ends, not we. */
function inThread(
  html: string,
  url: string,
  signal: AbortSignal,
  { timeoutMs, memoryMb }: PageBounds,
): Promise<{ title: string; markdown: string }> {
  const file = new URL(`./web-page-thread.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url);
  const limits = { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 64 };
  const thread = new Worker(file, {
    workerData: { html, url },
    resourceLimits: limits,
    env: {},
    execArgv: ["--no-warnings"],
    stdout: true,
    stderr: true,
  });
  return new Promise<{ title: string; markdown: string }>((resolve, reject) => {
    const refuse = (why: string) =>
      reject(new FetchRefused(`${url} was fetched, but its page could not be read: ${why}.`));
    const timer = setTimeout(() => refuse(`it took more than ${timeoutMs / 1000} s`), timeoutMs);
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop);
    thread.once("message", (message) => {
      const answer = answerSchema.safeParse(message).data ?? { problem: "its reader gave no answer that makes sense" };
      if ("problem" in answer) refuse(answer.problem);
      else resolve(answer);
    });
    thread.once("error", (error) => refuse(error.message));
    thread.once("exit", () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      refuse("its reader ended without a word");
    });
  }).finally(() => thread.terminate());
}
