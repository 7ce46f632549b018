import type { IncomingMessage, ServerResponse } from "node:http";
import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import type { Clock } from "../../protocol/clock.ts";
import type { ProgramProfile } from "../../protocol/index.ts";
import { putFile } from "../../store/disk/foreign-folder.ts";
import { LoginFile } from "../../store/home/login-file.ts";
import { BrokeredLogin, type LoginPorts, type LoginState } from "./brokered-login.ts";
import { CredentialFile } from "./credential-file.ts";
import type { TokenEndpoint } from "./login-format.ts";
import { loginFormatOf } from "./login-formats.ts";

export interface BrokerOptions {
  /** Ours: where it is noted when a login was renewed. */
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  fetch: typeof globalThis.fetch;
}

/** How often files are checked that a person's own program may renew. */
const LOOK_EVERY_MS = 30_000;
/** The same while somebody waits for a person to sign in. */
const WAIT_MS = 2000;

/**
 * The logins of programs, for the person and all workers of this home.
 *
 * BROKER-1. A worker's program gets an access token and never a refresh token: it has a private copy of the login file
 *     without it, and if it insists on renewing, it asks us.
 * BROKER-2. As long as a program works, its copy is replaced before it expires, and when the person's file changes.
 */
export class LoginBroker {
  readonly #options: BrokerOptions;
  readonly #over = new AbortController();
  readonly #logins = new Map<string, Lent>();

  constructor(options: BrokerOptions) {
    this.#options = options;
  }

  /** Those of its files that hold a login that we know to renew. */
  loginsOf({ share = [] }: Pick<ProgramProfile, "share">): BrokeredLogin[] {
    return this.#lentBy({ share }).map(({ login }) => login);
  }

