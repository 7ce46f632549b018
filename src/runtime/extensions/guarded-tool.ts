import { orAbort } from "../../boundary/or-abort.ts";
import type { Clock } from "../../protocol/clock.ts";
import { Output } from "../../sandbox/process/output.ts";
import { refusal, type Tool, type ToolOutput } from "../../tools/tool.ts";

/** The same limits as for a command: of its output, and of its time unless it says otherwise. */
const MAX_BYTES = 30_000;
const USUAL_SECONDS = 120;
/** A reason of our own: making the usual one, with its stack, costs more than the rest of a short call. */
const DONE = new Error("the call has ended");

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
      const ends = new AbortController();
      const stop = () => ends.abort(signal.reason);
      if (signal.aborted) stop();
      signal.addEventListener("abort", stop, { once: true });
      let done: AbortController | undefined;
      // A timer costs more than the rest of a call that ends at once, as most do: it is set for those that go on.
      const goesOn = setImmediate(() => {
        done = new AbortController();
        sleep(seconds * 1000, done.signal).then(
          () => ends.abort(new Error(`it took longer than ${seconds} s`)),
          () => {},
        );
      });
      try {
        return bounded(await orAbort(tool.run(args, ends.signal, call), ends.signal), tool.spec.name);
      } finally {
        signal.removeEventListener("abort", stop);
        clearImmediate(goesOn);
        done?.abort(DONE);
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

function shortened(content: string): string {
  if (content.length <= MAX_BYTES && Buffer.byteLength(content) <= MAX_BYTES && content.isWellFormed()) return content;
  const output = new Output(MAX_BYTES);
  output.push(Buffer.from(content));
  return output.text();
}

/** Only built-in tools end a piece of work or show pictures: of what this one gives back, the words count. */
function bounded(given: ToolOutput, name: string): ToolOutput {
  const { content, ok = true } = typeof given === "string" ? { content: given } : (given ?? {});
  if (typeof content !== "string")
    return refusal(`${name} gave back something that is not text. Its author can fix that; try another way.`);
  return { content: shortened(content), ok: ok !== false };
}
