import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const LINK_MS = 10 * 60_000;
const COOKIE_SECONDS = 30 * 24 * 3600;
const MOST_LINKS = 100;

/**
 * The credentials of the server: token, login links and cookies.
 *
 * CREDENTIALS-1. Secrets are compared in constant time, whatever their length.
 * CREDENTIALS-2. A login link works once, within ten minutes.
 * CREDENTIALS-3. A cookie is valid only for the origin it was given to: it names that origin, signed with the token. So
 *     it survives a restart, and becomes invalid with a new token.
 */
export class ServerCredentials {
  readonly #token: string;
  readonly #now: () => number;
  readonly #links = new Map<string, number>();

  constructor(token: string, now: () => number) {
    this.#token = token;
    this.#now = now;
  }

  isToken(given: string): boolean {
    return isSame(given, this.#token);
  }

  newLink(): { once: string; expires_at: number } {
    const once = randomBytes(32).toString("base64url");
    this.#forgetOld();
    const expires = this.#now() + LINK_MS;
    this.#links.set(once, expires);
    return { once, expires_at: expires / 1000 };
  }

  /** The cookie for anyone who has a fresh link, coming by this origin. */
  redeem(once: string, origin: string): string | undefined {
    this.#forgetOld();
    if (!this.#links.delete(once)) return undefined;
    const until = Math.floor(this.#now() / 1000) + COOKIE_SECONDS;
    const secure = origin.startsWith("https:") ? "; Secure" : "";
    return `${cookieName(origin)}=${until}.${this.#signed(until, origin)}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${COOKIE_SECONDS}${secure}`;
  }

  isCookie(header: string, origin: string): boolean {
    const name = cookieName(origin);
    return header.split(";").some((pair) => {
      const [key, value = ""] = pair.trim().split("=", 2);
      const [until = "", signature = ""] = value.split(".", 2);
      if (key !== name || !/^\d{1,12}$/.test(until) || Number(until) * 1000 < this.#now()) return false;
      return isSame(signature, this.#signed(Number(until), origin));
    });
  }

  #signed(until: number, origin: string): string {
    return createHmac("sha256", this.#token).update(`cookie\n${origin}\n${until}`).digest("base64url");
  }

  #forgetOld(): void {
    for (const [once, expires] of this.#links)
      if (expires < this.#now() || this.#links.size > MOST_LINKS) this.#links.delete(once);
  }
}

/** Browsers share cookies between the ports of a machine: each server's has a name of its own. */
function cookieName(origin: string): string {
  return `agiraph_${new URL(origin).port || "web"}`;
}

function isSame(a: string, b: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
