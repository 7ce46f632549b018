import { createHash } from "node:crypto";

/** Providers accept neither longer names nor other characters. */
const MAX_LENGTH = 64;
const HASH_LENGTH = 8;

/**
 * `mcp__SERVER__TOOL`. If a name has to be changed to fit, it ends with a hash of the original, so that two names never
 * collide and a tool's name does not depend on the server's other tools.
 */
export function toolName(server: string, tool: string): string {
  const whole = `mcp__${server}__${tool}`;
  const plain = whole.replace(/[^A-Za-z0-9_-]/g, "_");
  return plain === whole && whole.length <= MAX_LENGTH ? whole : hashedName(server, tool);
}

/** For a name that is already taken: `a__b` of the server `c` and `b` of the server `c__a` look the same. */
export function hashedName(server: string, tool: string): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([server, tool]))
    .digest("hex")
    .slice(0, HASH_LENGTH);
  const plain = `mcp__${server}__${tool}`.replace(/[^A-Za-z0-9_-]/g, "_");
  return `${plain.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}
