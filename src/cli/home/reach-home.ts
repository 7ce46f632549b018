import { setTimeout } from "node:timers/promises";
import type { CommandName, CommandOf, CommandResult } from "../../protocol/commands.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { AT_TERMINAL } from "../invocation.ts";
import { type OtherProcess, otherProcess } from "./other-process.ts";

/**
 * Gives a command to whoever holds the home; when nobody does, the home is opened here for as long as it takes. Resolves
 * once it is recorded, with the person at the terminal as the one who gave it.
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
 * Does something in the process that holds the home; when there is none, here. A home may just change hands: who has it
 * may not listen yet, or not any more. So it is tried again for a while before somebody is told that it is in use.
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

/** Somebody has the home for a moment, or was about to leave it: nothing was done yet. */
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
