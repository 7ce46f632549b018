import type { Scrubber } from "../boundary/scrubber.ts";
import type { Tool } from "./tool.ts";

/**
 * Tools whose results and failures contain no known secret. Arguments are not changed: a file is written as the model
 * wrote it.
 *
 * SCRUBBED-TOOL-1. A tool has one such wrapper, with the same spec as long as it exists, so that its text is built
 *     once.
 */
export function toolsWithoutSecrets(scrubber: Scrubber): (tools: readonly Tool[]) => Tool[] {
  const known = new WeakMap<Tool, Tool>();
  return (tools) =>
    tools.map((tool) => {
      const made = known.get(tool) ?? scrubbedTool(tool, scrubber);
      known.set(tool, made);
      return made;
    });
}

function scrubbedTool(tool: Tool, scrubber: Scrubber): Tool {
  return {
    spec: scrubber.value(tool.spec),
    repeatable: tool.repeatable,
    ...(tool.hidden && { hidden: tool.hidden }),
    ...(tool.close && { close: () => tool.close?.() ?? Promise.resolve() }),
    parse(args) {
      const parsed = tool.parse(args);
      return parsed.ok ? parsed : { ok: false, problem: scrubber.text(parsed.problem) };
    },
    async run(args, signal, call) {
      try {
        const output = await tool.run(args, signal, call);
        if (typeof output === "string") return scrubber.text(output);
        return { ...output, content: scrubber.text(output.content) };
      } catch (error) {
        if (signal.aborted || !(error instanceof Error)) throw error;
        const message = scrubber.text(error.message);
        throw message === error.message ? error : new Error(message);
      }
    },
  };
}
