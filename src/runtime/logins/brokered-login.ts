import type { Clock } from "../../protocol/clock.ts";
import type { LoginFile } from "../../store/home/login-file.ts";
import { type CredentialFile, markOf } from "./credential-file.ts";
import type { Login, LoginFormat } from "./login-format.ts";
import { lockRenewal } from "./renewal-lock.ts";
import { requestTokens, type TokenAnswer } from "./token-request.ts";

export interface LoginPorts {
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  fetch: typeof globalThis.fetch;
  notes: Pick<LoginFile, "note" | "keep">;
  /** Ends waiting, but no request: its answer would be lost. */
  signal: AbortSignal;
}

export type LoginState =
  | { kind: "none" }
  /** The file holds something that is not renewed, such as an API key. */
  | { kind: "fixed"; data: unknown }
  | { kind: "usable"; data: unknown; login: Login }
  /** It has expired and could not be renewed so far; another try may succeed. */
  | { kind: "expired"; data: unknown; login: Login; why: string }
  /** Only a person can sign in again. */
  | { kind: "ended"; why: string };

/** Programs that renew their logins themselves do so 5 minutes before they expire. */
const EARLY_MS = 10 * 60_000;
/** A program that says that its token is refused is believed so often. */
const BELIEVED_EVERY_MS = 60_000;
const FIRST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** A program may be writing the file at this moment, and not at once. */
const HALF_WRITTEN = { tries: 5, pauseMs: 100 };

/**
 * A person's login with one program, kept valid for the person and for all workers.
 *
 * LOGIN-1. One renewal at a time, however many ask; those that ask meanwhile get its result.
 * LOGIN-2. A refresh token is sent once. Only if no answer came is it sent again, after growing pauses.
 * LOGIN-3. If another process has written to the file meanwhile, that wins: a newer login is never overwritten.
 * LOGIN-4. After a failed renewal the access token is still used as long as it is valid.
 */
export class BrokeredLogin {
  readonly format: LoginFormat;
  readonly path: string;
  readonly #file: CredentialFile;
  readonly #ports: LoginPorts;
  #renewing: Promise<void> | undefined;
  #failures = 0;
  #notBefore = 0;
  #renewedAt = Number.NEGATIVE_INFINITY;
  /** The access token that was last reported as not accepted. */
  #rejected: string | undefined;
  /** Of the tokens that we got ourselves, how long they are valid in all. */
  #lifetime: { access: string; ms: number } | undefined;

  constructor(format: LoginFormat, path: string, file: CredentialFile, ports: LoginPorts) {
    this.format = format;
    this.path = path;
    this.#file = file;
    this.#ports = ports;
  }

  /** What the file says now. */
  async look(): Promise<LoginState> {
    for (let tries = 1; ; tries++) {
      try {
        const found = await this.#file.read();
        return found ? this.#stateOf(JSON.parse(found.text)) : { kind: "none" };
      } catch (error) {
        if (tries === HALF_WRITTEN.tries) return { kind: "ended", why: unreadable(this.path, error) };
      }
      await this.#ports.clock.sleep(HALF_WRITTEN.pauseMs, this.#ports.signal);
    }
  }

  /** An access token was not accepted, although it is valid by its time. */
  reject(access: string): void {
    this.#rejected = access;
  }

