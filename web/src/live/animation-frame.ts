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
    if (isPressed() && !document.hidden) {
      requestAnimationFrame(now);
      return;
    }
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

/** Where a browser does not tell that something was let go, as with its own menus, nothing may wait for it for ever. */
const PRESSED_MS = 1000;
let pressedAt = Number.NEGATIVE_INFINITY;

function isPressed(): boolean {
  return performance.now() - pressedAt < PRESSED_MS;
}

/**
 * Called when the mouse or a finger goes down and when it is let go. What is pressed stays where it is in between: from
 * what has moved away a browser makes no click.
 */
export function hasBeenPressed({ type, target }: Event): void {
  const isDown = type === "pointerdown" && target instanceof Element && target.closest("a, button, summary") !== null;
  pressedAt = isDown ? performance.now() : Number.NEGATIVE_INFINITY;
}

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
