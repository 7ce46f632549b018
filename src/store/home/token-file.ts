import { randomBytes } from "node:crypto";
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../disk/disk.ts";
import { StoreUsageError } from "../errors.ts";

/** Its holder may do everything with this home's agents: 256 random bits, readable only by its owner. */
export function tokenOf(home: string): string {
  const file = tokenFile(home);
  try {
    writeFileSync(file, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600, flag: "wx", flush: true });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  // A copy of the home, or a hand, may have opened it to others.
  if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
  return checked(readFileSync(file, "utf8").trim(), file);
}

/** Replaces the token: the old one, and cookies that were signed with it, are no longer accepted. */
export function renewToken(home: string): string {
  rmSync(tokenFile(home), { force: true });
  return tokenOf(home);
}

/** Undefined if no server was ever started. */
export function tokenIfThere(home: string): string | undefined {
  try {
    return checked(readFileSync(tokenFile(home), "utf8").trim(), tokenFile(home));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

const tokenFile = (home: string): string => join(home, "token");

function checked(token: string, file: string): string {
  if (/^[\w-]{32,200}$/.test(token)) return token;
  throw new StoreUsageError(`${file} contains no token. Remove the file; the next start creates a new one.`);
}
