const MAX_BYTES = 10 * 1024 ** 2;

/**
 * A fetch whose answers end: one that is whole may have so many bytes, and of a stream of events each line. A server
 * that floods is cut off, and cannot fill our memory.
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

const NEWLINE = 0x0a;

function bounded(byLine: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const line = byLine ? chunk.lastIndexOf(NEWLINE) : -1;
      bytes = line < 0 ? bytes + chunk.length : chunk.length - line - 1;
      if (bytes > MAX_BYTES)
        controller.error(new Error(`It sent a message of more than ${MAX_BYTES / 1024 ** 2} MiB.`));
      else controller.enqueue(chunk);
    },
  });
}
