import { X509Certificate } from "node:crypto";
import { request } from "node:https";
import { Readable } from "node:stream";
import { WebSocket as PinnedSocket } from "ws";
import type { TransportOptions } from "../../client/transport.ts";

/**
 * How to reach a server on this machine that uses the certificate named in config.json: exactly that certificate is
 * trusted, no matter who signed it or which name it is for. It may be self-signed, and none is issued for 127.0.0.1.
 */
export function pinnedServer(pem: Buffer): Required<Pick<TransportOptions, "fetch" | "socket">> {
  const { fingerprint256 } = new X509Certificate(pem);
  const trust = {
    ca: pem,
    // Of a chain only its own part may be in the file.
    allowPartialTrustChain: true,
    checkServerIdentity: (_host: string, shown: { fingerprint256: string }) =>
      shown.fingerprint256 === fingerprint256 ? undefined : new Error("its certificate is not the one in config.json"),
  };
  return {
    // The same interface as the platform's own, which takes no certificate.
    socket: (url, protocols) => new PinnedSocket(url, protocols, trust as object) as unknown as WebSocket,
    fetch: async (input, init = {}) => {
      const { method = "GET", body } = init;
      const headers = Object.fromEntries(new Headers(init.headers));
      const { promise, resolve, reject } = Promise.withResolvers<Response>();
      const sent = request(String(input), { method, headers, agent: false, ...trust }, (answer) => {
        resolve(new Response(Readable.toWeb(answer) as ReadableStream, { status: answer.statusCode ?? 500 }));
      });
      sent.once("error", reject).end(typeof body === "string" ? body : undefined);
      return promise;
    },
  };
}
