const due = new Set<() => void>();

/**
 * Runs a callback once in the next frame, however often it was requested: under load a debounce would never fire. A
 * hidden tab has no frames, so a timer replaces them there, also for a frame that was pending when the tab was hidden:
 * the title and notifications must not wait until somebody looks.
 */
export function coalesce(run: () => void): () => void {
  let isDue = false;
  const now = () => {
    if (!isDue) return;
    isDue = false;
    due.delete(now);
    run();
  };
  return () => {
    if (isDue) return;
    isDue = true;
    due.add(now);
    if (document.hidden) setTimeout(now, HIDDEN_MS);
    else requestAnimationFrame(now);
  };
}

const HIDDEN_MS = 250;

/** Called when the tab is hidden or shown. */
export function hasBeenHidden(): void {
  if (document.hidden) for (const now of due) setTimeout(now, HIDDEN_MS);
}

/**
 * Listeners of something that changes. They are called at most once per frame; `version` changes at once, because React
 * compares it in every render: a render that reads changed data under an old version can lose the effects that depend
 * on it.
 */
export class Listeners {
  version = 0;
  readonly #all = new Set<() => void>();

  get size(): number {
    return this.#all.size;
  }

  /** Returns the unsubscribe. */
  add(listener: () => void): () => void {
    this.#all.add(listener);
    return () => void this.#all.delete(listener);
  }

  changed(): void {
    this.version += 1;
    this.#tell();
  }

  readonly #tell = coalesce(() => {
    for (const listener of this.#all) listener();
  });
}
