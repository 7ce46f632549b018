/** What an agent is to be told next, in order. While the queue is paused, it waits for somebody to say something. */
export class PromptQueue {
  readonly #unsent: string[];
  #arrived = Promise.withResolvers<void>();
  #isPaused = false;

  constructor(unsent: readonly string[]) {
    this.#unsent = [...unsent];
  }

  get unsent(): readonly string[] {
    return this.#unsent;
  }

  /** There is something to send, and it is not paused. */
  get isReady(): boolean {
    return this.#unsent.length > 0 && !this.#isPaused;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
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
