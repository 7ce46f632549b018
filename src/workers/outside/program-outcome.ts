import type { Outcome } from "../../protocol/index.ts";

/** How a program's run comes to its end: once, with an outcome or an error. */
export class ProgramOutcome {
  readonly #outcome = Promise.withResolvers<Outcome>();
  readonly #ending = Promise.withResolvers<void>();
  #isOver = false;
  #isStoppedForPublish = false;

  /** Rejects with what the run failed with. */
  get promise(): Promise<Outcome> {
    return this.#outcome.promise;
  }

  /** Resolves when the program is stopped for a publish, or there is an outcome. */
  get ending(): Promise<void> {
    return this.#ending.promise;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isStoppedForPublish(): boolean {
    return this.#isStoppedForPublish;
  }

  resolve(outcome: Outcome): void {
    this.close();
    this.#ending.resolve();
    this.#outcome.resolve(outcome);
  }

  reject(error: unknown): void {
    this.close();
    this.#ending.resolve();
    // It may come after the outcome, when nobody waits for it any more.
    this.#outcome.promise.catch(() => {});
    this.#outcome.reject(error);
  }

  stopForPublish(): void {
    this.#isStoppedForPublish = true;
    this.#ending.resolve();
  }

  /** From now on nothing that the program does changes anything. */
  close(): void {
    this.#isOver = true;
  }
}
