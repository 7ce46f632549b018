import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { useRoute } from "../shell/route.ts";
import { agents } from "./agents.ts";
import { type Loaded, Loader } from "./loader.ts";
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

export type { Loaded } from "./loader.ts";

/**
 * Loads what `subject` names, and again when `tick` changes: what was loaded before stays visible meanwhile. Of another
 * subject nothing is shown.
 */
export function useLoaded<T>(subject: string, load: () => Promise<T>, tick = ""): Loaded<T> {
  const [shown, setShown] = useState<{ subject: string; loaded: Loaded<T> }>({ subject, loaded: LOADING });
  const loader = useRef<Loader<T>>(undefined);
  useEffect(() => {
    const made = new Loader<T>({ show: (loaded) => setShown({ subject, loaded }), server: agents });
    loader.current = made;
    return () => made.end();
  }, [subject]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: subject and tick say what is loaded
  useEffect(() => loader.current?.load(load), [subject, tick]);
  return shown.subject === subject ? shown.loaded : LOADING;
}

const LOADING = { state: "loading" } as const;
