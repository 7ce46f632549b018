import { useSyncExternalStore } from "react";
import { type PagePlace, type PageRoute, pageRouteOf, urlOf } from "./address.ts";
import { keep, remembered } from "./memo.ts";

export { type PagePlace, type PageRoute, urlOf } from "./address.ts";

let current = pageRouteOf(location.pathname, location.search);
const listeners = new Set<() => void>();

/** At another moment if `at` is given, otherwise at the moment shown now. */
export function go(
  place: PagePlace,
  { at = current.at, replace = false }: { at?: number | null; replace?: boolean } = {},
) {
  const sameAgent = "agent" in place && "agent" in current && place.agent === current.agent;
  const address = urlOf(place, sameAgent ? at : null);
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  remember(place);
  changed();
}

/** Recently visited addresses, the last one first. */
export function recentAddresses(): string[] {
  return (remembered(RECENT) ?? "").split("\n").filter(Boolean);
}

const RECENT = "recent";
const MOST_RECENT = 9;

function remember(place: PagePlace): void {
  const address = urlOf(place, null);
  // A scrubber that is drawn goes to the same place a hundred times a second.
  if (recentAddresses()[0] === address) return;
  const recent = [address, ...recentAddresses().filter((each) => each !== address)];
  keep(RECENT, recent.slice(0, MOST_RECENT).join("\n"));
}

/** The same screen at another moment. */
export function goTo(at: number | null): void {
  go(current, { at, replace: at !== null && current.at !== null });
}

export function routeNow(): PageRoute {
  return current;
}

export function useRoute(): PageRoute {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}

function changed(): void {
  current = pageRouteOf(location.pathname, location.search);
  for (const listener of listeners) listener();
}

window.addEventListener("popstate", changed);
