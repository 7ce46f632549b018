/** What an agent is to be told next, in order. While the queue is held, it waits for somebody to say something. */
export class PromptQueue {
  readonly #unsent: string[];
  #arrived = Promise.withResolvers<void>();
  #isHeld = false;

  constructor(unsent: readonly string[]) {
    this.#unsent = [...unsent];
  }

  get unsent(): readonly string[] {
    return this.#unsent;
  }

  /** There is something to send, and nothing holds it back. */
  get isReady(): boolean {
    return this.#unsent.length > 0 && !this.#isHeld;
  }

  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
  }

  push(text: string): void {
    this.#unsent.push(text);
    this.#arrived.resolve();
  }

  /** Before all else. */
  unshift(...texts: readonly string[]): void {
    this.#unsent.unshift(...texts);
  }

  /** Resolves when the queue is ready; rejects with `gone`. */
  async ready(gone: Promise<never>): Promise<void> {
    while (!this.isReady) {
      this.#arrived = Promise.withResolvers();
      await Promise.race([this.#arrived.promise, gone]);
    }
  }

  /** Everything there is, as one prompt. */
  takeAll(): string {
    return this.#unsent.splice(0).join("\n\n");
  }
}
