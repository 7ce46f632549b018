import type { NewFact } from "../../protocol/index.ts";
import { QuestionAsker } from "../loop/question-asker.ts";
import type { ActingWorker } from "../loop/recorded-loop.ts";
import type { Workplace } from "../workplace.ts";
import type { ProgramLogin } from "./session/program-ports.ts";

/** The call id of the request to sign in; there is one such question for each worker. */
const CALL = "sign-in";
const TOOL = "sign_in";
/** In a row, without anything done in between. */
const MOST_REFUSALS = 3;

/** What a program says when its login is not accepted: Claude Code, Codex, Gemini CLI, opencode, in this order. */
const NOT_ACCEPTED =
  /\b401\b|failed to authenticate|please run \/login|not logged in|sign(ed)? ?in again|unauthori[sz]ed|authentication|invalid_grant|token (has )?(been )?(expired|revoked)/i;

/**
 * That a program is signed in while it works.
 *
 * SIGN-IN-1. A program whose login cannot be used is not started: its worker waits, the person is asked to sign in, and
 *     the work goes on by itself as soon as the login can be used. No try is lost by it.
 * SIGN-IN-2. A login that is refused in the middle of the work is renewed, and the same session goes on; in another
 *     process of the program, if this one goes on with the old login.
 */
export class SignIn {
  readonly #login: ProgramLogin | undefined;
  readonly #self: ActingWorker;
  readonly #workplace: Workplace;
  readonly #signal: AbortSignal;
  #refusals = 0;
  #isWaiting = false;

  constructor(login: ProgramLogin | undefined, self: ActingWorker, workplace: Workplace, signal: AbortSignal) {
    this.#login = login;
    this.#self = self;
    this.#workplace = workplace;
    this.#signal = signal;
  }

  /** A person was asked to sign in and has not yet. */
  get isAwaited(): boolean {
    return this.#isWaiting;
  }

  /** Its login was renewed, and refused again: it may hold the old one in its memory, as Gemini CLI does. */
  get isRefusedAgain(): boolean {
    return this.#refusals === 2;
  }

  /** It works: only refusals in a row count. */
  accepted(): void {
    this.#refusals = 0;
  }

  /** Resolves when its login can be used. */
  async usable(): Promise<void> {
    const login = this.#login;
    if (login) await this.#until(login, await login.problem());
  }

  /** It is asked for a new login while the program itself tries again. */
  refused(): void {
    this.#login?.refused().catch(() => {});
  }

  /** It failed with these words. Resolves with true when that was for its login, and it can go on with another. */
  async recovers(words: string): Promise<boolean> {
    const login = this.#login;
    if (!login || !NOT_ACCEPTED.test(words) || ++this.#refusals > MOST_REFUSALS) return false;
    await this.#until(login, await login.refused());
    return true;
  }

  async #until(login: ProgramLogin, found: string | null): Promise<void> {
    let problem = found;
    if (problem === null) return this.#settle();
    this.#isWaiting = true;
    try {
      for (; problem !== null; problem = await login.problem()) await this.#wait(login, problem);
    } finally {
      this.#isWaiting = false;
    }
    await this.#settle();
  }

  /** Until the person has answered, or the login has changed. */
  async #wait(login: ProgramLogin, question: string): Promise<void> {
    const { worker_id, node_id } = this.#self;
    const waiting: NewFact = { type: "worker.waiting", data: { worker_id, node_id, for: "human" } };
    const questions = new QuestionAsker(this.#self, this.#workplace);
    const id = await questions.put({ question }, { id: CALL }, [waiting]);
    const over = new AbortController();
    const signal = AbortSignal.any([this.#signal, over.signal]);
    const answered = questions.answerTo(id, signal);
    const changed = login.changed(signal);
    answered.catch(() => {});
    changed.catch(() => {});
    await Promise.race([answered, changed]).finally(() => over.abort(new Error("the login is looked at again")));
    // An answer is used up: if it did not help, that is another question.
    if (this.#workplace.now().questions.answered[id]) await this.#settle();
  }

  /** Nobody is asked any more. */
  async #settle(): Promise<void> {
    const { worker_id, node_id } = this.#self;
    const { open, answered } = this.#workplace.pending().questions;
    const isOurs = (each: { worker_id: string; call_id: string }) =>
      each.worker_id === worker_id && each.call_id === CALL;
    if (![...Object.values(open), ...Object.values(answered)].some(isOurs)) return;
    const result = { call_id: CALL, tool: TOOL, ok: true, ms: 0, gist: "the login is looked at again" };
    const facts: NewFact[] = [
      { type: "tool.result", data: { worker_id, node_id, ...result } },
      { type: "worker.busy", data: { worker_id, node_id } },
    ];
    await this.#workplace.log.append({ facts }).durable;
  }
}
