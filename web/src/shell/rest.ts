import { useEffect, useState } from "react";

/** Longer than the interval of a double click. */
const REST_MS = 600;

/**
 * Whether buttons are disabled: for a moment after one was pressed, and after others took their places. A second click
 * then was not meant for what is below it. A disabled button says so (`aria-disabled`) and keeps the focus.
 */
export function useRest(shown: string): [isResting: boolean, pressed: () => void] {
  const [ready, setReady] = useState<string | null>(shown);
  const isResting = ready !== shown;
  useEffect(() => {
    if (!isResting) return undefined;
    const timer = setTimeout(() => setReady(shown), REST_MS);
    return () => clearTimeout(timer);
  }, [isResting, shown]);
  return [isResting, () => setReady(null)];
}
