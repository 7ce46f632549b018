import { useSyncExternalStore } from "react";
import { agents } from "../live/agents.ts";
import { useAgents } from "../live/use-live.ts";
import type { PageRoute } from "./route.ts";

/** Says that what is shown may be out of date. Everything stays visible meanwhile. */
export function ConnectionLine({ route }: { route: PageRoute }) {
  const { isLost, isOld, problem } = useAgents();
  const agent = "agent" in route ? route.agent : null;
  const isFeedLost = useSyncExternalStore(
    (listener) => (agent ? agents.feed(agent).subscribe(listener) : () => {}),
    () => agent !== null && agents.feed(agent).state === "lost",
  );
  if (!isLost && !isFeedLost && !isOld) return null;
  const isHeard = !isLost && !isFeedLost;
  return (
    <p role="status" className="shrink-0 bg-wait-tint px-3 py-1 text-center text-xs font-medium text-wait">
      {isHeard ? `${problem} Trying again.` : "The connection is lost; trying again."} This page may be out of date.
    </p>
  );
}
