import { useSyncExternalStore } from "react";

/** Below this there is no room for two columns of code. */
const WIDE = "(min-width: 1024px)";

export function useWide(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const query = matchMedia(WIDE);
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => matchMedia(WIDE).matches,
  );
}
