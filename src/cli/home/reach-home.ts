import { setTimeout } from "node:timers/promises";
import type { CommandName, CommandOf, CommandResult } from "../../protocol/commands.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { AT_TERMINAL } from "../invocation.ts";
import { type OtherProcess, otherProcess } from "./other-process.ts";

/**
 * Gives a command to the process that holds the home; if there is none, opens the home here for as long as it takes.
 * Resolves once the command is recorded, with the person at the terminal as its actor.
 */
export async function give<C extends CommandName>(
  settings: Settings,
  command: CommandOf<C>,
): Promise<{ result: CommandResult<C>; by?: OtherProcess }> {
  return reachHome(settings, {
    there: async (by) => ({ result: await by.client.give<C>(command), by }),
    here: async () => {
      // Heavy, and not needed where another process works.
      const { openRuntime } = await import("../../runtime/open-runtime.ts");
      const runtime = await openRuntime(settings);
      try {
        return { result: await runtime.execute(command, AT_TERMINAL) };
      } finally {
        await runtime.close();
      }
    },
  });
}

/**
 * Does something in the process that holds the home, or here if there is none. The home may be changing hands, so that
 * its holder does not listen yet, or no longer. So this retries for a while before it reports that the home is in use.
 */
export async function reachHome<T>(
  settings: Settings,
  { there, here }: { there(other: OtherProcess): Promise<T>; here(): Promise<T> },
): Promise<T> {
  for (let left = MOST_TRIES; ; left--) {
    try {
      const other = await otherProcess(settings);
      return await (other ? there(other) : here());
    } catch (error) {
      if (left === 0 || !isPassing(error)) throw error;
    }
    await setTimeout(TRY_AGAIN_MS);
  }
}

const MOST_TRIES = 100;
const TRY_AGAIN_MS = 100;

/** Another process has the home only briefly, or was about to release it: nothing was done yet. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === "HomeLockedError") return !("isPassing" in error) || error.isPassing === true;
  return error.name === "UnreachableServer" && isRefused(error.cause);
}

/** No connection was made, so nothing was said. */
function isRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ("code" in error && error.code === "ECONNREFUSED") || isRefused(error.cause);
}
