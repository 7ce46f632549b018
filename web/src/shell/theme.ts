import { useSyncExternalStore } from "react";
import { keep } from "./memo.ts";

const system = "(prefers-color-scheme: dark)";

export function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : matchMedia(system).matches;
}

export function switchTheme(): void {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  keep("theme", theme);
  for (const listener of listeners) listener();
}

export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, isDark);
}

const listeners = new Set<() => void>();

/** If nobody has chosen, the system's theme applies, and may change. */
function subscribe(listener: () => void): () => void {
  const query = matchMedia(system);
  query.addEventListener("change", listener);
  listeners.add(listener);
  return () => {
    query.removeEventListener("change", listener);
    listeners.delete(listener);
  };
}
