import { hasEnded, type LineComment, type NodeInRepository, type Situation } from "../projections/index.ts";
import type { Fact, FactOf, NodeId } from "../protocol/index.ts";

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

/** Whether this is still the last word on the node's work. When it has come in, or its node has ended, that is told instead. */
export function isStillRefused(
  { seq, data: { node_id } }: FactOf<"merge.refused">,
  { board, repository }: Situation,
): boolean {
  return repository?.nodes[node_id]?.refusals.at(-1)?.seq === seq && !hasEnded(board.nodes[node_id]);
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

const MOST_COMMENTS = 10;
const LONGEST_COMMENT = 600;
const LONGEST_LINE = 120;

/** The comments that a node was made to answer, with the line of each; nothing for other nodes. */
export function answeredComments(id: NodeId, { board, repository }: Situation): string {
  const about = board.nodes[id]?.spec.answers;
  const mine = repository?.nodes[id]?.commit?.commit;
  const comments = (about === undefined ? undefined : repository?.nodes[about])?.comments ?? [];
  const asked = comments.filter(({ answered_by }) => answered_by === null || answered_by === mine);
  if (asked.length === 0) return "";
  const lines = asked.slice(-MOST_COMMENTS).map(commentLine);
  const more = asked.length > lines.length || lines.some((line) => line.endsWith("…"));
  const whole = more ? ` (whole in nodes/${id}/_spec.md)` : "";
  return `\nIt was to answer what your human wrote beside the work of ${about}${whole}:\n${lines.join("\n")}`;
}

function commentLine({ path, line, quote, text }: LineComment): string {
  const code = /^\d+→(.*)$/m.exec(quote)?.[1]?.trim().slice(0, LONGEST_LINE);
  const words = text.replace(/\s+/g, " ").trim();
  const shown = words.length > LONGEST_COMMENT ? `${words.slice(0, LONGEST_COMMENT)}…` : words;
  return `- ${path}:${line}${code ? ` (${code})` : ""}: ${shown}`;
}
