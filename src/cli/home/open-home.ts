import { isAtWork } from "../../projections/index.ts";
import { scrubberFor } from "../../runtime/config/known-secrets.ts";
import { type LiveSettings, liveSettings } from "../../runtime/config/live-config.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { openRuntime } from "../../runtime/open-runtime.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { embedderOf } from "../../runtime/tool-factory.ts";
import { lookAtAll } from "../../runtime/views/agent-list.ts";
import { HomeInUse } from "../exit-code.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { timestamp } from "../wording/format.ts";
import { recordCrashesIn } from "./crash.ts";
import { brokenExtensions } from "./extension-remarks.ts";
import { lookAt } from "./look.ts";
import { isServer } from "./other-process.ts";

/** Opens the home to work in it. */
export async function openHome(call: Invocation, settings: Settings): Promise<Runtime> {
  recordCrashesIn(settings.home, scrubberFor(settings).text);
  const runtime = await openRuntime(settings);
  const { terminal } = call;
  for (const line of brokenExtensions(runtime.extensions)) terminal.say(`${terminal.errPaint.yellow("!")} ${line}`);
  return runtime;
}

/** Settings of a working process: they follow config.json, which may change at any time. */
export function followed(settings: Settings): LiveSettings {
  const { env } = settings;
  return liveSettings(settings, (config) => void embedderOf({ env, config }));
}

/** The message when another process works in the home: which one, since when, on what, and how to join or stop it. */
export async function whoIsThere(call: Invocation, locked: Error): Promise<Error> {
  const words = await wordsOn(call).catch(() => undefined);
  return words === undefined ? locked : new HomeInUse(words, { cause: locked });
}

async function wordsOn(call: Invocation): Promise<string | undefined> {
  const { store, holder, settings } = await lookAt(call);
  if (!holder) return undefined;
  const details = [...(holder.command ? [holder.command] : []), `since ${timestamp(holder.started_ts)}`].join(", ");
  const who = `pid ${holder.pid} (${details})`;
  if (isServer(holder))
    return (
      `The home ${settings.home} is served by ${who} at ${holder.url}; other commands use it automatically. ` +
      `A link for your browser: ${commandLine(call, "token", "--link")}. ` +
      `Stop it (kill ${holder.pid}, or Ctrl-C in its terminal) to serve the home again, or give this one a home of its own with --home DIR.`
    );
  const own = "Or give this one a home of its own with --home DIR.";
  const wait = `Let it end, or stop it (Ctrl-C in its terminal, or kill ${holder.pid}).`;
  // It says what it is as soon as it can be reached.
  if (holder.url === undefined && holder.command === undefined)
    return (
      `The home ${settings.home} is in use by ${who}, which is starting or about to end. ` +
      `Try again in a few seconds. If it does not end: kill ${holder.pid}. ${own}`
    );
  if (holder.url === undefined)
    return (
      `The home ${settings.home} is in use by ${who}, which other commands cannot join: ` +
      `it is an older version of Agiraph, or could not open a port. ${wait} ${own}`
    );
  // Also one that waits for its human; of those that are done, the record does not tell whose time is kept.
  const { agents } = await lookAtAll(store);
  const working = agents.find(({ summary }) => isAtWork(summary.status) && summary.updated_ts >= holder.started_ts);
  const what = working
    ? `works on ${working.summary.name} (${working.summary.id})`
    : "is not working on an agent now: it waits for the triggers of one that is done, or is about to end";
  return (
    `The home ${settings.home} is in use by ${who}, which ${what}. Other commands join it automatically, ` +
    `but this one needs the home to itself. ${wait} ${own}`
  );
}
