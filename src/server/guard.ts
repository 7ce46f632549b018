import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ServerConfig } from "../protocol/config.ts";
import { isFromHere, plainAddress, type Reach, reachOf } from "./reach.ts";
import { RefusedRequest } from "./refusal.ts";
import type { ServerCredentials } from "./server-credentials.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** `open` wants no token; `signed` has a guard of its own, and is called by whatever name. */
    access?: "open" | "signed";
  }
  interface FastifyRequest {
    /** By which it was asked: the server's own, or the proxy's. */
    origin: string;
  }
}

export interface GuardPorts {
  credentials: ServerCredentials;
  config: ServerConfig;
  now(): number;
}

/**
 * Checks every request before its route, for HTTP and WebSocket alike.
 *
 * GUARD-1. Only the names in `hosts` are answered, and only the pages in `origins` may call; no CORS header is ever
 *     sent. A request that a browser marks as cross-site is refused whatever it carries.
 * GUARD-1a. Without TLS, only the proxy may connect from another machine: a token must not be sent unencrypted.
 * GUARD-2. A request needs the token, or the page's cookie, whose origin must be the requested one; otherwise 401.
 * GUARD-3. A client that guesses tokens has to wait after TRIES a minute. A client with the right token is never locked
 *     out.
 * GUARD-4. Only JSON bodies are accepted.
 * GUARD-4a. A header that decides about access, or where a request ends, may occur only once: two programs on the way
 *     could each use a different one.
 * GUARD-5. A refused WebSocket leaves no open connection behind.
 */
export function registerGuard(app: FastifyInstance, { credentials, config, now }: GuardPorts): void {
  let reach: Reach | undefined;
  const guesses = new Guesses(now);

  app.decorateRequest("origin", "");
  app.addHook("onRequest", async (request, reply) => {
    setSafeHeaders(reply);
    checkGivenOnce(request.raw.rawHeaders);
    // A whole address there would name a host too, and that one was not checked.
    if (!request.raw.url?.startsWith("/"))
      throw new RefusedRequest(400, "bad_request", "Ask for a path that begins with /.");
    const { access } = request.routeOptions.config;
    // Another host has checked it.
    if (access === "signed" || request.carried) return;
    const address = app.server.address();
    reach ??= typeof address === "object" && address ? reachOf(address, config) : undefined;
    request.origin = checkOrigin(request, reach, config);
    if (access !== "open") checkCredentials(request, request.origin, credentials, guesses);
    checkJson(request);
  });

  // Who wanted a WebSocket and got a response instead has a connection that the HTTP server no longer looks after.
  app.addHook("onResponse", async ({ headers, raw }) => {
    if (headers.upgrade !== undefined) raw.socket.destroySoon();
  });
}

function checkGivenOnce(rawHeaders: readonly string[]): void {
  const seen = new Set<string>();
  // Names and values by turns.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? "";
    if (!GIVEN_ONCE.has(name)) continue;
    if (seen.has(name))
      throw new RefusedRequest(400, "bad_request", `The header ${name} was given twice. Send it once.`);
    seen.add(name);
  }
}

const GIVEN_ONCE: ReadonlySet<string> = new Set([
  ...["host", "origin", "authorization", "content-length", "transfer-encoding", "content-type", "sec-fetch-site"],
  ...["upgrade", "x-agiraph-signature", "x-agiraph-timestamp", "x-agiraph-delivery"],
]);

/** The origin that was asked for. */
function checkOrigin(
  { headers, socket }: FastifyRequest,
  reach: Reach | undefined,
  { tls, proxy }: ServerConfig,
): string {
  const host = headers.host?.toLowerCase() ?? "";
  if (!reach?.hosts.has(host))
    throw new RefusedRequest(403, "wrong_host", "Unknown Host header. Add the name to server.names in config.json.");
  const isProxied = proxy !== undefined && host === new URL(proxy.origin).host;
  const isFromProxy = proxy !== undefined && plainAddress(socket.remoteAddress) === proxy.address;
  if (isProxied && !isFromProxy)
    throw new RefusedRequest(403, "wrong_host", "Only requests through the proxy may have this Host header.");
  if (!tls && !isFromProxy && !isFromHere(socket))
    throw new RefusedRequest(403, "not_encrypted", "Requests from other machines must come through the proxy.");
  if (headers.origin !== undefined && !reach.origins.has(headers.origin))
    throw new RefusedRequest(403, "wrong_origin", "Pages from other origins may not call this server.");
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none")
    throw new RefusedRequest(403, "cross_site", "Pages from other sites may not call this server.");
  return isProxied ? proxy.origin : `${tls ? "https" : "http"}://${host}`;
}

function checkCredentials(
  request: FastifyRequest,
  origin: string,
  credentials: ServerCredentials,
  guesses: Guesses,
): void {
  const { headers, ip } = request;
  const given = tokenIn(headers);
  if (given !== undefined) {
    if (credentials.isToken(given)) return;
    const seconds = guesses.note(ip);
    if (seconds > 0)
      throw new RefusedRequest(429, "too_many_tries", `Too many wrong tokens. Try again in ${seconds} s.`, {
        "retry-after": String(seconds),
      });
    throw unauthorised("The token is wrong. `agiraph token` prints the right one.");
  }
  // A browser says where a page comes from; what changes something wants it said.
  const isSafe = request.method === "GET" && headers.upgrade === undefined;
  const isOwnPage = headers.origin === origin || (isSafe && headers.origin === undefined);
  if (headers.cookie !== undefined && isOwnPage && credentials.isCookie(headers.cookie, origin)) return;
  throw unauthorised("A token is needed: Authorization: Bearer TOKEN. `agiraph token` prints it.");
}

/** WebSockets of a browser have no headers of their own: there it comes as a subprotocol. */
function tokenIn(headers: FastifyRequest["headers"]): string | undefined {
  if (headers.authorization !== undefined) return /^Bearer +(\S+)$/i.exec(headers.authorization)?.[1] ?? "";
  const protocols = headers["sec-websocket-protocol"]?.split(",").map((each) => each.trim());
  return protocols?.find((each) => each.startsWith(SUBPROTOCOL))?.slice(SUBPROTOCOL.length);
}

const SUBPROTOCOL = "bearer.";

function checkJson({ headers }: FastifyRequest): void {
  const type = headers["content-type"];
  const hasBody = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  if (type === undefined ? !hasBody : /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type)) return;
  throw new RefusedRequest(415, "not_json", "The Content-Type must be application/json.");
}

function setSafeHeaders(reply: FastifyReply): void {
  reply.headers({
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "cache-control": "no-store",
  });
}

function unauthorised(message: string): RefusedRequest {
  return new RefusedRequest(401, "unauthorised", message, { "www-authenticate": "Bearer" });
}

const TRIES = 10;
const MINUTE = 60_000;
const MOST_ADDRESSES = 10_000;

/** Wrong tokens by address, a minute long. */
class Guesses {
  readonly #now: () => number;
  readonly #by = new Map<string, { count: number; until: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** How many seconds this address has to wait; 0 while it may go on. */
  note(address: string): number {
    const now = this.#now();
    if (this.#by.size > MOST_ADDRESSES) this.#by.clear();
    const known = this.#by.get(address);
    const entry = known && known.until > now ? known : { count: 0, until: now + MINUTE };
    entry.count += 1;
    this.#by.set(address, entry);
    return entry.count > TRIES ? Math.ceil((entry.until - now) / 1000) : 0;
  }
}
