/** Work that is done one after the other, in the order in which it was asked for. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves with the end of the turn when it has come; rejects when the signal aborts before. */
  async next(signal: AbortSignal): Promise<() => void> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = before.then(() => promise);
    const aborted = Promise.withResolvers<never>();
    aborted.promise.catch(() => {});
    const onAbort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      signal.throwIfAborted();
      await Promise.race([before, aborted.promise]);
      return resolve;
    } catch (error) {
      resolve();
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  async during<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const end = await this.next(signal);
    try {
      return await work();
    } finally {
      end();
    }
  }
}
