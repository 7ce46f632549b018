import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { connect, type Socket } from "node:net";
import { type Duplex, pipeline } from "node:stream";
import { isListed, type Lookup, resolvePublic, systemLookup } from "./public-address.ts";

export interface Network {
  /** "host", "host:port", "*.host" or "*". A private address must itself be listed: "10.0.0.7", "localhost:8080". */
  readonly allow: readonly string[];
}

/**
 * The only way out of a sandbox: our proxy.
 *
 * EGRESS-1. Only listed hosts and ports are reached, by CONNECT or plain HTTP.
 * EGRESS-2. We resolve names ourselves and connect to the address that we checked. A private address is reached only if
 *     it is itself listed.
 * EGRESS-3. Nothing that either side sends throws outside of a handler: a response that cannot be passed on becomes a
 *     502, and a failed connection closes both its sides and nothing else.
 * EGRESS-4. The number of connections to the outside is limited, including those still being opened for a client that
 *     has gone.
 */
export function egressProxy(network: Network, lookup: Lookup = systemLookup): Egress {
  const open = new Set<Duplex>();
  let dialing = 0;
  const dial = async (host: string, port: number) => {
    if (dialing + open.size >= MOST_DIALED)
      throw new RefusedConnection(
        `This sandbox has ${MOST_DIALED} connections open, the most that it may have. Close some and try again.`,
      );
    dialing++;
    try {
      return await dialListed(host, port, network, lookup, open);
    } finally {
      dialing--;
    }
  };
  const server = createServer((request, response) => {
    forward(request, response, dial).catch(() => response.destroy());
  });
  server.on("connect", (request, client, head) => {
    // From here on the HTTP server no longer looks after this socket.
    client.on("error", () => {});
    tunnel(request, client, head, dial).catch(() => client.destroy());
  });
  // Accepting a connection can fail, for example when no descriptors are left. The client tries again.
  server.on("error", () => {});
  return {
    server,
    dial,
    close() {
      for (const stream of open) stream.destroy();
    },
  };
}

const MOST_DIALED = 256;

export interface Egress {
  /** Not yet listening. */
  readonly server: Server;
  /** Reaches what is listed and nothing else. */
  readonly dial: Dial;
  /** Cuts whatever it dialed. */
  close(): void;
}

export type Dial = (host: string, port: number) => Promise<Socket>;

class RefusedConnection extends Error {}

async function dialListed(
  host: string,
  port: number,
  { allow }: Network,
  lookup: Lookup,
  open: Set<Duplex>,
): Promise<Socket> {
  if (!isListed(host, port, allow))
    throw new RefusedConnection(
      `${host}:${port} is not on the list of hosts that this sandbox may reach: ${allow.join(", ") || "none"}.`,
    );
  // A name or a pattern speaks for public addresses only; "localhost" and literal addresses speak for themselves.
  const literal = allow.filter((entry) =>
    /^(localhost|\d+\.\d+\.\d+\.\d+|\[?[\da-f]*:[\da-f:.]*\]?)(:\d+)?$/i.test(entry),
  );
  const addresses = await resolvePublic(host, port, { lookup, allowPrivate: literal });
  let problem: unknown;
  for (const { address } of addresses) {
    try {
      return await connected(address, port, open);
    } catch (error) {
      problem = error;
    }
  }
  throw problem;
}

function connected(host: string, port: number, open: Set<Duplex>): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: 30_000 });
    remember(socket, open);
    socket.once("error", reject);
    socket.once("timeout", () => socket.destroy(new Error(`${host}:${port} does not answer.`)));
    socket.once("connect", () => {
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

function remember(stream: Duplex, open: Set<Duplex>): void {
  open.add(stream);
  stream.on("close", () => open.delete(stream));
  // An end that went away is not our failure; the other end sees it close.
  stream.on("error", () => {});
}

async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer, dial: Dial): Promise<void> {
  const target = /^(.+):(\d{1,5})$/.exec(request.url ?? "");
  try {
    if (!target?.[1] || !target[2]) throw new RefusedConnection("CONNECT needs host:port.");
    const server = await dial(target[1], Number(target[2]));
    if (client.destroyed) return void server.destroy();
    client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    server.write(head);
    server.pipe(client).pipe(server);
    server.on("close", () => client.destroy());
    client.on("close", () => server.destroy());
  } catch (error) {
    const { status, text } = refusal(error);
    client.end(
      `HTTP/1.1 ${status} Refused\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
    );
  }
}

async function forward(request: IncomingMessage, response: ServerResponse, dial: Dial): Promise<void> {
  try {
    const url = URL.canParse(request.url ?? "") ? new URL(request.url ?? "") : null;
    if (url?.protocol !== "http:")
      throw new RefusedConnection("This is a proxy: ask for http://host/path, or CONNECT host:port.");
    const socket = await dial(url.hostname, Number(url.port || 80));
    if (response.destroyed) return void socket.destroy();
    try {
      await exchange(request, response, url, socket);
    } finally {
      socket.destroy();
    }
  } catch (error) {
    if (response.headersSent) return void response.destroy();
    const { status, text } = refusal(error);
    response.writeHead(status, { "content-type": "text/plain", connection: "close" }).end(text);
  }
}

/** One request and its answer. Rejects when there is no answer that could be passed on, or not all of it. */
async function exchange(request: IncomingMessage, response: ServerResponse, url: URL, socket: Socket): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let notices = 0;
  const onward = httpRequest({
    createConnection: () => socket,
    method: request.method ?? "GET",
    path: url.pathname + url.search,
    headers: { ...passedOn(request.headers), host: url.host, connection: "close" },
  });
  onward.on("error", reject);
  onward.on("close", () => reject(new Error(`${url.host} closed the connection without an answer.`)));
  onward.on("information", () => {
    if (++notices > MOST_NOTICES) onward.destroy(new Error(`${url.host} sends interim answers without end.`));
  });
  onward.on("response", (answer) => {
    try {
      const status = answer.statusCode ?? 0;
      if (status < 200 || status > 599) throw new Error(`${url.host} answered with the status ${status}.`);
      response.writeHead(status, passedOn(answer.headers));
    } catch (error) {
      answer.destroy();
      reject(error);
      return;
    }
    pipeline(answer, response, (error) => (error ? reject(error) : resolve()));
  });
  response.on("close", () => onward.destroy());
  // What goes wrong here is told by `onward`, which is destroyed with it.
  pipeline(request, onward, () => {});
  await promise;
}

/** Answers like "103 Early Hints" that may come before the one that counts. */
const MOST_NOTICES = 32;

/** Without the headers that concern one connection only, also those that `Connection` names. */
function passedOn(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.has(name) && !named.includes(name)));
}

const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

function refusal(error: unknown): { status: number; text: string } {
  const reason = error instanceof Error ? error.message : String(error);
  const refused = error instanceof RefusedConnection || (error instanceof Error && error.name === "PrivateAddress");
  return { status: refused ? 403 : 502, text: `agiraph: ${reason}\n` };
}
