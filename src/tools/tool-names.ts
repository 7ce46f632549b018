import { didYouMean } from "../boundary/nearest.ts";

/** Every tool of ours that `tools` can name. The test beside this file compares it with what is defined. */
export const TOOL_NAMES: readonly string[] = [
  "read_file",
  "write_file",
  "list_files",
  "edit_file",
  "grep",
  "glob",
  "read_ref",
  "bash",
  "bash_output",
  "web_search",
  "web_fetch",
  "memory_read",
  "memory_write",
  "memory_search",
  "memory_forget",
  "offer_insight",
  "accept_insight",
  "decline_insight",
  "create_work_node",
  "suggest_next",
  "checkpoint",
  "give_up",
  "publish",
  "send_message",
  "check_messages",
  "ask_human",
  "spawn_worker",
  "assign_worker",
  "cancel_node",
  "update_node",
  "check_board",
  "reconvene",
  "revert_node",
  "launch_roles",
  "check_stage_status",
  "schedule",
  "list_triggers",
  "cancel_trigger",
  "finish",
  "conclude",
];

/**
 * What is wrong with a list of tools that somebody named, or undefined. `servers` are those of `mcp_servers`, `added` the
 * tools beside our own.
 */
export function problemWithTools(
  names: readonly string[],
  servers: readonly string[],
  added: readonly string[] = [],
): string | undefined {
  const foreign = servers.map((server) => `mcp__${server}`);
  const isKnown = (name: string) =>
    TOOL_NAMES.includes(name) ||
    added.includes(name) ||
    foreign.some((server) => name === server || name.startsWith(`${server}__`));
  const unknown = names.find((name) => !isKnown(name));
  if (unknown === undefined) return undefined;
  const known = [...TOOL_NAMES, ...added, ...foreign];
  return `There is no tool "${unknown}".${didYouMean(unknown, known)} Choose from: ${known.join(", ")}.`;
}
