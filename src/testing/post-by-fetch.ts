import type { Post } from "../models/wire/post.ts";

/** A fetch that a test made up, in the place of a server. */
export function postByFetch(fetch: typeof globalThis.fetch): Post {
  return async (url, headers, body, signal) => {
    const response = await fetch(url, { method: "POST", headers, body: Buffer.concat(body).toString(), signal });
    return {
      status: response.status,
      statusText: response.statusText,
      headers: Object.fromEntries(response.headers),
      async read(onChunk) {
        const reader = response.body?.getReader();
        const cancel = () => void reader?.cancel().catch(() => {});
        signal.addEventListener("abort", cancel, { once: true });
        for (;;) {
          const next = await reader?.read();
          if (!next || next.done || signal.aborted) return;
          if (!onChunk(next.value)) return cancel();
        }
      },
      drop: () => void response.body?.cancel().catch(() => {}),
    };
  };
}
