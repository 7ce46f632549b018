import { setTimeout } from "node:timers/promises";

import { EventSize } from "../boundary/event-size.ts";
import { redirectIn } from "../boundary/without-redirects.ts";

const SETTING = "its url in config.json (mcp_servers)";
const MAX_BYTES = 10 * 1024 ** 2;

/**
 * A fetch whose answers end: one that is whole may have so many bytes, and of a stream of events each event. A server
 * that floods is cut off, and cannot fill our memory; of a stream so many events are read in a second, and the rest
 * waits on its side. A redirect to another origin is refused: the headers may hold a token.
 */
export async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, redirect: "manual" });
  const refused = redirectIn(response.status, response.headers.get("location"), String(url), SETTING);
  // Within the origin (/mcp to /mcp/) the SDK goes on by itself.
  if (refused && !refused.isSameOrigin) {
    await response.body?.cancel().catch(() => {});
    throw refused;
  }
  if (!response.body) return response;
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const body = response.body.pipeThrough(bounded(isStream));
  const { status, statusText, headers } = response;
  const same = new Response(body, { status, statusText, headers });
  Object.defineProperties(same, { url: { value: response.url }, redirected: { value: response.redirected } });
  return same;
}

const EVENTS_PER_SECOND = 5_000;
/** Fewer than that at once are no flood. */
const FLOOD = 50;

function bounded(byEvent: boolean): TransformStream<Uint8Array, Uint8Array> {
  const event = new EventSize();
  let bytes = 0;
  return new TransformStream({
    async transform(chunk, controller) {
      const before = event.ended;
      bytes = byEvent ? event.add(chunk) : bytes + chunk.length;
      const events = event.ended - before;
      if (bytes > MAX_BYTES)
        controller.error(new Error(`It sent a message of more than ${MAX_BYTES / 1024 ** 2} MiB.`));
      else controller.enqueue(chunk);
      if (events > FLOOD) await setTimeout((events / EVENTS_PER_SECOND) * 1000);
    },
  });
}
