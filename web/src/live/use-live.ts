import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { useRoute } from "../shell/route.ts";
import { agents } from "./agents.ts";
import { replayAt } from "./replay.ts";
import type { AgentView } from "./view.ts";

/** The agents of the home; the component is rendered again when anything about them changes. */
export function useAgents(): typeof agents {
  useSyncExternalStore(agents.subscribe, () => agents.version);
  return agents;
}

/** The agent as the address says: live, or at a moment. */
export function useAgent(id: string): AgentView {
  const view = useView(id);
  const subscribe = useCallback((listener: () => void) => view.subscribe(listener), [view]);
  useSyncExternalStore(subscribe, () => view.version);
  return view;
}

/** One comparable value about an agent: the component is rendered again when it changes. */
export function useOfAgent<T extends string | number | boolean | null>(id: string, select: (view: AgentView) => T): T {
  const view = useView(id);
  const subscribe = useCallback((listener: () => void) => view.subscribe(listener), [view]);
  return useSyncExternalStore(subscribe, () => select(view));
}

/** A moment is a moment of one agent: the others are shown as they are. */
function useView(id: string): AgentView {
  const route = useRoute();
  const at = "agent" in route && route.agent === id ? route.at : null;
  return at === null ? agents.feed(id) : replayAt(id, at);
}

/** The value, updated at most this often; the last one always arrives. */
export function usePaced<T>(value: T, ms: number): T {
  const [shown, setShown] = useState(value);
  const last = useRef(0);
  useEffect(() => {
    const wait = last.current + ms - performance.now();
    const show = () => {
      last.current = performance.now();
      setShown(value);
    };
    const timer = setTimeout(show, Math.max(0, wait));
    return () => clearTimeout(timer);
  }, [value, ms]);
  return shown;
}

export type Loaded<T> = { state: "loading" } | { state: "ready"; value: T } | { state: "failed"; problem: string };

/**
 * Loads when `key` changes; after a failure, again when the server is back. The previous content stays visible while
 * the next is loading.
 */
export function useLoaded<T>(key: string, load: () => Promise<T>): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: "loading" });
  const [tries, setTries] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says what is loaded
  useEffect(() => {
    let isWanted = true;
    let forget = () => {};
    const began = agents.opened;
    const tryAgain = () => agents.opened !== began && setTries(tries + 1);
    load().then(
      (value) => isWanted && setLoaded({ state: "ready", value }),
      (error: unknown) => {
        if (!isWanted) return;
        setLoaded({ state: "failed", problem: error instanceof Error ? error.message : String(error) });
        forget = agents.subscribe(tryAgain);
        tryAgain();
      },
    );
    return () => {
      isWanted = false;
      forget();
    };
  }, [key, tries]);
  return loaded;
}
