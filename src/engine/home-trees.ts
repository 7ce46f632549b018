import { readdir } from "node:fs/promises";
import { agentsDir, isAgentId } from "../store/paths.ts";
import type { TreeRules } from "./tree-survey.ts";

/** What of a home is in an engine: its agents, and what they know of the person. Keys and settings stay with the host. */
export async function treesIn(home: string): Promise<string[]> {
  const agents = (await namesIn(agentsDir(home))).filter(isAgentId).map((id) => `agents/${id}`);
  const shared = (await namesIn(home)).filter((name) => name === "memory");
  return [...agents.toSorted(), ...shared];
}

/** `loginFiles`: where programs keep logins, below a home of theirs. */
export function rulesFor(tree: string, loginFiles: readonly string[]): TreeRules {
  const isAgent = tree.startsWith("agents/");
  return {
    isStream: (path) => isAgent && STREAM.test(path),
    isKept: (path) => isAgent && KEPT.includes(path),
    staysBehind(path) {
      if (!isAgent) return undefined;
      if (MADE_ANEW.includes(path)) return "it is made anew";
      const isLogin = path.startsWith(".programs/") && loginFiles.some((file) => path.endsWith(`/${file}`));
      return isLogin ? "it is a login, which stays on this host" : undefined;
    },
  };
}

/** How a working copy was when this host gave it back. Nothing can be told by it once the copy was changed. */
export const GIVEN_BACK = "snapshots/given-back.json";

const STREAM = /^(?:events|conversation|runs\/[^/]+\/workers\/[^/]+\/conversation)\.jsonl$/;
/** Each knows by itself whether it is still right, and to make it anew takes long. */
const KEPT = ["snapshots", ".index", ".setups"];
const MADE_ANEW = ["snapshots", ".index", ".transit", ".setups", "triggers.json"];

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
