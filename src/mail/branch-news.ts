import type { NodeInRepository, Situation } from "../projections/index.ts";
import type { Fact, NodeId } from "../protocol/index.ts";

/** What the coordinator of a team that writes is told of its branch, beside the ends of nodes. */
export function branchNews(fact: Fact): string | undefined {
  switch (fact.type) {
    case "merge.refused": {
      const { node_id, why, files } = fact.data;
      const reason = why === "conflict" ? `it conflicts in ${namesOf(files)}` : "its checks do not pass";
      return `The work of ${node_id} is not in the branch yet: ${reason}. Its worker knows, and fixes it.`;
    }
    case "branch.moved":
      return fact.data.why === "rebase" ? "Your human's new commits are in the branch." : undefined;
    case "snapshot.kept":
      return `What ${fact.data.node_id} did not publish is kept: git --git-dir=agent/repo.git log -p ${fact.data.commit.slice(0, 12)}`;
    default:
      return undefined;
  }
}

/** What a completed node has changed; nothing where nobody writes. */
export function mergedText(id: NodeId, { repository }: Situation): string {
  const node = repository?.nodes[id];
  if (!repository || !node) return "";
  if (node.state === "reverted") return "";
  if (!node.commit) return "\nIt changed nothing on the branch.";
  const { files, insertions, deletions, merged } = node.commit;
  const count = `${files} ${files === 1 ? "file" : "files"}, +${insertions} −${deletions}`;
  return `\nIt is in the branch (${merged.slice(0, 10)}): ${count}${checksText(node)}.`;
}

function checksText({ checks, commit }: NodeInRepository): string {
  const there = Object.values(checks).filter((check) => check.commit === commit?.merged);
  const red = there.filter(({ ok }) => !ok).map(({ command }) => `\`${command}\``);
  if (red.length > 0) return `. Checks that fail all the same: ${red.join(", ")}`;
  return there.length > 0 ? `; ${there.length === 1 ? "its check" : `its ${there.length} checks`} passed on it` : "";
}

const MOST_NAMED = 10;

function namesOf(files: readonly string[]): string {
  const more = files.length > MOST_NAMED ? ` and ${files.length - MOST_NAMED} more` : "";
  return files.slice(0, MOST_NAMED).join(", ") + more;
}