  /** Before a program starts in its home. The copy is there when this resolves. `keys`: the variables with keys that it has. */
  async lend(
    profile: ProgramProfile,
    home: string,
    endpointOf: (name: string) => TokenEndpoint,
    keys: readonly string[] = [],
  ): Promise<Loans> {
    const loans = this.#lentBy(profile).map((lent): Loan => {
      const endpoint = endpointOf(lent.login.format.program);
      return { lent, home, endpoint, keys, access: null, text: null };
    });
    for (const loan of loans) {
      loan.lent.loans.add(loan);
      hand(loan, await loan.lent.login.fresh());
      await loan.lent.handing;
      this.#follow(loan.lent);
    }
    return {
      env: Object.assign({}, ...loans.map(({ lent, endpoint }) => lent.login.format.variables?.(endpoint) ?? {})),
      answer: async (name, request, response) => {
        const loan = loans.find((each) => each.lent.login.format.program === name);
        if (loan) await this.#answer(loan, request, response);
        else response.writeHead(404).end();
      },
      end() {
        for (const loan of loans) {
          loan.lent.loans.delete(loan);
          if (loan.lent.loans.size === 0) loan.lent.over?.abort();
        }
      },
    };
  }

  /** Why its login cannot be used, or null. `home`: of the program to which the login was refused. */
  async problem(profile: ProgramProfile, home?: string): Promise<string | null> {
    for (const lent of this.#lentBy(profile)) {
      const refused = [...lent.loans].find((loan) => loan.home === home)?.access;
      if (refused != null) lent.login.reject(refused);
      const state = await lent.login.fresh();
      handAll(lent, state);
      await lent.handing;
      if (state.kind === "ended" || state.kind === "expired") return state.why;
    }
    return null;
  }

  /** Resolves when a login that could not be used should be tried again. */
  async changed(profile: ProgramProfile, signal: AbortSignal): Promise<void> {
    const logins = this.loginsOf(profile);
    const stamps = () => Promise.all(logins.map((login) => login.stamp()));
    const before = (await stamps()).join();
    const { clock } = this.#options;
    for (;;) {
      await clock.sleep(WAIT_MS, AbortSignal.any([signal, this.#over.signal]));
      if ((await stamps()).join() !== before) return;
      for (const login of logins) {
        const state = await login.look();
        if (state.kind === "expired" && login.dueAt(state) <= clock.now()) return;
      }
    }
  }

  /** Nothing is renewed any more; what is under way is finished, since its answer is the only one there is. */
  async close(): Promise<void> {
    this.#over.abort(new Error("the runtime has ended"));
    await Promise.all([...this.#logins.values()].map(({ login }) => login.drained()));
  }

  #lentBy({ share = [] }: Pick<ProgramProfile, "share">): Lent[] {
    const { env, clock, fetch, home } = this.#options;
    return share.flatMap((path) => {
      const format = isAbsolute(path) ? undefined : loginFormatOf(path);
      if (!format) return [];
      const file = format.file(env, env.HOME || homedir());
      const known = this.#logins.get(file);
      if (known) return [known];
      const ports: LoginPorts = { env, clock, fetch, notes: new LoginFile(home), signal: this.#over.signal };
      const lent: Lent = {
        login: new BrokeredLogin(format, file, new CredentialFile(file), ports),
        loans: new Set(),
        handing: Promise.resolve(),
        over: undefined,
      };
      this.#logins.set(file, lent);
      return [lent];
    });
  }

  /** BROKER-2. */
  #follow(lent: Lent): void {
    if (lent.over && !lent.over.signal.aborted) return;
    const over = new AbortController();
    lent.over = over;
    const signal = AbortSignal.any([over.signal, this.#over.signal]);
    const { clock } = this.#options;
    const follow = async () => {
      while (!signal.aborted) {
        const state = await lent.login.fresh();
        handAll(lent, state);
        const left = lent.login.dueAt(state) - clock.now();
        await clock.sleep(Math.max(1000, Math.min(LOOK_EVERY_MS, left)), signal);
      }
    };
    follow().catch(() => {});
  }

  /** A program asks for a new access token. */
  async #answer(loan: Loan, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { lent } = loan;
    // Codex says so; who does not say why asks because its token ends.
    const wasRefused = (await beginningOf(request)).includes('"unauthorized_recovery"');
    const state = await lent.login.fresh(wasRefused ? (loan.access ?? undefined) : undefined);
    handAll(lent, state);
    const answer = state.kind === "usable" && lent.login.format.answer?.(state.data, this.#options.clock.now());
    const status = answer ? 200 : state.kind === "expired" ? 503 : 400;
    const error = { error: "invalid_grant", error_description: "The login has ended." };
    response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
    response.end(JSON.stringify(answer || error));
  }
}

export interface Loans {
  /** Variables for the program. */
  env: Record<string, string>;
  /** Answers the request of a program for a new access token. */
  answer(name: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** The program has gone. */
  end(): void;
}

interface Lent {
  readonly login: BrokeredLogin;
  readonly loans: Set<Loan>;
  handing: Promise<void>;
  over: AbortController | undefined;
}

/** A login in the home of one program. */
interface Loan {
  readonly lent: Lent;
  readonly home: string;
  readonly endpoint: TokenEndpoint;
  readonly keys: readonly string[];
  access: string | null;
  text: string | null;
}

async function beginningOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request) if (text.length < LONGEST_WISH) text += String(part);
  return text.slice(0, LONGEST_WISH);
}

const LONGEST_WISH = 16_384;

function handAll(lent: Lent, state: LoginState): void {
  for (const loan of lent.loans) hand(loan, state);
}

/** One after the other: the last one to be written is the newest. */
function hand(loan: Loan, state: LoginState): void {
  if (!("data" in state)) return;
  const { format } = loan.lent.login;
  const text = JSON.stringify(format.lent(state.data, loan.endpoint, loan.keys));
  if (text === loan.text) return;
  loan.text = text;
  loan.access = "login" in state ? state.login.access : null;
  loan.lent.handing = loan.lent.handing
    .then(() => putFile(loan.home, format.share, text))
    .catch(() => {
      loan.text = null;
    });
}
