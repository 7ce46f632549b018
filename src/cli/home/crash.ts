import { writeCrash } from "../../store/home/crash-file.ts";
import { stackOf } from "../wording/stack-text.ts";

/**
 * The last resort: an exception or a rejected promise that no owner caught.
 *
 * CRASH-1. It is written to `HOME/crashes/`, with its stack, before anything else happens.
 * CRASH-2. What happens then is decided once for the process: it ends (`agiraph-command.ts`), or it restarts (`restart.ts`).
 */
export function onCrash(process: NodeJS.Process, act: CrashAction): void {
  if (action === undefined)
    process.on("uncaughtException", (error: unknown, origin) => {
      const file = recordCrash(process, error, origin);
      action?.(error, file);
    });
  action = act;
}

/** `file` is where the error was recorded, if that was possible. */
export type CrashAction = (error: unknown, file: string | undefined) => void;

let action: CrashAction | undefined;
let home: string | undefined;
let scrub = (text: string) => text;

/** Records crashes of this process in this home, with secrets removed. */
export function recordCrashesIn(root: string, scrubbed: (text: string) => string): void {
  home = root;
  scrub = scrubbed;
}

/** The message of a crash for people, without secrets. */
export function crashMessage(error: unknown): string {
  return scrub(error instanceof Error ? error.message : String(error));
}

function recordCrash(process: NodeJS.Process, error: unknown, origin: string): string | undefined {
  if (home === undefined) return undefined;
  try {
    const command = process.argv.slice(2, 3).join(" ");
    return writeCrash(home, { at: Date.now(), origin, pid: process.pid, command, text: scrub(stackOf(error)) });
  } catch {
    // The disk is full or read-only. The log still gets the error.
    return undefined;
  }
}
