import type { FactOf } from "../protocol/index.ts";
import type { repositoryFacts } from "../protocol/repository.ts";
import { count, milliseconds } from "./figures.ts";
import { by, details, type Sentences, thing } from "./sentence.ts";

/** An agent's work on a repository. */
export const REPOSITORY: Sentences<keyof typeof repositoryFacts> = {
  "repository.opened": ({ branch, base, source, source_branch, uncommitted }) =>
    thing(branch, "was made", {
      text: `from ${source_branch ?? "a commit"} of ${source}`,
      ...(uncommitted > 0 && { next: `${count(uncommitted, "file")} with uncommitted changes not seen` }),
      detail: shortId(base),
      tone: "new",
    }),
  "node.cloned": ({ node_id, worker_id, commit, included }, style) =>
    by(worker_id, style, `has a clone for ${node_id}`, {
      ...(included &&
        included.left.length > 0 && { text: `Not taken along: ${included.left.map(leftOut).join("; ")}` }),
      detail: details(shortId(commit), included ? `${count(included.files, "file")} of .worktreeinclude` : ""),
    }),
  "setup.finished": ({ node_id, ok, cached, ms, output }) =>
    thing(node_id, ok ? `is set up${cached ? " from an earlier setup" : ""}` : "could not be set up", {
      ...(output !== undefined && !ok && { text: output }),
      detail: milliseconds(ms),
      tone: ok ? "plain" : "failed",
    }),
  "check.finished": ({ node_id, command, ok, ms, commit, output, red_before }) =>
    thing(node_id, ok ? "passed a check" : `failed a check${red_before ? " that fails without it too" : ""}`, {
      text: ok || output === undefined ? command : `${command}\n${output}`,
      detail: details(shortId(commit), milliseconds(ms)),
      tone: ok ? "done" : "warning",
    }),
  "merge.refused": ({ node_id, why, files, commit }) =>
    thing(node_id, why === "conflict" ? "conflicts with the branch" : "did not pass its checks", {
      text: files.join(", "),
      next: "its worker fixes it",
      detail: shortId(commit),
      tone: "warning",
    }),
  "branch.moved": (data) => thing("The branch", MOVED[data.why](data), { detail: shortId(data.to), tone: "done" }),
  "review.rejected": ({ node_id, by: whom, why }, style) =>
    by(whom, style, `rejected the work of ${node_id}`, { text: why, tone: "leaves", node: node_id }),
  "review.commented": ({ node_id, path, line, text }) =>
    thing(`${path}:${line}`, `was commented on, in ${node_id}`, { text, tone: "tells" }),
  "branch.delivered": ({ how, branch, into, url, commit }) =>
    thing("The branch", DELIVERED[how](into), {
      text: url ?? branch,
      detail: shortId(commit),
      tone: "done",
    }),
  "snapshot.kept": ({ node_id, ref }) => thing(node_id, "left work that was not published", { text: ref }),
};

type Moved = FactOf<"branch.moved">["data"];

const MOVED: Readonly<Record<Moved["why"], (data: Moved) => string>> = {
  node: ({ node_id }) => `has the work of ${node_id}`,
  revert: ({ node_id }) => `no longer has the work of ${node_id}`,
  rebase: () => "has your new commits",
};

type Delivered = FactOf<"branch.delivered">["data"];

const DELIVERED: Readonly<Record<Delivered["how"], (into: string | undefined) => string>> = {
  branch: () => "is in your repository",
  merge: (into) => `was merged into ${into ?? "your branch"}`,
  pr: () => "is a pull request",
};

function leftOut({ path, why }: { path: string; why: string }): string {
  return `${path} (${why.replace(/\.$/, "")})`;
}

function shortId(commit: string): string {
  return commit.slice(0, 10);
}
