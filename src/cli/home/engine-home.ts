import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout } from "node:timers/promises";
import { EngineError, engineAddress } from "../../engine/engine-address.ts";
import type { EngineHosts } from "../../engine/engine-hosts.ts";
import { scrubberFor } from "../../runtime/config/known-secrets.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { systemClock } from "../../runtime/config/system-clock.ts";
import { LOGIN_FORMATS } from "../../runtime/logins/login-formats.ts";
import { openRuntime } from "../../runtime/open-runtime.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { versionOf } from "../base-command.ts";
import type { Invocation } from "../invocation.ts";
import { recordCrashesIn } from "./crash.ts";
import type { EngineChoice } from "./engine-choice.ts";
import { brokenExtensions } from "./extension-remarks.ts";

export interface EngineHomePorts extends EngineChoice {
  /** Its address. */
  engine: string;
  /** The engine may be away for a while: it is waited for. */
  isPatient: boolean;
  onLost(): void;
}

/** Joins the hosts of an engine: the home becomes a working copy. */
export async function openEngineHome(
  call: Invocation,
  settings: Settings,
  { engine, schema, hostName = hostname(), isPatient, onLost }: EngineHomePorts,
): Promise<Runtime> {
  const { terminal } = call;
  recordCrashesIn(settings.home, scrubberFor(settings).text);
  // The client of PostgreSQL is loaded for this alone.
  const { openEngine } = await import("../../engine/open-engine.ts");
  const options = {
    ...{ address: engineAddress(engine, schema), home: settings.home, hostName, version: versionOf(call.packageRoot) },
    ...{ newId: randomUUID, elapsed: () => performance.now(), sleep: systemClock.sleep, onLost },
    loginFiles: LOGIN_FORMATS.map(({ share }) => share),
  };
  const join = async () => {
    for (let isTold = false; ; isTold = true) {
      try {
        return await openEngine(options);
      } catch (error) {
        if (!isPatient || !(error instanceof EngineError)) throw error;
        if (!isTold) terminal.say(`${terminal.errPaint.yellow("!")} ${error.message} It is tried again.`);
        await setTimeout(AGAIN_MS);
      }
    }
  };
  const { store, clock, hosts } = await join();
  try {
    const runtime = await openRuntime(settings, { store, clock, hosting: hosts });
    tellWhenAway(call, hosts);
    for (const line of brokenExtensions(runtime.extensions)) terminal.say(`${terminal.errPaint.yellow("!")} ${line}`);
    return runtime;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** People see that work waits, and that it goes on. */
function tellWhenAway({ terminal }: Invocation, hosts: Pick<EngineHosts, "isAway" | "signal">): void {
  let wasAway = false;
  const look = setInterval(() => {
    if (hosts.signal.aborted) clearInterval(look);
    if (hosts.isAway === wasAway || hosts.signal.aborted) return;
    wasAway = hosts.isAway;
    terminal.say(
      wasAway
        ? `${terminal.errPaint.yellow("!")} The engine does not answer. Work waits for it.`
        : `${terminal.errPaint.green("✓")} The engine answers again. Work goes on.`,
    );
  }, LOOK_MS);
  look.unref();
}

const LOOK_MS = 1000;
const AGAIN_MS = 2000;
