import { allSituations } from "../runtime/inspect.ts";
import { openRuntime } from "../runtime/open-runtime.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Settings } from "../runtime/settings.ts";
import { HomeInUse } from "./exit-code.ts";
import { commandLine, type Invocation } from "./invocation.ts";
import { lookAt, standingOf } from "./look.ts";

/** The home, to work in. When another process works there already, says on what, and what to do about it. */
export async function openHome(call: Invocation, settings: Settings): Promise<Runtime> {
  try {
    return await openRuntime(settings);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "HomeLockedError") throw error;
    const words = await whoIsThere(call).catch(() => undefined);
    throw words === undefined ? error : new HomeInUse(words, { cause: error });
  }
}

async function whoIsThere(call: Invocation): Promise<string | undefined> {
  const { store, holder, settings } = await lookAt(call);
  const { situations } = await allSituations(store);
  const working = situations.find((now) => standingOf(now, holder) === "working");
  if (!holder || !working) return undefined;
  const { id, created } = working.agent;
  return (
    `The home ${settings.home} is in use by pid ${holder.pid}, which works on ${created.name} (${id}). ` +
    `Watch it: ${commandLine(call, "logs", id, "-f")} · stop it: ${commandLine(call, "stop", id)} · ` +
    "or give this one a home of its own with --home DIR."
  );
}
