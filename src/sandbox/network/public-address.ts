import { lookup as dnsLookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";

/**
 * To which addresses text from outside may make us connect.
 * PUBLIC-ADDRESS-1. Only globally routed unicast addresses: nothing that could be this machine, its network, or a
 *     detour to them.
 * PUBLIC-ADDRESS-2. The caller connects to the addresses returned here and never resolves the name again: a second
 *     lookup may answer differently.
 */
export async function resolvePublic(host: string, port: number, guard: AddressGuard): Promise<IpAddress[]> {
  const name = bare(host);
  const family = isIP(name);
  const found = family ? [{ address: name, family }] : await guard.lookup(name);
  const usable = found.filter(
    ({ address }) =>
      isPublic(address) || isListed(address, port, guard.allowPrivate) || isListed(name, port, guard.allowPrivate),
  );
  if (usable.length > 0) return usable;
  const what = found.map(({ address }) => address).join(", ") || "no address";
  throw new PrivateAddress(`${host} is ${what}: not a public address, so it is refused.`);
}

export interface IpAddress {
  address: string;
  family: number;
}

export type Lookup = (hostname: string) => Promise<IpAddress[]>;

export interface AddressGuard {
  lookup: Lookup;
  /** "host" or "host:port" that may be private: for intranets and for tests. */
  allowPrivate: readonly string[];
}

export class PrivateAddress extends Error {
  override readonly name = "PrivateAddress";
}

export const systemLookup: Lookup = (hostname) => dnsLookup(hostname, { all: true });

export function isPublic(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special.check(address, "ipv4");
  // A zone (fe80::1%eth0) names an interface of this machine; no public address has one.
  if (family === 6)
    return !address.includes("%") && globalUnicast.check(address, "ipv6") && !special.check(address, "ipv6");
  return false;
}

/** Whether a list of "host", "host:port", "*.host", "*" names this host and port. */
export function isListed(host: string, port: number, list: readonly string[]): boolean {
  return list.some((entry) => {
    const { name, only } = splitPort(entry);
    return (only === null || only === port) && matches(bare(host), name);
  });
}

function matches(host: string, name: string): boolean {
  if (name === "*") return true;
  return name.startsWith("*.") ? host.endsWith(name.slice(1)) : host === name;
}

function splitPort(entry: string): { name: string; only: number | null } {
  // A bare IPv6 address has colons of its own; with a port it stands in brackets.
  const port = isIP(entry) === 6 ? null : /^(.*):(\d+)$/.exec(entry);
  return { name: bare(port?.[1] ?? entry), only: port?.[2] ? Number(port[2]) : null };
}

/** Lower case, without brackets, without the root's dot. */
function bare(host: string): string {
  return host
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "")
    .toLowerCase();
}

/** IANA's special-purpose registries, and what carries IPv4 inside IPv6. */
const special = new BlockList();
for (const [net, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const) {
  special.addSubnet(net, prefix, "ipv4");
}
for (const [net, prefix] of [
  ["2001::", 23], // Teredo, ORCHID, benchmarking
  ["2001:db8::", 32],
  ["2002::", 16], // 6to4
  ["3fff::", 20],
] as const) {
  special.addSubnet(net, prefix, "ipv6");
}

/** All other IPv6 is refused by absence: loopback, mapped, NAT64, unique local, link-local, multicast. */
const globalUnicast = new BlockList();
globalUnicast.addSubnet("2000::", 3, "ipv6");
