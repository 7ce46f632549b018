import type { Attack } from "./attack.ts";
import { testEscapes } from "./escapes.ts";

/**
 * Through our proxy to hosts that are not listed. One port of this machine is listed by its address, and the names
 * listed.test and *.wild.test, which resolve to 127.0.0.1 here: a name speaks for public addresses only.
 */
const hosts = [
  ["an unlisted port", "127.0.0.1:{TCP_PORT}"],
  ["an unlisted port by name", "localhost:{TCP_PORT}"],
  ["a listed name that is a private address", "listed.test:{TCP_PORT}"],
  ["a listed pattern that is a private address", "a.wild.test:{TCP_PORT}"],
  ["an address in hexadecimal", "0x7f000001:{TCP_PORT}"],
  ["an address as one number", "2130706433:{TCP_PORT}"],
  ["an address in octal", "0177.0.0.1:{TCP_PORT}"],
  ["a short address", "127.1:{TCP_PORT}"],
  ["an address with a dot at its end", "127.0.0.1.:{TCP_PORT}"],
  ["the IPv6 loopback", "[::1]:{TCP6_PORT}"],
  ["IPv4 in IPv6", "[::ffff:127.0.0.1]:{TCP_PORT}"],
  ["IPv4 in IPv6 in hexadecimal", "[::ffff:7f00:1]:{TCP_PORT}"],
  ["the address of no host", "0.0.0.0:{ANY_PORT}"],
  ["this machine in its network", "{LAN}:{ANY_PORT}"],
  ["the port of the listed address in front of another", "127.0.0.1:{OPEN_PORT}@127.0.0.1:{TCP_PORT}"],
  ["the cloud's metadata server", "169.254.169.254:80"],
] as const;

/** The proxy keeps a connection open after an answer, and the attacks read until it is closed. */
const LAST = "Connection: close\\n";

const request = (method: string, target: string) =>
  `import re
fill = lambda text: re.sub(r"{(\\w+)}", lambda found: E[found[1]], text)
said = proxied(fill("${method} ${target} HTTP/1.1\\nHost: x\\n${method === "CONNECT" ? "" : LAST}\\n")${method === "CONNECT" ? ', "GET / HTTP/1.1\\nHost: x\\n\\n"' : ""})`;
const attack = (what: string, method: string, target: string): Attack => ({
  name: `asks the proxy for ${what} (${method})`,
  code: `${request(method, target)}
TWEET in said and escaped()
"HTTP/1.1 4" in said or "HTTP/1.1 502" in said or escaped("not refused: " + said[:200])`,
  control: {
    inside: true,
    code: `${request(method, target.replace(/^(http:\/\/)?.*?(\/?)$/, "$1127.0.0.1:{OPEN_PORT}$2"))}\n"open" in said and escaped()`,
  },
});

const attacks: Attack[] = [
  ...hosts.map(([what, host]) => attack(what, "CONNECT", host)),
  ...hosts.map(([what, host]) => attack(what, "GET", `http://${host}/`)),
  {
    name: "names another host than it asks for (Host header)",
    code: `"${"open"}" in proxied("GET http://127.0.0.1:%s/ HTTP/1.1\\nHost: 127.0.0.1:%s\\n${LAST}\\n" % (E["TCP_PORT"], E["OPEN_PORT"])) and escaped()
TWEET in proxied("GET http://127.0.0.1:%s/ HTTP/1.1\\nHost: 127.0.0.1:%s\\n${LAST}\\n" % (E["OPEN_PORT"], E["TCP_PORT"])) and escaped()
TWEET in proxied("GET / HTTP/1.1\\nHost: 127.0.0.1:%s\\n${LAST}\\n" % E["TCP_PORT"]) and escaped()`,
    control: {
      inside: true,
      code: `"open" in proxied("GET http://127.0.0.1:%s/ HTTP/1.1\\nHost: other\\n${LAST}\\n" % E["OPEN_PORT"]) and escaped()`,
    },
  },
  {
    name: "hides a second request behind one that is allowed",
    code: `one, two = ["GET http://127.0.0.1:%s/ HTTP/1.1\\nHost: x\\nContent-Length: 0\\n%s\\n" % (E[port], last) for port, last in (("OPEN_PORT", ""), ("TCP_PORT", "${LAST}"))]
TWEET in proxied(one + two) and escaped()
TWEET in proxied("GET http://127.0.0.1:%s/\\n\\n%s HTTP/1.1\\nHost: x\\n${LAST}\\n" % (E["OPEN_PORT"], two)) and escaped()`,
    control: {
      inside: true,
      code: `"open" in proxied("GET http://127.0.0.1:%s/ HTTP/1.1\\nHost: x\\nContent-Length: 0\\n${LAST}\\n" % E["OPEN_PORT"]) and escaped()`,
    },
  },
];

testEscapes(attacks, { allow: ["127.0.0.1:PORT", "listed.test", "*.wild.test"] });