  /** The same, renewed before if that is due. `refused`: the token that was not accepted. */
  async fresh(refused = this.#rejected): Promise<LoginState> {
    if (await this.#file.wasCutOff()) await this.#renew(refused);
    const state = await this.look();
    if (!this.#isDue(state, refused)) return state;
    await this.#renew(refused);
    return this.look();
  }

  /** When it should be looked at again, at the latest. */
  dueAt(state: LoginState): number {
    const { clock } = this.#ports;
    if (state.kind !== "usable" && state.kind !== "expired") return Number.POSITIVE_INFINITY;
    const { expires, refresh } = state.login;
    if (refresh === null || expires === null || this.#isRefused(state.login)) return Number.POSITIVE_INFINITY;
    const early = expires - this.#early(state.login);
    const due = state.login.access === this.#rejected ? this.#renewedAt + BELIEVED_EVERY_MS : early;
    return Math.max(due, this.#notBefore, clock.now());
  }

  stamp(): Promise<string> {
    return this.#file.stamp();
  }

  /** Waits for a renewal that is under way: its answer must not be lost. */
  async drained(): Promise<void> {
    await this.#renewing?.catch(() => {});
  }

  #stateOf(data: unknown): LoginState {
    const login = this.format.read(data);
    if (!login) return { kind: "fixed", data };
    const isRejected = login.access === this.#rejected;
    const isValid = login.expires === null || login.expires > this.#ports.clock.now();
    if (isValid && !isRejected) return { kind: "usable", data, login };
    const note = this.#ports.notes.note(this.format.program);
    if (this.#isRefused(login)) return { kind: "ended", why: `${note.failure ?? "its server refuses to renew it"}` };
    const what = isRejected ? "its access token is not accepted" : "it has expired";
    if (login.refresh === null) return { kind: "ended", why: `${what}, and it cannot be renewed` };
    return { kind: "expired", data, login, why: note.failure ?? what };
  }

  #isDue(state: LoginState, refused: string | undefined): boolean {
    if (state.kind !== "usable" && state.kind !== "expired") return false;
    const { login } = state;
    const now = this.#ports.clock.now();
    if (login.refresh === null || this.#isRefused(login)) return false;
    if (now < this.#notBefore) return false;
    if (login.access === refused && now - this.#renewedAt >= BELIEVED_EVERY_MS) return true;
    return login.expires !== null && login.expires - now < this.#early(login);
  }

  #early({ access }: Login): number {
    return this.#lifetime?.access === access ? Math.min(EARLY_MS, this.#lifetime.ms / 5) : EARLY_MS;
  }

  #isRefused({ refresh }: Login): boolean {
    return refresh !== null && this.#ports.notes.note(this.format.program).refused === markOf(refresh);
  }

  /** LOGIN-1: who asks during a renewal waits for that one. */
  #renew(refused: string | undefined): Promise<void> {
    this.#renewing ??= this.#renewLocked(refused).finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renewLocked(refused: string | undefined): Promise<void> {
    const { clock, signal } = this.#ports;
    const release = await lockRenewal(this.path, this.format.lock, clock, signal).catch((error: unknown) => error);
    if (typeof release !== "function") return this.#failed(`It could not be renewed: ${wordsOf(release)}.`);
    try {
      const before = await this.look();
      const refresh = "login" in before ? before.login.refresh : null;
      await this.#file.recover(refresh, (text) => this.#isWhole(text));
      const state = await this.look();
      // Another process may have renewed it while we waited for the lock.
      if ("login" in state && this.#isDue(state, refused)) await this.#renewWith(state);
    } finally {
      await release();
    }
  }

  async #renewWith({ login, data }: { login: Login; data: unknown }): Promise<void> {
    const { env, fetch, clock } = this.#ports;
    const request = this.format.request(login, env);
    if (!request || login.refresh === null) return;
    const answer = await requestTokens(request, { fetch, clock });
    if (answer.kind === "renewed") return this.#keep(answer.tokens, data, login.refresh);
    // Only the token that is in the file says something about the login that is in the file.
    const isNewer = !(await this.#holds(login.refresh));
    if (answer.kind === "refused" && !isNewer) return this.#refused(answer.why, login.refresh);
    if (!isNewer) await this.#failed(`${answer.why}.`);
  }

  async #keep(
    tokens: Extract<TokenAnswer, { kind: "renewed" }>["tokens"],
    data: unknown,
    refresh: string,
  ): Promise<void> {
    const { clock, notes } = this.#ports;
    const now = clock.now();
    const next = this.format.renewed(data, tokens, now);
    const indent = JSON.stringify(data) === (await this.#file.read())?.text.trim() ? 0 : 2;
    const isKept = await this.#file.replace(JSON.stringify(next, null, indent), refresh, () => this.#holds(refresh));
    const { expires = null } = this.format.read(next) ?? {};
    if (isKept && expires !== null) this.#lifetime = { access: tokens.access, ms: expires - now };
    this.#failures = 0;
    this.#notBefore = 0;
    this.#renewedAt = now;
    await notes.keep(this.format.program, { renewed_at: now });
  }

  /** LOGIN-3. */
  async #holds(refresh: string): Promise<boolean> {
    const state = await this.look();
    return "login" in state && state.login.refresh === refresh;
  }

  async #refused(why: string, refresh: string): Promise<void> {
    const { clock, notes } = this.#ports;
    const failure = `${why}. It was signed out, or it was renewed on another machine`;
    const note = notes.note(this.format.program);
    const failed = { failed_at: clock.now(), failure, refused: markOf(refresh) };
    await notes.keep(this.format.program, { ...note, ...failed });
  }

  async #failed(failure: string): Promise<void> {
    const { clock, notes, signal } = this.#ports;
    if (signal.aborted) return;
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures++);
    this.#notBefore = clock.now() + pause;
    const note = notes.note(this.format.program);
    await notes.keep(this.format.program, { ...note, failed_at: clock.now(), failure: failure.replace(/\.$/, "") });
  }

  #isWhole(text: string): boolean {
    try {
      return this.format.read(JSON.parse(text)) !== undefined;
    } catch {
      return false;
    }
  }
}

function unreadable(path: string, error: unknown): string {
  const isContent = error instanceof SyntaxError || (error instanceof Error && error.name === "ZodError");
  return `${path} cannot be ${isContent ? "parsed: it is damaged or half written" : `read (${wordsOf(error)})`}`;
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
