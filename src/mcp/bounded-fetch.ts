import { setTimeout as after } from "node:timers/promises";

import { EventSize } from "../boundary/event-size.ts";
import { redirectIn } from "../boundary/without-redirects.ts";

const SETTING = "its url in config.json (mcp_servers)";
const MAX_BYTES = 10 * 1024 ** 2;
/** Every message of a batch is checked separately; only an attacker sends many in answer to one. */
const MAX_BATCH_BYTES = 64 * 1024;

/** How long answers may take. */
export interface AnswerTimes {
  /** From a call to the end of its answer, or of the stream that brings it. */
  callMs: number;
  /** The body of an answer that is not a stream, however slowly it drips. */
  bodyMs: number;
  /** A message that wants no answer, and the opening of the standing stream. */
  noticeMs: number;
}

export const ANSWER_TIMES: AnswerTimes = { callMs: 3_700_000, bodyMs: 60_000, noticeMs: 30_000 };

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * A fetch for responses of a server that may be hostile.
 *
 * FETCH-1. The size is limited after decompression: of a response that is read as a whole, and of each event of a
 *     stream. A server that floods us is cut off and cannot fill our memory. Only what the SDK reads event by event
 *     counts as a stream: an error, or the response to a notification, is read as a whole whatever type it claims.
 * FETCH-2. The number of events read per second from a stream is limited; the rest waits on the server's side. The size
 *     of a batch is limited, too.
 * FETCH-3. Every response has a time limit, except the long-lived stream.
 * FETCH-4. A redirect to another origin is refused: the headers may hold a token.
 */
export function boundedFetchWith(times: AnswerTimes): Fetch {
  return async (url, init) => {
    const kind = kindOf(init);
    const limit = new TimeLimit(kind === "call" ? times.callMs : times.noticeMs);
    const signal = init?.signal ? AbortSignal.any([init.signal, limit.signal]) : limit.signal;
    try {
      const response = await fetch(url, { ...init, redirect: "manual", signal });
      const refused = redirectIn(response.status, response.headers.get("location"), String(url), SETTING);
      // Within the origin (/mcp to /mcp/) the SDK goes on by itself, a few times.
      if (refused && !refused.isSameOrigin) {
        await response.body?.cancel().catch(() => {});
        throw refused;
      }
      const isStream = kind !== "notice" && isEvents(response);
      if (!isStream) limit.set(times.bodyMs);
      if (!response.body || (isStream && kind === "standing")) limit.clear();
      return response.body ? withBody(response, response.body.pipeThrough(bounded(isStream, limit))) : response;
    } catch (error) {
      limit.clear();
      throw error;
    }
  };
}

export const boundedFetch = boundedFetchWith(ANSWER_TIMES);

/** What is sent: a call that wants an answer, a message that wants none, or the wish for the standing stream. */
function kindOf(init: RequestInit | undefined): "call" | "notice" | "standing" {
  if (typeof init?.body !== "string") return (init?.method ?? "GET") === "GET" ? "standing" : "notice";
  const message: unknown = JSON.parse(init.body);
  const isCall = typeof message === "object" && message !== null && "id" in message && "method" in message;
  return isCall ? "call" : "notice";
}

function isEvents({ ok, status, headers }: Response): boolean {
  const type = headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  return ok && status !== 202 && type === "text/event-stream";
}

function withBody(response: Response, body: ReadableStream<Uint8Array>): Response {
  const { status, statusText, headers } = response;
  const same = new Response(body, { status, statusText, headers });
  return Object.defineProperties(same, { url: { value: response.url }, redirected: { value: response.redirected } });
}

class TimeLimit {
  readonly #abort = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.set(ms);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  set(ms: number): void {
    clearTimeout(this.#timer);
    const late = () => this.#abort.abort(new Error(`It did not finish its answer within ${ms / 1000} s.`));
    this.#timer = setTimeout(late, ms).unref();
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

const EVENTS_PER_SECOND = 5_000;
/** Fewer than that at once are no flood. */
const FLOOD = 50;

function bounded(byEvent: boolean, limit: TimeLimit): TransformStream<Uint8Array, Uint8Array> {
  const event = new EventSize();
  let bytes = 0;
  let isBatch: boolean | undefined;
  return new TransformStream({
    async transform(chunk, controller) {
      const before = event.ended;
      bytes = byEvent ? event.add(chunk) : bytes + chunk.length;
      const events = event.ended - before;
      if (!byEvent) isBatch ??= startsBatch(chunk);
      if (bytes > MAX_BYTES)
        controller.error(new Error(`It sent a message of more than ${MAX_BYTES / 1024 ** 2} MiB.`));
      else if (isBatch && bytes > MAX_BATCH_BYTES)
        controller.error(new Error(`It sent a batch of more than ${MAX_BATCH_BYTES / 1024} KiB.`));
      else controller.enqueue(chunk);
      if (events > FLOOD) await after((events / EVENTS_PER_SECOND) * 1000);
    },
    flush: () => limit.clear(),
  });
}

/** Whether JSON begins with a list; undefined as long as nothing has come but white space or a byte order mark. */
function startsBatch(chunk: Uint8Array): boolean | undefined {
  const first = chunk.find((byte) => !BEFORE_JSON.has(byte));
  return first === undefined ? undefined : first === 0x5b;
}

const BEFORE_JSON = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);
