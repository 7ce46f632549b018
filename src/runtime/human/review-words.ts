import { shellWord } from "../../boundary/shell-word.ts";
import type { LineComment, NodeState } from "../../projections/index.ts";
import type { NodeId } from "../../protocol/index.ts";

// What a person's review says to those whose work it is about.

type Said = Pick<LineComment, "path" | "line" | "quote" | "text">;

export function commentMail(id: NodeId, comments: readonly Said[]): string {
  return `Comments on the work of ${id}:\n\n${comments.map(commentText).join("\n\n")}`;
}

function commentText({ path, line, quote, text }: Said): string {
  return `${path}:${line}\n${quote}\n\n${text}`;
}

export function answerTask({ id, spec }: NodeState, comments: readonly Said[]): string {
  const about = `Answer the comments on ${id}: ${firstLine(spec.task)}\n\nYour human commented on this work, which is in the branch. Answer each comment by a change, or say in your summary why none is needed.`;
  return `${about}\n\n${comments.map(commentText).join("\n\n")}`;
}

/** Of a node that nobody has begun; the same task where the comment is in it already. */
export function taskWithComment(task: string, comment: Said): string {
  const said = commentText(comment);
  return task.includes(said) ? task : `${task}\n\n${said}`;
}

export function answerGoal({ id }: NodeState, answering: NodeId): string {
  return `Answer your human's comments on ${id}: ${answering} on the board does so. When it has ended, see that nothing else must change with it, and finish.`;
}

export function rejectedWords(id: NodeId, reason: string): string {
  return `I reject the work of ${id}, and it is no longer in the branch: ${reason}\nHave it done again as I say, or tell me why not.`;
}

export function takeInWords(
  branch: string,
  upstream: string,
  { why, files, text }: { why: "conflict" | "checks"; files: readonly string[]; text: string },
): string {
  const what = why === "conflict" ? `there are conflicts in ${files.join(", ")}` : "the checks do not pass with them";
  return `Take my new commits into ${branch}; ${what}. Give it to a worker as a node: git fetch origin refs/agiraph/upstream/${upstream} && git merge FETCH_HEAD, resolve what is left, publish.\n\n${text}`;
}

/** Of a history that was begun anew: git has nothing to merge them by, so neither has a team. */
export function nothingInCommon(branch: string, wanted: string, agent: string): string {
  return `${wanted} has no commit in common with ${branch}: its history was rewritten. Nothing was merged. Take the branch as it is (agiraph accept ${shellWord(agent)}) and carry it over by hand, or start another agent.`;
}

/** A branch that can be written wherever people write branches. */
export function restoredName(ref: string, commit: string): string {
  const named = ref
    .replace(/^refs\/(?:agiraph\/)?/, "")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 60);
  return `agiraph/restored/${/^[0-9a-f]{7,}$/.test(named) || named === "" ? commit.slice(0, 12) : named.replace(/-?[0-9a-f]{40,}$/, `-${commit.slice(0, 8)}`).replace(/^-/, "")}`;
}

function firstLine(text: string): string {
  return (text.split("\n", 1)[0] ?? "").slice(0, 120);
}

/** Of an agent whose work cannot be reviewed. */
export function noRepository({ name, write }: { name: string; write?: unknown }): string {
  return write
    ? `${name} has not begun yet, so it has no repository.`
    : `${name} does not change a repository. One that does is started with: agiraph run "…" --write`;
}
