/** Waits until the signal fires, and no longer: an SDK, a fetch, a name lookup or a tool of others may ignore it. */
export function orAbort<T>(promise: PromiseLike<T> | T, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    // The signal may outlive many requests.
    const forget = () => signal.removeEventListener("abort", onAbort);
    Promise.resolve(promise).then(resolve, reject).then(forget);
  });
}
