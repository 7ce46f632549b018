import { randomBytes } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from "fastify";
import { type Actor, VIA_HEADER } from "../protocol/actor.ts";
import type { Hosting } from "../runtime/hosting.ts";

type CarriedRequest = Parameters<Hosting["ask"]>[1];
type CarriedReply = Awaited<ReturnType<Hosting["ask"]>>;
type Owner = Parameters<Hosting["ask"]>[0];

declare module "fastify" {
  interface FastifyRequest {
    /** From another host, which has checked it: who gave it, where that did not come over HTTP. */
    carried: { actor?: Actor | undefined } | undefined;
  }
}

/** By it, what this process gives itself is told from what comes by the network. */
const HEADER = "x-agiraph-carried";

/** What another host needs to know of a request besides its address and body. */
const ASKED = ["accept", "content-type", "if-modified-since", "if-none-match", "if-range", "range", VIA_HEADER];
/** Of a connection, not of an answer. */
const OF_CONNECTION = new Set(["connection", "content-length", "date", "keep-alive", "transfer-encoding"]);

/**
 * Requests that are carried from one host to another.
 *
 * CARRIED-1. The host that was asked has checked who asks; the other one carries the request out as if it had. A key of
 *     this process, different for each, says which those are: no client can send such a request.
 */
export class CarriedRequests {
  readonly #app: FastifyInstance;
  readonly #known = new Map<string, { actor?: Actor | undefined }>();

  constructor(app: FastifyInstance) {
    this.#app = app;
    app.decorateRequest("carried", undefined);
    // Before the guard, which asks for it.
    app.addHook("onRequest", async (request) => {
      const key = request.headers[HEADER];
      if (typeof key === "string") request.carried = this.#known.get(key);
    });
  }

  /** Here, for another host. */
  readonly carryOut = async ({ method, url, headers, body, actor }: CarriedRequest): Promise<CarriedReply> => {
    const key = randomBytes(32).toString("base64url");
    this.#known.set(key, { actor });
    try {
      const response = await this.#app.inject({
        ...{ method: method as HTTPMethods & "GET", url, payloadAsStream: true },
        headers: { ...headers, [HEADER]: key },
        ...(body.length > 0 && { payload: body }),
      });
      return { status: response.statusCode, headers: plain(response.headers), body: response.stream() };
    } finally {
      this.#known.delete(key);
    }
  };

  /** There. */
  async ask(hosting: Hosting, owner: Owner, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const headers = ASKED.flatMap((name) => {
      const value = request.headers[name];
      return typeof value === "string" ? [[name, value] as const] : [];
    });
    const { method, url, body } = request;
    const answer = await hosting.ask(owner, {
      ...{ method, url, headers: Object.fromEntries(headers) },
      body: body === undefined || body === null ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body)),
    });
    const { Readable } = await import("node:stream");
    return reply.code(answer.status).headers(answer.headers).send(Readable.from(answer.body));
  }
}

function plain(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const all = Object.entries(headers).filter(([name, value]) => !OF_CONNECTION.has(name) && value !== undefined);
  return Object.fromEntries(all.map(([name, value]) => [name, String(value)]));
}
