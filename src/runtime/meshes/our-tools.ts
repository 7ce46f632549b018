import type { Tool } from "../../tools/tool.ts";
import { OUR_SERVER } from "../../workers/outside/session/session.ts";
import { commandOf, pathsOf, type ToolRequest } from "../../workers/outside/session/tool-request.ts";

/**
 * Whether the request is for one of our own tools, which need no permission. The name alone is not enough: some
 * programs build it from words that their model chose. None of our tools takes a command or a file.
 */
export function isForOurTool(request: ToolRequest): boolean {
  return OUR_NAMES.test(request.tool) && commandOf(request) === undefined && pathsOf(request).length === 0;
}

/** A tool of another server with a similar name is not ours. */
const OUR_NAMES = new RegExp(`^(mcp[._]+${OUR_SERVER}[._]+)?tx_(done|send|ask)$`);

/** Calls `onAsked` when one of them has said something that somebody may answer. */
export function noticing(tools: readonly Tool[], onAsked: () => void): Tool[] {
  return tools.map((tool) => ({
    ...tool,
    async run(args, signal, call) {
      const output = await tool.run(args, signal, call);
      if (AWAITED.has(tool.spec.name) && (typeof output === "string" || output.ok !== false)) onAsked();
      return output;
    },
  }));
}

const AWAITED = new Set(["tx_ask", "tx_send"]);
