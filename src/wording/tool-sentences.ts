import type { FactType } from "../protocol/index.ts";
import { milliseconds } from "./figures.ts";
import { by, details, type Sentences, thing } from "./sentence.ts";

type ToolFact = Extract<FactType, `mcp.${string}` | `tool.${string}` | `process.${string}` | `log.${string}`>;

/** Tools and commands, and the files that hold the record. */
export const TOOLS: Sentences<ToolFact> = {
  "mcp.changed": ({ worker_id, node_id, server, tool }, style) =>
    by(worker_id, style, `found that the MCP server ${server} has changed its tool ${tool}`, {
      detail: details(node_id),
      tone: "warning",
    }),
  "mcp.failed": ({ worker_id, node_id, server, why }, style) =>
    by(worker_id, style, `continues without the MCP server ${server}`, {
      text: why,
      isWhole: true,
      detail: details(node_id),
      tone: "warning",
    }),
  "tool.called": ({ worker_id, node_id, tool, gist }, style) =>
    by(worker_id, style, `calls ${tool}`, {
      text: gist === "{}" ? "" : gist,
      isWhole: true,
      detail: details(node_id),
    }),
  "tool.result": ({ worker_id, node_id, tool, ok, ms, gist }, style) =>
    by(worker_id, style, ok ? `ran ${tool}` : `ran ${tool}, which failed`, {
      text: gist,
      isWhole: true,
      detail: details(node_id, milliseconds(ms)),
      tone: ok ? "done" : "failed",
    }),
  "process.started": ({ worker_id, node_id, pid, command, sandbox, omitted = [] }, style) =>
    by(worker_id, style, "starts a command", {
      text: command,
      next: omitted.join(" "),
      detail: details(node_id, `pid ${pid}`, sandbox),
    }),
  "process.exited": ({ worker_id, node_id, pid, code, signal, interrupted, rested = false }, style) =>
    by(worker_id, style, rested ? "rests, and was ended to free its memory" : "finished a command", {
      ...(!rested && { text: interrupted ? "ended with Agiraph's process" : (signal ?? `code ${code}`) }),
      detail: details(node_id, `pid ${pid}`),
    }),
  "log.repaired": ({ file, what, aside }) =>
    thing("The log", "was damaged and is repaired", {
      text: `${file}: ${what}`,
      isWhole: true,
      next: aside === null ? undefined : `kept in ${aside}`,
      tone: "warning",
    }),
};
