import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { useRoute } from "../shell/route.ts";
import { agents } from "./agents.ts";
import { replayAt } from "./replay.ts";
import type { AgentView } from "./view.ts";

/** The agents of the home; the component is drawn again when anything about them changes. */
export function useAgents(): typeof agents {
  useSyncExternalStore(agents.subscribe, () => agents.version);
  return agents;
}

/** The agent as the address says: live, or at a moment. */
export function useAgent(id: string): AgentView {
  const { at } = useRoute();
  const view = at === null ? agents.feed(id) : replayAt(id, at);
  const subscribe = useCallback((listener: () => void) => view.subscribe(listener), [view]);
  useSyncExternalStore(subscribe, () => view.version);
  return view;
}

/** One thing about an agent, as something that can be compared: the component is drawn again when it is another. */
export function useOfAgent<T extends string | number | boolean | null>(id: string, select: (view: AgentView) => T): T {
  const { at } = useRoute();
  const view = at === null ? agents.feed(id) : replayAt(id, at);
  const subscribe = useCallback((listener: () => void) => view.subscribe(listener), [view]);
  return useSyncExternalStore(subscribe, () => select(view));
}

export type Loaded<T> = { state: "loading" } | { state: "ready"; value: T } | { state: "failed"; problem: string };

/** Loads when `key` changes. What was loaded stays in sight while the next is on its way. */
export function useLoaded<T>(key: string, load: () => Promise<T>): Loaded<T> {
  const [loaded, setLoaded] = useState<{ key: string; value: Loaded<T> }>({ key: "", value: { state: "loading" } });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says what is loaded
  useEffect(() => {
    let isWanted = true;
    const settle = (value: Loaded<T>) => isWanted && setLoaded({ key, value });
    load().then(
      (value) => settle({ state: "ready", value }),
      (error: unknown) => settle({ state: "failed", problem: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      isWanted = false;
    };
  }, [key]);
  return loaded.value;
}
