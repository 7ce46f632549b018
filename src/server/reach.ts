import type { AddressInfo } from "node:net";
import type { ServerConfig } from "../protocol/config.ts";
import { SettingsError } from "../runtime/settings.ts";

/** Where the server listens, and by which names it may be called. */
export interface Reach {
  /** Exactly these `Host` headers are answered. */
  hosts: ReadonlySet<string>;
  /** A page may call only from one of these. */
  origins: ReadonlySet<string>;
}

export const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "localhost"]);

/** It leaves this machine only encrypted: by itself, or by the proxy before it. */
export function checkReach(host: string, { tls, proxy }: ServerConfig): void {
  if (LOOPBACK.has(host) || tls || proxy) return;
  throw new SettingsError(
    `${host} can be reached from other machines, so the server wants TLS or a proxy that has it: set server.tls {cert, key} or server.proxy {origin, address} in config.json, or leave --host out.`,
  );
}

export function reachOf({ port, address }: Pick<AddressInfo, "port" | "address">, config: ServerConfig): Reach {
  const scheme = config.tls ? "https" : "http";
  const own = LOOPBACK.has(address) ? ["127.0.0.1", "localhost", "[::1]"] : [bracketed(address)];
  const isAny = address === "0.0.0.0" || address === "::";
  const named = (config.names ?? []).map((name) => (name.includes(":") ? name : `${name}:${port}`));
  const withPort = [...(isAny ? [] : own.map((host) => `${host}:${port}`)), ...named].map((host) => host.toLowerCase());
  // A browser leaves out the port that goes with the scheme.
  const usual = `:${scheme === "https" ? 443 : 80}`;
  const hosts = withPort.flatMap((host) => (host.endsWith(usual) ? [host, host.slice(0, -usual.length)] : [host]));
  const origins = hosts.map((host) => `${scheme}://${host}`);
  if (!config.proxy) return { hosts: new Set(hosts), origins: new Set(origins) };
  const { origin } = config.proxy;
  return { hosts: new Set([...hosts, new URL(origin).host]), origins: new Set([...origins, origin]) };
}

function bracketed(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}
