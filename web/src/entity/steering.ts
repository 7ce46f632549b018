import { type AgentState, isAtWork } from "../../../src/projections/index.ts";
import { COORDINATOR } from "../../../src/protocol/index.ts";
import { agents } from "../live/agents.ts";
import { ApiError, give } from "../live/api.ts";
import { complain, openOverlay, toast } from "../shell/overlay.ts";
import { go, routeNow } from "../shell/route.ts";

export interface Steer {
  label: "Pause" | "Stop" | "Resume" | "Archive";
  run: () => void;
}

/** An agent, open or from the list of all. */
type Steered = Pick<AgentState, "status" | "outcome"> & { id: string; created: { name: string } };

/** What one can have an agent do now: in its header, and in the palette. */
export function steering(agent: Steered): Steer[] {
  const { id, status, created } = agent;
  const mayGoOn = status === "paused" || status === "stopped" || status === "failed";
  const act = (how: "pause" | "stop") => () => void give({ do: how, id }).then(() => agents.refresh(), complain);
  return [
    ...(isAtWork(status)
      ? ([
          { label: "Pause", run: act("pause") },
          { label: "Stop", run: act("stop") },
        ] as const)
      : []),
    ...(mayGoOn ? ([{ label: "Resume", run: () => goOn(agent) }] as const) : []),
    { label: "Archive", run: () => void remove(id, created.name, isAtWork(status)) },
  ];
}

/** What ran out of money continues only with more of it. */
export function goOn({ id, outcome }: Steered): void {
  if (outcome?.kind === "budget_exhausted") {
    askForMore(id);
    return;
  }
  give({ do: "resume", id }).then(
    () => agents.refresh(),
    // Of an agent that is not open only the server knows why it failed.
    (error: unknown) =>
      error instanceof ApiError && error.code === "too_little_money" ? askForMore(id) : complain(error),
  );
}

/** By the palette also while one looks at somebody else: one is asked where it can be seen whose money it is. */
function askForMore(id: string): void {
  const route = routeNow();
  if (!("agent" in route) || route.agent !== id) go({ screen: "entity", agent: id, worker: COORDINATOR });
  openOverlay("more_money");
}

const leaving = new Set<string>();

/** Nothing is erased: an archived agent can be restored. */
async function remove(agent: string, name: string, wasAtWork: boolean): Promise<void> {
  if (leaving.has(agent)) return;
  leaving.add(agent);
  try {
    await give({ do: "archive", id: agent });
    const route = routeNow();
    // By the palette also while one looks at somebody else.
    if ("agent" in route && route.agent === agent) go({ screen: "home" });
    await agents.refresh();
    toast("plain", `${name} was ${wasAtWork ? "stopped and " : ""}archived.`, {
      label: "Undo",
      run: () => restore(agent),
    });
  } catch (error) {
    complain(error);
  } finally {
    leaving.delete(agent);
  }
}

export function restore(agent: string): void {
  give({ do: "restore", id: agent }).then(() => agents.refresh(), complain);
}
