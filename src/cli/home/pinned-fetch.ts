import { X509Certificate } from "node:crypto";
import { request } from "node:https";
import { Readable } from "node:stream";

/**
 * `fetch` for the server of this very machine, which shows the certificate that config.json names: that one is believed
 * and no other, whoever signed it and whatever name it is for. It may be self-signed, and 127.0.0.1 is in none.
 */
export function pinnedFetch(pem: Buffer): typeof globalThis.fetch {
  const { fingerprint256 } = new X509Certificate(pem);
  const trust = {
    ca: pem,
    // Of a chain only its own part may be in the file.
    allowPartialTrustChain: true,
    checkServerIdentity: (_host: string, shown: { fingerprint256: string }) =>
      shown.fingerprint256 === fingerprint256 ? undefined : new Error("it shows another certificate than config.json"),
  };
  return async (input, init = {}) => {
    const { method = "GET", body } = init;
    const headers = Object.fromEntries(new Headers(init.headers));
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const sent = request(String(input), { method, headers, agent: false, ...trust }, (answer) => {
      resolve(new Response(Readable.toWeb(answer) as ReadableStream, { status: answer.statusCode ?? 500 }));
    });
    sent.once("error", reject).end(typeof body === "string" ? body : undefined);
    return promise;
  };
}
