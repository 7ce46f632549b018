import type { NodeId } from "../../protocol/index.ts";

// What is said of work that did not come into the branch. `publish` puts "Not published: " before it.

export function conflictWords(branch: string, conflict: string): string {
  return `your work conflicts with what came into the branch since your clone was made.\n${conflict}\nTake the branch in (git fetch origin && git merge origin/${branch}), resolve the conflicts in the files, git add them, and publish again.`;
}

export function redWords(failed: string): string {
  return `in a fresh checkout of your work, merged with the branch, ${failed}\nFix it and publish again. If the check itself is wrong, tell the coordinator, or give_up.`;
}

export function humanIsNeeded(
  node: NodeId,
  { why, text, refusals }: { why: "conflict" | "checks"; text: string; refusals: number },
): string {
  const what = why === "conflict" ? "conflicts with the branch" : "does not pass its checks";
  return `${node} ${what}, ${refusals} times now, so you may want to look.\n\n${text}\n\nTell its worker what to do, change its checks, or cancel it.`;
}
