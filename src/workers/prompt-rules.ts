import type { ToolSpec } from "../models/model.ts";
import { TOOL_NAMES } from "../tools/tool-names.ts";

/** Names that are no words of their own: those that are, such as `publish`, nobody is without. */
const NAMED = TOOL_NAMES.filter((name) => name.includes("_") || name === "reconvene");
/** Who has one of these has to do with nodes: its own, or those that it hands out. */
const OF_NODES = ["create_work_node", "launch_roles", "publish"];
const OF_A_TEAM = /\b(?:nodes?|workers?|stages?)\b/;

/**
 * Rules for somebody with these tools.
 *
 * PROMPT-RULES-1. No sentence names a tool of ours that is not offered; and who leads nobody is told nothing of nodes,
 *     workers and stages.
 */
export function rulesWith(rules: string, offered: readonly ToolSpec[]): string {
  const names = new Set(offered.map(({ name }) => name));
  const missing = anyOf(NAMED.filter((name) => !names.has(name)));
  const isAlone = !OF_NODES.some((name) => names.has(name));
  const isOthers = (text: string) => isAlone && OF_A_TEAM.test(text);
  const isUseful = (sentence: string) => !missing?.test(sentence);
  const lines = rules.split("\n").flatMap((line) => {
    if (!line.startsWith("- ")) return [line];
    const [about = "", ...more] = line.slice("- ".length).split(SENTENCES);
    const kept = isOthers(about) ? [] : [about, ...more].filter(isUseful);
    return kept.length > 0 ? [`- ${kept.join(" ")}`] : [];
  });
  return lines.join("\n");
}

/** One pattern for all of them, kept: there are as many as there are sets of tools, which are few. */
function anyOf(names: readonly string[]): RegExp | undefined {
  if (names.length === 0) return undefined;
  const words = names.join("|");
  const known = patterns.get(words) ?? new RegExp(`\\b(?:${words})\\b`);
  patterns.set(words, known);
  return known;
}

const patterns = new Map<string, RegExp>();

const SENTENCES = /(?<=[.?!]) (?=[A-Z])/;
