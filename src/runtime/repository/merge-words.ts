import type { NodeState, RepositoryState } from "../../projections/index.ts";
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

export function nothingToRevert(node: NodeId, isReverted: boolean): string {
  return `${node} has nothing in the branch${isReverted ? " any more" : ""}, so there is nothing to take out.`;
}

export function cannotRevert(
  node: NodeId,
  { why, files, text }: { why: "conflict" | "checks"; files: readonly string[]; text: string },
): string {
  const because =
    why === "conflict" ? `later work changed the same lines, in ${files.join(", ")}.` : `without it ${text}`;
  return `${node} cannot be taken out by itself: ${because}\nNothing has changed. Have it undone by a node of its own.`;
}

/** What the coordinator is told before its first turn. */
export function leadWords(
  { branch, base }: Pick<RepositoryState, "branch" | "base">,
  checks: readonly string[],
): string {
  const checked =
    checks.length > 0 ? ` and passes the project's checks (${checks.map((each) => `\`${each}\``).join(", ")})` : "";
  return [
    `Your team changes a git repository: each node has a clone of its own, and what it publishes comes into the branch ${branch} once it merges${checked}. Dependent nodes begin with it.`,
    "project/ is your human's own folder, without that work. The branch is in bash: git --git-dir=agent/repo.git",
    `(log ${branch}, show ${branch}:FILE, diff ${base.slice(0, 12)} ${branch}).`,
    "You change no file of it yourself: create nodes. Deliverables and checks may name its files; checks run at its top.",
  ].join(" ");
}

export function commitMessage({ id }: NodeState, summary: string): string {
  return `${firstLine(summary)}\n\n${summary}\n\nAgiraph-Node: ${id}\n`;
}

export function firstLine(text: string): string {
  return (text.split("\n", 1)[0] ?? "").slice(0, 100);
}
