import { useSyncExternalStore } from "react";
import { addressOf, type Place, type Route, routeOf } from "./address.ts";
import { keep, recall } from "./memo.ts";

export { addressOf, type Place, type Route } from "./address.ts";

let current = routeOf(location.pathname, location.search);
const listeners = new Set<() => void>();

/** At another moment if `at` is given, else at the moment shown now. */
export function go(place: Place, { at = current.at, replace = false }: { at?: number | null; replace?: boolean } = {}) {
  const sameAgent = "agent" in place && "agent" in current && place.agent === current.agent;
  const address = addressOf(place, sameAgent ? at : null);
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  remember(place);
  changed();
}

/** Addresses one has gone to, the last one first. */
export function recentAddresses(): string[] {
  return (recall(RECENT) ?? "").split("\n").filter(Boolean);
}

const RECENT = "recent";
const MOST_RECENT = 9;

function remember(place: Place): void {
  const address = addressOf(place, null);
  // A scrubber that is drawn goes to the same place a hundred times a second.
  if (recentAddresses()[0] === address) return;
  const recent = [address, ...recentAddresses().filter((each) => each !== address)];
  keep(RECENT, recent.slice(0, MOST_RECENT).join("\n"));
}

/** The same screen at another moment. */
export function goTo(at: number | null): void {
  go(current, { at, replace: at !== null && current.at !== null });
}

export function routeNow(): Route {
  return current;
}

export function useRoute(): Route {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}

function changed(): void {
  current = routeOf(location.pathname, location.search);
  for (const listener of listeners) listener();
}

window.addEventListener("popstate", changed);
