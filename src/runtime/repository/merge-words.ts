import type { RepositoryState } from "../../projections/index.ts";
import type { NodeId } from "../../protocol/index.ts";
import type { Refused } from "./branch.ts";

// What is said of work that did not come into the branch. `publish` puts "Not published: " before it.

/** `isBegun`: the merge stands in the clone. */
export function conflictWords(branch: string, conflict: string, isBegun: boolean): string {
  const next = isBegun
    ? "Your work is committed, and the merge has begun in your clone: these places are in its files. Resolve them there, git add the files, and publish again."
    : `Take the branch in (git fetch origin && git merge origin/${branch}), resolve the conflicts in the files, git add them, and publish again.`;
  return `your work conflicts with what came into the branch since your clone was made.\n${conflict}\n${next}`;
}

/** `whole`: the file with all that the check printed. */
export function redWords(failed: string, whole: string | null): string {
  const rest = whole === null ? "" : `\nAll that it printed: ${whole} (in bash below $RUN).`;
  return `in a fresh checkout of your work, merged with the branch, ${failed}${rest}\nFix it and publish again. If the check itself is wrong, tell the coordinator, or give_up.`;
}

/** What failed comes first, the numbers last. */
const FIRST_LINES = 16;
const LAST_LINES = 5;
const SHORT_FOR_HUMAN = 1200;
const LONGEST_FOR_HUMAN = 2000;

/** `whole`: the file with all of the text, where that is more. */
export function humanIsNeeded(node: NodeId, { text, times }: Refused, whole: string | null): string {
  const shown = forHuman(text);
  const file = whole === null ? "" : `\n\nAll of it: ${whole}`;
  return `${node} did not get into the branch (${timesWords(times)}), so you may want to look.\n\n${shown}${file}\n\nTell its worker what to do, change its checks, or cancel it.`;
}

function forHuman(text: string): string {
  if (text.length <= SHORT_FOR_HUMAN) return text;
  const lines = text.split("\n");
  const isLong = lines.length > FIRST_LINES + LAST_LINES;
  const some = isLong ? [...lines.slice(0, FIRST_LINES), "…", ...lines.slice(-LAST_LINES)].join("\n") : text;
  return some.length > LONGEST_FOR_HUMAN ? `${some.slice(0, LONGEST_FOR_HUMAN)}…` : some;
}

function timesWords({ conflicts, checks }: Refused["times"]): string {
  return [
    conflicts > 0 ? `in conflict ${timesIn(conflicts)}` : "",
    checks > 0 ? `checks failed ${timesIn(checks)}` : "",
  ]
    .filter(Boolean)
    .join(", ");
}

function timesIn(count: number): string {
  return count === 1 ? "once" : count === 2 ? "twice" : `${count} times`;
}

export function nothingToRevert(node: NodeId, isReverted: boolean): string {
  return `${node} has nothing in the branch${isReverted ? " any more" : ""}, so there is nothing to take out.`;
}

export function cannotRevert(
  node: NodeId,
  { why, files, text }: { why: "conflict" | "checks"; files: readonly string[]; text: string },
  /** Whose it is, where a person asks. */
  agent?: string,
): string {
  const because =
    why === "conflict" ? `later work changed the same lines, in ${files.join(", ")}.` : `without it ${text}`;
  return `${node} cannot be taken out by itself: ${because}\nNothing has changed. Have it undone by a node of its own${agent === undefined ? "." : `: agiraph send ${agent} "Undo the work of ${node}: …"`}`;
}

/** What a worker is told before its first turn. */
export function checkWords(checks: readonly string[]): string {
  if (checks.length === 0) return "";
  return `publish also runs the project's own checks there: ${commandsIn(checks)}.`;
}

function commandsIn(checks: readonly string[]): string {
  return checks.map((each) => `\`${each}\``).join(", ");
}

/** What the coordinator is told before its first turn. */
export function leadWords(
  { branch, base }: Pick<RepositoryState, "branch" | "base">,
  checks: readonly string[],
): string {
  const checked = checks.length > 0 ? ` and passes the project's checks (${commandsIn(checks)})` : "";
  return [
    `Your team changes a git repository: each node has a clone of its own, and what it publishes comes into the branch ${branch} once it merges${checked}. Dependent nodes begin with it.`,
    "project/ is your human's own folder, without that work. The branch is in bash: git --git-dir=agent/repo.git",
    `(log ${branch}, show ${branch}:FILE, diff ${base.slice(0, 12)} ${branch}).`,
    "You change no file of it yourself: create nodes. Deliverables and checks may name its files; checks run at its top.",
  ].join(" ");
}

/** The first line is the subject; where it is too long for one, it is cut at a word, and all of the text is the body. */
export function commitMessage(summary: string, mark: string): string {
  return messageOf(summary.trim(), firstLineOf(summary.trim()), mark);
}

/** Of the commit that takes a node's work out. */
export function revertMessage(node: NodeId, why: string): string {
  return messageOf(why.trim(), `Revert ${node}: ${firstLineOf(why.trim())}`);
}

export function mergeSubject(node: NodeId, task: string): string {
  return subjectOf(`Merge ${node}: ${firstLineOf(task.trim())}`);
}

function messageOf(text: string, title: string, mark = ""): string {
  const subject = subjectOf(title);
  const body = subject === title.trim() ? text.slice(firstLineOf(text).length).trim() : text;
  return `${[subject, body, mark].filter(Boolean).join("\n\n")}\n`;
}

function firstLineOf(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

const LONGEST_SUBJECT = 100;

/** Cut at a word; in the middle of one only where it fills the line by itself, as in languages without spaces. */
function subjectOf(line: string): string {
  const title = line.trim();
  if (title.length <= LONGEST_SUBJECT) return title;
  const head = title.slice(0, LONGEST_SUBJECT);
  const space = head.lastIndexOf(" ");
  const end = space > LONGEST_SUBJECT / 2 ? space : LONGEST_SUBJECT - 1;
  return `${head
    .slice(0, end)
    .replace(/[\uD800-\uDBFF]$/, "")
    .replace(/[\s,;:–—-]+$/, "")}…`;
}
