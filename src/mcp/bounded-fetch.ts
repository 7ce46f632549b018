import { setTimeout } from "node:timers/promises";

const MAX_BYTES = 10 * 1024 ** 2;

/**
 * A fetch whose answers end: one that is whole may have so many bytes, and of a stream of events each event. A server
 * that floods is cut off, and cannot fill our memory; of a stream so many events are read in a second, and the rest
 * waits on its side.
 */
export async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
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
const [NEWLINE, RETURN] = [0x0a, 0x0d];

function bounded(byEvent: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let isLineEmpty = true;
  /** Returns how many events it ended. */
  const add = (chunk: Uint8Array): number => {
    bytes += chunk.length;
    if (!byEvent) return 0;
    let events = 0;
    // An event may have any number of lines: it is over with an empty one, and not before.
    for (let at = 0; at < chunk.length; at++) {
      if (chunk[at] === RETURN) continue;
      if (chunk[at] === NEWLINE && isLineEmpty) {
        bytes = chunk.length - at - 1;
        events += 1;
      }
      isLineEmpty = chunk[at] === NEWLINE;
    }
    return events;
  };
  return new TransformStream({
    async transform(chunk, controller) {
      const events = add(chunk);
      if (bytes > MAX_BYTES)
        controller.error(new Error(`It sent a message of more than ${MAX_BYTES / 1024 ** 2} MiB.`));
      else controller.enqueue(chunk);
      if (events > FLOOD) await setTimeout((events / EVENTS_PER_SECOND) * 1000);
    },
  });
}
