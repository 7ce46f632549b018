import { checksOfBranch, hasEnded, type NodeState, type RepositoryState } from "../../projections/index.ts";
import { count } from "./format.ts";
import { plain } from "./width.ts";

// The agent's branch, and what became of each node's work on it, in a few words.

/** Empty for a node that has nothing to say of the repository yet. */
export function workWords(node: NodeState, repository: RepositoryState): string {
  const work = repository.nodes[node.id];
  if (!work) return "";
  if (work.state === "reverted") return "taken out";
  if (work.state === "merged" && work.commit) {
    const { insertions, deletions } = work.commit;
    const red = Object.values(work.checks).filter(({ ok, commit }) => !ok && commit === work.commit?.merged);
    return `merged +${insertions} −${deletions}${red.length > 0 ? `, fails: ${commandsOf(red)}` : ""}`;
  }
  if (hasEnded(node)) return node.status === "completed" ? "no changes" : "not merged";
  const refusal = work.refusals.at(-1);
  if (work.state !== "refused" || !refusal) return "";
  if (refusal.why === "conflict") return `conflicts: ${named(refusal.files)}`;
  return `fails: ${commandsOf(Object.values(work.checks).filter(({ ok }) => !ok))}`;
}

/** Where the branch is, whether its checks pass, and whether the person has it. */
export function branchWords(repository: RepositoryState): string {
  const { branch, tip, base, source_branch, nodes, deliveries } = repository;
  const from = `on ${source_branch === null ? "" : `${plain(source_branch)} `}${base.slice(0, 10)}`;
  if (tip === base) return `${branch} ${from}: nothing yet`;
  const merged = Object.values(nodes).filter(({ state }) => state === "merged").length;
  const last = deliveries.at(-1);
  const taken = last?.how === "merge" ? `merged into ${plain(last.into ?? "your branch")}` : "accepted";
  const delivered = !last ? "not accepted yet" : last.commit === tip ? taken : "changed since it was accepted";
  return `${branch} ${from}: ${[`${count(merged, "node")} merged`, checkWords(repository), delivered].filter(Boolean).join(", ")}`;
}

function checkWords(repository: RepositoryState): string {
  const checks = checksOfBranch(repository);
  const failed = checks.filter(({ ok }) => !ok);
  if (failed.length > 0) return `fails: ${commandsOf(failed)}`;
  return checks.length > 0 ? "checks pass" : "";
}

function commandsOf(checks: readonly { command: string }[]): string {
  return named(checks.map(({ command }) => command));
}

const MOST_NAMED = 3;

function named(words: readonly string[]): string {
  const more = words.length > MOST_NAMED ? ` and ${words.length - MOST_NAMED} more` : "";
  return words.slice(0, MOST_NAMED).map(plain).join(", ") + more;
}
