import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { isListed, type Lookup, resolvePublic, systemLookup } from "./public-address.ts";
import type { Network } from "./sandbox.ts";

/**
 * The only way out of a sandbox: our proxy.
 *
 * E1. Only listed hosts and ports are reached, by CONNECT or plain HTTP.
 * E2. We look names up and dial what we checked. A private address is reached only if it is itself listed.
 */
export function egressProxy(network: Network, lookup: Lookup = systemLookup): Egress {
  const open = new Set<Duplex>();
  const dial = (host: string, port: number) => dialListed(host, port, network, lookup, open);
  const server = createServer((request, response) => void forward(request, response, dial));
  server.on("connect", (request, client, head) => void tunnel(request, client, head, dial));
  return {
    server,
    dial,
    close() {
      for (const stream of open) stream.destroy();
    },
  };
}

export interface Egress {
  /** Not yet listening. */
  readonly server: Server;
  /** Reaches what is listed and nothing else. */
  readonly dial: Dial;
  /** Cuts whatever it dialed. */
  close(): void;
}

export type Dial = (host: string, port: number) => Promise<Socket>;

class Refused extends Error {}

async function dialListed(
  host: string,
  port: number,
  { allow }: Network,
  lookup: Lookup,
  open: Set<Duplex>,
): Promise<Socket> {
  if (!isListed(host, port, allow))
    throw new Refused(
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
  const target = /^(.+):(\d+)$/.exec(request.url ?? "");
  try {
    if (!target?.[1] || !target[2]) throw new Refused("CONNECT wants host:port.");
    const server = await dial(target[1], Number(target[2]));
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
      throw new Refused("This is a proxy: ask for http://host/path, or CONNECT host:port.");
    const socket = await dial(url.hostname, Number(url.port || 80));
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !hopByHop.has(name)));
    const onward = httpRequest(
      {
        createConnection: () => socket,
        method: request.method ?? "GET",
        path: url.pathname + url.search,
        headers: { ...headers, host: url.host, connection: "close" },
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  } catch (error) {
    const { status, text } = refusal(error);
    response.writeHead(status, { "content-type": "text/plain", connection: "close" }).end(text);
  }
}

const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

function refusal(error: unknown): { status: number; text: string } {
  const reason = error instanceof Error ? error.message : String(error);
  const refused = error instanceof Refused || (error instanceof Error && error.name === "PrivateAddress");
  return { status: refused ? 403 : 502, text: `agiraph: ${reason}\n` };
}
