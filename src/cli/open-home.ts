import { isAtWork } from "../projections/index.ts";
import { embedderOf } from "../runtime/equipment.ts";
import { lookAtAll } from "../runtime/first-look.ts";
import { scrubberFor } from "../runtime/known-secrets.ts";
import { type LiveSettings, liveSettings } from "../runtime/live-config.ts";
import { openRuntime } from "../runtime/open-runtime.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Settings } from "../runtime/settings.ts";
import { recordCrashesIn } from "./crash.ts";
import { HomeInUse } from "./exit-code.ts";
import { commandLine, type Invocation } from "./invocation.ts";
import { lookAt } from "./look.ts";

/** The home, to work in. When another process works there already, says on what, and what to do about it. */
export async function openHome(call: Invocation, settings: Settings): Promise<Runtime> {
  recordCrashesIn(settings.home, scrubberFor(settings).text);
  try {
    return await openRuntime(settings);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "HomeLockedError") throw error;
    const words = await whoIsThere(call).catch(() => undefined);
    throw words === undefined ? error : new HomeInUse(words, { cause: error });
  }
}

/** Settings of a process that works: they follow config.json, which may be changed at any time. */
export function followed(settings: Settings): LiveSettings {
  const { env } = settings;
  return liveSettings(settings, (config) => void embedderOf({ env, config }));
}

async function whoIsThere(call: Invocation): Promise<string | undefined> {
  const { store, holder, settings } = await lookAt(call);
  if (!holder) return undefined;
  if (holder.url !== undefined)
    return (
      `The home ${settings.home} is served by pid ${holder.pid} at ${holder.url}; other commands go through it by themselves. ` +
      `A link for your browser: ${commandLine(call, "token", "--link")}. ` +
      `Stop it (kill ${holder.pid}, or Ctrl-C in its terminal) to serve the home anew, or give this one a home of its own with --home DIR.`
    );
  // Also one that waits for its human; of those that are done, the record does not tell whose time is kept.
  const { agents } = await lookAtAll(store);
  const working = agents.find(({ summary }) => isAtWork(summary.status) && summary.updated_ts >= holder.started_ts);
  if (!working)
    return (
      `The home ${settings.home} is in use by pid ${holder.pid}, which works on no agent now: ` +
      "it keeps time for one that is done, or is about to end. Ctrl-C in its terminal ends it; " +
      "or give this one a home of its own with --home DIR."
    );
  const { id, name } = working.summary;
  return (
    `The home ${settings.home} is in use by pid ${holder.pid}, which works on ${name} (${id}). ` +
    `Watch it: ${commandLine(call, "logs", id, "-f")} · stop it: ${commandLine(call, "stop", id)} · ` +
    "or give this one a home of its own with --home DIR."
  );
}
