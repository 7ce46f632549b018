import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json, text } from "node:stream/consumers";

export interface OAuthServerPlan {
  now(): number;
  /** How long an access token is valid; an hour if left out. */
  lifetimeSeconds?: number;
  /** Whether each renewal ends the refresh token that it was made with; it does if left out. */
  rotates?: boolean;
}

/**
 * A token server like those of the vendors: refresh tokens rotate, access tokens expire, logins are revoked, and a
 * refresh token that is used twice revokes its whole login, because one of the two users must be a thief.
 */
export interface OAuthServer extends AsyncDisposable {
  readonly url: string;
  /** A fetch that comes here, whatever address it is given. */
  readonly fetch: typeof globalThis.fetch;
  /** A new login, as after a person has signed in. */
  login(): { access: string; refresh: string; expires: number };
  accepts(access: string): boolean;
  /** Ends the login that this token belongs to. */
  revoke(token: string): void;
  /** Every request for tokens so far: what it was answered with. */
  readonly answers: readonly ("renewed" | "reused" | "unknown" | "failed" | "hung")[];
  /** What the next requests are answered with instead, in this order. */
  readonly next: (number | "hang" | "garbage")[];
  /** Resolves when a request has arrived that is not answered. */
  hung(): Promise<void>;
}

interface Family {
  isRevoked: boolean;
  refresh: string;
}

/** The tokens that were issued, and the logins they belong to. */
class Tokens {
  readonly #plan: OAuthServerPlan;
  readonly #lifetimeMs: number;
  readonly #refresh = new Map<string, Family>();
  readonly #access = new Map<string, { family: Family; expires: number }>();
  #count = 0;

  constructor(plan: OAuthServerPlan) {
    this.#plan = plan;
    this.#lifetimeMs = (plan.lifetimeSeconds ?? 3600) * 1000;
  }

  login() {
    return this.#issue({ isRevoked: false, refresh: `refresh-of-login-${this.#count + 1}` });
  }

  accepts(access: string): boolean {
    const found = this.#access.get(access);
    return found !== undefined && !found.family.isRevoked && found.expires > this.#plan.now();
  }

  revoke(token: string): void {
    const family = this.#refresh.get(token) ?? this.#access.get(token)?.family;
    if (family) family.isRevoked = true;
  }

  renew(grant_type: string | undefined, refresh_token: string): Renewal {
    const family = this.#refresh.get(refresh_token);
    if (grant_type !== "refresh_token" || !family)
      return { how: "unknown", status: 400, body: { error: "invalid_grant", error_description: "unknown" } };
    if (family.refresh !== refresh_token || family.isRevoked) {
      const isReused = family.refresh !== refresh_token;
      family.isRevoked = true;
      return { how: isReused ? "reused" : "unknown", status: 400, body: { error: "invalid_grant" } };
    }
    const { access, refresh } = this.#issue(family);
    const id_token = webToken({ email: "me@example.org" });
    const tokens = { access_token: access, refresh_token: refresh, id_token, expires_in: this.#lifetimeMs / 1000 };
    return { how: "renewed", status: 200, body: { ...tokens, token_type: "Bearer" } };
  }

  #issue(family: Family) {
    this.#count += 1;
    const expires = this.#plan.now() + this.#lifetimeMs;
    const access = webToken({ jti: `access-${this.#count}`, exp: Math.floor(expires / 1000) });
    if (this.#plan.rotates ?? true) family.refresh = `refresh-${this.#count}`;
    this.#refresh.set(family.refresh, family);
    this.#access.set(access, { family, expires });
    return { access, refresh: family.refresh, expires };
  }
}

interface Renewal {
  how: OAuthServer["answers"][number];
  status: number;
  body: unknown;
}

export async function startOAuthServer(plan: OAuthServerPlan): Promise<OAuthServer> {
  const tokens = new Tokens(plan);
  const answers: OAuthServer["answers"][number][] = [];
  const next: OAuthServer["next"] = [];
  let hung = Promise.withResolvers<void>();

  const answer = (response: ServerResponse, { how, status, body }: Renewal) => {
    answers.push(how);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };

  const renew = async (request: IncomingMessage, response: ServerResponse) => {
    const { grant_type, refresh_token = "" } = await bodyOf(request);
    const instead = next.shift();
    if (instead === "hang") {
      answers.push("hung");
      return hung.resolve();
    }
    if (instead === "garbage") return answer(response, { how: "failed", status: 200, body: "<html>" });
    if (instead !== undefined) return answer(response, { how: "failed", status: instead, body: {} });
    answer(response, tokens.renew(grant_type, refresh_token));
  };

  const server = createServer((request, response) => void renew(request, response).catch(() => response.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/oauth/token`;
  return {
    url,
    fetch: (_, init) => fetch(url, init),
    login: () => tokens.login(),
    accepts: (access) => tokens.accepts(access),
    revoke: (token) => tokens.revoke(token),
    answers,
    next,
    async hung() {
      await hung.promise;
      hung = Promise.withResolvers();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** As JSON (Anthropic, OpenAI) or as a form (Google). */
async function bodyOf(request: IncomingMessage): Promise<Record<string, string>> {
  const isForm = request.headers["content-type"]?.includes("form");
  return isForm ? Object.fromEntries(new URLSearchParams(await text(request))) : await asRecord(request);
}

async function asRecord(request: IncomingMessage): Promise<Record<string, string>> {
  const body: unknown = await json(request);
  return typeof body === "object" && body !== null ? (body as Record<string, string>) : {};
}

function webToken(claims: Record<string, unknown>): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part(claims)}.signature`;
}
