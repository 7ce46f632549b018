import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import type { Mount } from "../binds/binds.ts";
import { SandboxFailure } from "../sandbox-failure.ts";
import { type Dial, egressProxy, type Network } from "./egress.ts";
import type { Lookup } from "./public-address.ts";

/**
 * What processes inside find on loopback: our proxy, our door, and each listed port of this machine.
 *
 * INNER-NETWORK-1. In a network namespace only processes inside reach them, and no process of ours stays beside them:
 *     the sockets are opened inside by a helper that hands them to us and ends (`inner-ports.ts`).
 * INNER-NETWORK-2. All of them are served before anything else inside runs.
 * INNER-NETWORK-3. A program that connects without end does not use up our descriptors: a port has a maximum number of
 *     connections.
 */
export function openInnerNetwork(needs: NetworkNeeds): InnerNetwork {
  const { ports, env, door, close } = portsFor(needs, localPorts(needs));
  return {
    mounts: [
      { at: `${inside}/node`, source: process.execPath, access: "read", folder: false },
      {
        at: `${inside}/ports.${helper.endsWith(".ts") ? "mts" : "mjs"}`,
        source: helper,
        access: "read",
        folder: false,
      },
    ],
    prologue: `NODE_CHANNEL_FD=${channelFd} ${inside}/node --no-warnings ${inside}/ports.m* ${[...ports.keys()].join(" ")} </dev/null || exit 1`,
    env,
    door,
    serve(child) {
      let missing = ports.size;
      child.on("message", function take(port, handle) {
        const server = ports.get(Number(port));
        if (!server || server.listening || !handle) return;
        server.listen(handle);
        missing--;
        if (missing > 0) return;
        // The channel stays: of a process whose channel we cut, Node never says that it is closed.
        child.off("message", take);
        // Where the helper is gone already, its exit code tells.
        child.send("all here", () => {});
      });
    },
    close,
  };
}

/** The same without a separate network: on this machine's loopback, on free ports. */
export async function openLoopback(needs: NetworkNeeds): Promise<LoopbackNetwork> {
  const { ports, close } = portsFor(needs, new Map());
  const found = new Map<Server, number>();
  for (const server of ports.values()) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    found.set(server, typeof address === "object" && address ? address.port : 0);
  }
  const [first, second] = [...found.values()];
  const proxy = needs.network ? first : undefined;
  const door = needs.door ? (needs.network ? second : first) : undefined;
  return {
    env: proxy === undefined ? {} : proxyEnv(proxy),
    door: door === undefined ? null : at(door),
    ports: [...found.values(), ...localPorts(needs).keys()],
    close,
  };
}

export interface NetworkNeeds {
  network?: Network | undefined;
  door?: Server | undefined;
  lookup?: Lookup | undefined;
  /** Whether listed ports of this machine are there under their own address. */
  mirror: boolean;
}

export interface InnerNetwork {
  mounts: Mount[];
  /** Runs inside before anything else, and goes on when all ports are served. */
  prologue: string;
  env: Record<string, string>;
  /** Where the door is found inside. */
  door: string | null;
  /** Takes the ports that the helper of this sandbox hands over. */
  serve(child: ChildProcess): void;
  close(): void;
}

export interface LoopbackNetwork {
  env: Record<string, string>;
  door: string | null;
  /** All that may be reached. */
  ports: number[];
  close(): void;
}

/** The descriptor of the channel over which sockets are passed: Node's own, known only to the helper. */
const channelFd = 6;

const inside = "/run/agiraph";
const helper = fileURLToPath(
  new URL(`./inner-ports.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url),
);
const firstPort = 3128;
const mostConnections = 256;

function portsFor({ network, door, lookup, mirror }: NetworkNeeds, mirrored: ReadonlyMap<number, string>) {
  const ports = new Map<number, Server>();
  const open = new Set<Socket>();
  const add = (server: Server, port: number) => {
    server.maxConnections = mostConnections;
    // Accepting a connection can fail, for example when no descriptors are left. The client tries again.
    server.on("error", () => {});
    server.on("connection", (socket) => {
      open.add(socket);
      socket.on("close", () => open.delete(socket));
      // An end that went away is not our failure.
      socket.on("error", () => {});
    });
    ports.set(port, server);
    return port;
  };
  const free = (from: number) => {
    let port = from;
    while (mirrored.has(port) || ports.has(port)) port++;
    return port;
  };
  const egress = network ? egressProxy(network, lookup) : null;
  const env = egress ? proxyEnv(add(egress.server, free(firstPort)), mirror) : {};
  const doorAt = door ? at(add(door, free(firstPort + 1))) : null;
  if (egress) for (const [port, host] of mirrored) add(mirrorOf(host, port, egress.dial), port);
  return {
    ports,
    env,
    door: doorAt,
    close() {
      for (const server of ports.values()) if (server.listening) server.close();
      for (const socket of open) socket.destroy();
      egress?.close();
    },
  };
}

const at = (port: number) => `http://127.0.0.1:${port}`;

/** Programs that live on speak with their own loopback directly: the door is there, and what was listed. */
function proxyEnv(port: number, direct = true): Record<string, string> {
  const proxy = at(port);
  const noProxy = "127.0.0.1,localhost,::1";
  return {
    ...{ http_proxy: proxy, https_proxy: proxy, HTTP_PROXY: proxy, HTTPS_PROXY: proxy },
    ...(direct ? { no_proxy: noProxy, NO_PROXY: noProxy, NODE_USE_ENV_PROXY: "1" } : {}),
  };
}

/** Ports of this machine that are listed one by one, with the name under which they are. */
function localPorts({ network, mirror }: NetworkNeeds): Map<number, string> {
  const found = new Map<number, string>();
  if (!mirror) return found;
  for (const entry of network?.allow ?? []) {
    const [, host, digits] = /^(localhost|127\.0\.0\.1):(\d+)$/i.exec(entry) ?? [];
    if (!host || !digits) continue;
    const port = Number(digits);
    if (port < 1024 || port > 65_535)
      throw new SandboxFailure(
        `${entry} cannot be reached from the sandbox: of this machine only the ports 1024 to 65535 can. Change network.allow in config.json.`,
      );
    found.set(port, host);
  }
  return found;
}

function mirrorOf(host: string, port: number, dial: Dial): Server {
  return createServer({ allowHalfOpen: true, pauseOnConnect: true }, async (client) => {
    try {
      const far = await dial(host, port);
      if (client.destroyed) return void far.destroy();
      far.allowHalfOpen = true;
      client.pipe(far).pipe(client);
      far.on("close", () => client.destroy());
      client.on("close", () => far.destroy());
    } catch {
      client.destroy();
    }
  });
}
