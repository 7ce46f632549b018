import { orAbort } from "../../boundary/or-abort.ts";
import type { Clock } from "../../protocol/clock.ts";
import { Output } from "../../sandbox/process/output.ts";
import { refusal, type Tool, type ToolOutput } from "../../tools/tool.ts";

/** The same limits as for a command: of its output, and of its time unless it says otherwise. */
const MAX_BYTES = 30_000;
const USUAL_SECONDS = 120;

/**
 * Wraps a tool that somebody else wrote, with the limits that the built-in ones have themselves.
 *
 * ADDED-TOOL-1. A call ends: with its result, when its worker is stopped, or at its time limit; whether the tool
 *     honours its signal or not.
 * ADDED-TOOL-2. It returns text of limited length; anything else becomes a failed call, in words.
 * ADDED-TOOL-3. It is shared by all and closed with the runtime, not when its first user is done.
 */
export function guardedTool(tool: Tool, { sleep }: Pick<Clock, "sleep">): Tool {
  const { readOnly, ...spec } = tool.spec;
  return {
    spec: { ...spec, ...(readOnly && { readOnly: readOnly === true ? readOnly : safely(readOnly) }) },
    repeatable: tool.repeatable,
    parse(args) {
      try {
        return tool.parse(args);
      } catch (error) {
        return { ok: false, problem: error instanceof Error ? error.message : String(error) };
      }
    },
    async run(args, signal, call) {
      const seconds = tool.timeoutSeconds ?? USUAL_SECONDS;
      const late = new AbortController();
      const done = new AbortController();
      sleep(seconds * 1000, done.signal).then(
        () => late.abort(new Error(`it took longer than ${seconds} s`)),
        () => {},
      );
      const ends = AbortSignal.any([signal, late.signal]);
      try {
        return bounded(await orAbort(tool.run(args, ends, call), ends), tool.spec.name);
      } finally {
        done.abort();
      }
    },
  };
}

function safely(readOnly: (args: unknown) => boolean): (args: unknown) => boolean {
  return (args) => {
    try {
      return readOnly(args) === true;
    } catch {
      return false;
    }
  };
}

/** Only built-in tools end a piece of work or show pictures: of what this one gives back, the words count. */
function bounded(given: ToolOutput, name: string): ToolOutput {
  const { content, ok = true } = typeof given === "string" ? { content: given } : (given ?? {});
  if (typeof content !== "string")
    return refusal(`${name} gave back something that is not text. Its author can fix that; try another way.`);
  const output = new Output(MAX_BYTES);
  output.push(Buffer.from(content));
  return { content: output.text(), ok: ok !== false };
}
