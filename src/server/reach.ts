import { readFileSync } from "node:fs";
import type { AddressInfo, Server, Socket } from "node:net";
import { resolve } from "node:path";
import type { ServerConfig } from "../protocol/config.ts";
import { SettingsError } from "../runtime/config/settings.ts";
import { codeOf } from "../store/disk/disk.ts";

/** Where the server listens, and under which names. */
export interface Reach {
  /** Exactly these `Host` headers are answered. */
  hosts: ReadonlySet<string>;
  /** A page may call only from one of these. */
  origins: ReadonlySet<string>;
}

const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "localhost"]);

/** Other machines may reach it only encrypted: by itself, or through a proxy. */
export function checkReach(host: string, { tls, proxy }: ServerConfig): void {
  if (LOOPBACK.has(host) || tls || proxy) return;
  throw new SettingsError(
    `${host} can be reached from other machines, so the server needs TLS, or a proxy that provides it: set server.tls {cert, key} or server.proxy {origin, address} in config.json, or leave --host out.`,
  );
}

export function reachOf({ port, address }: Pick<AddressInfo, "port" | "address">, config: ServerConfig): Reach {
  const scheme = config.tls ? "https" : "http";
  // Who listens everywhere is also called by this machine's own names.
  const own = LOOPBACK.has(address) || ANY.has(address) ? ["127.0.0.1", "localhost", "[::1]"] : [bracketed(address)];
  const withPort = [...own.map((host) => `${host}:${port}`), ...namesOf(config, port)].map((host) =>
    host.toLowerCase(),
  );
  // A browser leaves out the port that goes with the scheme.
  const usual = `:${scheme === "https" ? 443 : 80}`;
  const hosts = withPort.flatMap((host) => (host.endsWith(usual) ? [host, host.slice(0, -usual.length)] : [host]));
  const origins = hosts.map((host) => `${scheme}://${host}`);
  if (!config.proxy) return { hosts: new Set(hosts), origins: new Set(origins) };
  const { origin } = config.proxy;
  return { hosts: new Set([...hosts, new URL(origin).host]), origins: new Set([...origins, origin]) };
}

/** The address for programs on this machine. */
export function ownUrl({ port, address }: Pick<AddressInfo, "port" | "address">, { tls }: ServerConfig): string {
  return `${tls ? "https" : "http"}://${ANY.has(address) ? "127.0.0.1" : bracketed(address)}:${port}`;
}

/** The address for people, in a browser: that of the proxy, or the name of the certificate. */
export function pageOrigin(
  at: Pick<AddressInfo, "port" | "address">,
  config: ServerConfig,
  otherwise = ownUrl(at, config),
): string {
  if (config.proxy) return config.proxy.origin;
  const [name] = config.tls ? namesOf(config, at.port) : [];
  return name === undefined ? otherwise : new URL(`https://${name}`).origin;
}

/** A certificate or its key; a relative path is relative to the home, wherever the server was started. */
export function readPem(home: string, file: string): Buffer {
  try {
    return readFileSync(resolve(home, file));
  } catch (error) {
    throw new SettingsError(
      `server.tls in config.json: ${resolve(home, file)} cannot be read (${codeOf(error) ?? error}). Name files with a certificate and its key, in PEM.`,
    );
  }
}

/** The address of a server that listens. */
export function boundAddress(server: Pick<Server, "address">): AddressInfo {
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("a listening server has no address");
  return address;
}

/**
 * Whether a client is on this machine: its requests are not sent over a network. Others connect encrypted, or through
 * the proxy.
 */
export function isFromHere({ remoteAddress = "", localAddress }: Pick<Socket, "remoteAddress" | "localAddress">) {
  return remoteAddress === localAddress || /^(?:127\.|::1$)/.test(plainAddress(remoteAddress));
}

/** As written in config.json. */
export function plainAddress(address = ""): string {
  return address.replace(/^::ffff:/, "");
}

const ANY: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

function namesOf({ names = [] }: ServerConfig, port: number): string[] {
  return names.map((name) => (name.includes(":") ? name : `${name}:${port}`));
}

function bracketed(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}
