const waiting = new Map<string, Promise<unknown>>();

/** Runs work under a key after all earlier work under the same key, in this process: whichever object asks for it. */
export async function oneAtATime<T>(key: string, work: () => Promise<T>): Promise<T> {
  const last = (waiting.get(key) ?? Promise.resolve()).then(work, work);
  waiting.set(key, last);
  try {
    return await last;
  } finally {
    if (waiting.get(key) === last) waiting.delete(key);
  }
}

/** For a simulated crash: the process has died, so nothing waits any more. */
export function forgetWaiting(): void {
  waiting.clear();
}
