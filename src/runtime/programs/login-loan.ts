import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ProgramProfile } from "../../protocol/index.ts";
import type { ProgramLogin } from "../../workers/outside/session/program-ports.ts";
import type { Environment } from "../config/settings.ts";
import type { Loans, LoginBroker } from "../logins/login-broker.ts";
import { keyVariables } from "../logins/login-status.ts";

/**
 * The login of one process of a program: a copy in its home, and answers at its door when it wants to renew. The
 * address contains a secret: without a sandbox, other processes of this machine could reach the door.
 *
 * LOGIN-LOAN-1. Where a key is set, the key is used: the program gets no login beside it.
 */
export class LoginLoan {
  readonly #logins: LoginBroker;
  readonly #profile: ProgramProfile;
  readonly #home: string;
  readonly #path = `/login/${randomBytes(32).toString("base64url")}/`;
  readonly #env: Environment;
  #loans: Loans | undefined;

  constructor(logins: LoginBroker, profile: ProgramProfile, home: string, env: Environment) {
    this.#logins = logins;
    this.#profile = profile;
    this.#home = home;
    this.#env = env;
  }

  /** Before it starts; resolves with variables for it. */
  async begin(door: string | null): Promise<Record<string, string>> {
    const endpointOf = (name: string) => ({ url: `${door}${this.#path}${name}` });
    const keyed = keyVariables(this.#profile, this.#env);
    // opencode has a login for each vendor, the others one in all.
    if (keyed.length > 0 && this.#profile.quirks !== "opencode") return {};
    this.#loans = await this.#logins.lend(this.#profile, this.#home, endpointOf, keyed);
    return this.#loans.env;
  }

  /** Whether the request was one for a token. */
  answers(request: IncomingMessage, response: ServerResponse): boolean {
    if (!this.#loans || !request.url?.startsWith(this.#path)) return false;
    const name = request.url.slice(this.#path.length);
    this.#loans.answer(name, request, response).catch(() => response.destroy());
    return true;
  }

  end(): void {
    this.#loans?.end();
  }
}

/** Undefined if the program is signed in by a key, or has no login that we know. */
export function programLogin(
  name: string,
  profile: ProgramProfile,
  home: string,
  env: Environment,
  logins: LoginBroker,
): ProgramLogin | undefined {
  if (logins.loginsOf(profile).length === 0 || keyVariables(profile, env).length > 0) return undefined;
  const said = (why: string | null) =>
    why &&
    `The program ${name} cannot work: its login cannot be used, because ${why}. Sign in again: agiraph programs login ${name}. The work then continues automatically.`;
  return {
    problem: async () => said(await logins.problem(profile)),
    refused: async () => said(await logins.problem(profile, home)),
    changed: (signal) => logins.changed(profile, signal),
  };
}
