import { useEffect, useState } from "react";

/** Longer than the two clicks of a double click are apart. */
const REST_MS = 600;

/**
 * Whether buttons rest: for a moment after one was pressed, and after others came into their places. A second click
 * then was not meant for what lies under it. Who rests says so (`aria-disabled`) and keeps the focus.
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
