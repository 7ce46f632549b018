/** Lets one caller in at a time, in the order in which they asked. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves with what releases it, when all before have done so; rejects when the signal aborts before that. */
  async acquire(signal: AbortSignal): Promise<() => void> {
    const before = this.#last;
    const { promise, resolve: release } = Promise.withResolvers<void>();
    this.#last = before.then(() => promise);
    const aborted = Promise.withResolvers<never>();
    aborted.promise.catch(() => {});
    const onAbort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      signal.throwIfAborted();
      await Promise.race([before, aborted.promise]);
      return release;
    } catch (error) {
      release();
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }
}
