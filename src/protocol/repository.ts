import { z } from "zod";
import { nodeIdSchema, workerIdSchema } from "./ids.ts";

/** How an agent may change the repository that its project folder is in. */
export const writeSchema = z.strictObject({
  /** The branch, tag or commit that its work begins at; HEAD if left out. */
  base: z.string().min(1).max(1000).optional(),
  /** What is not committed belongs to the base too. */
  dirty: z.literal("include").optional(),
  /** At the end of a run its branch is put into the person's repository without being asked for. */
  deliver: z.literal("branch").optional(),
});
export type Write = z.infer<typeof writeSchema>;

const commitId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

/** A node's work as it lies in the agent's repository. */
export const publishedCommitSchema = z.object({
  commit: commitId,
  tree: commitId,
  /** The commit of the branch that it is compared with. */
  parent: commitId,
  /** What the branch holds with it. */
  merged: commitId,
  files: z.int().nonnegative(),
  insertions: z.int().nonnegative(),
  deletions: z.int().nonnegative(),
});
export type PublishedCommit = z.infer<typeof publishedCommitSchema>;

const node = { node_id: nodeIdSchema };
const work = { node_id: nodeIdSchema, worker_id: workerIdSchema };

/** The facts of an agent that writes. Commits are named by their ids; what they hold is read from git, and is nowhere else. */
export const repositoryFacts = {
  /** The agent has a repository of its own, made from the person's at this commit. */
  "repository.opened": z.object({
    base: commitId,
    branch: z.string(),
    /** The person's repository, by its top folder, and the branch that was checked out there. */
    source: z.string(),
    source_branch: z.string().nullable(),
    /** Files with changes that are not committed, and are not seen. */
    uncommitted: z.int().nonnegative(),
    submodules: z.array(z.string()),
    uses_lfs: z.boolean(),
    is_shallow: z.boolean(),
    /** Uncommitted files that could not be taken along. */
    skipped: z.array(z.string()),
  }),
  /** A worker has a clone for its node, which begins at this commit. */
  "node.cloned": z.object({
    ...work,
    commit: commitId,
    /** Ignored files of the person's that `.worktreeinclude` names: how many it has, and some that it has not. */
    included: z
      .object({ files: z.int().nonnegative(), left: z.array(z.object({ path: z.string(), why: z.string() })) })
      .optional(),
  }),
  /** What the project needs before it can be worked on was installed; `cached`: an earlier result was copied. */
  "setup.finished": z.object({
    ...work,
    ok: z.boolean(),
    cached: z.boolean(),
    ms: z.number(),
    /** The end of what it printed. */
    output: z.string().optional(),
  }),
  /** A check has run in a fresh checkout of this commit. */
  "check.finished": z.object({
    ...node,
    commit: commitId,
    command: z.string(),
    /** Whose check it is: the node's own, or the project's. */
    of: z.enum(["node", "project"]),
    ok: z.boolean(),
    ms: z.number(),
    /** Of what it printed, the end and what says that something failed. */
    output: z.string().optional(),
    /** It failed, and failed without this work too: it keeps nobody from publishing. */
    red_before: z.literal(true).optional(),
  }),
  /** A node's work did not come into the branch: its worker has been told why. */
  "merge.refused": z.object({
    ...work,
    commit: commitId,
    /** The branch, as it was. */
    branch_at: commitId,
    why: z.enum(["conflict", "checks"]),
    files: z.array(z.string()),
  }),
  /** What the agent's branch is from now on; in git it follows. */
  "branch.moved": z.object({
    from: commitId,
    to: commitId,
    why: z.enum(["node", "revert", "rebase"]),
    node_id: nodeIdSchema.optional(),
    /** Of a rebase: the person's commit that was taken in. */
    upstream: commitId.optional(),
    /** Of a revert and a rebase: the project's checks of what it moved to. Those of a node have facts of their own. */
    checks: z
      .array(
        z.object({
          command: z.string(),
          ok: z.boolean(),
          ms: z.number(),
          /** The end of what it printed. */
          output: z.string().optional(),
          /** It failed, and failed before too. */
          red_before: z.literal(true).optional(),
        }),
      )
      .optional(),
  }),
  /** A person, or the coordinator, does not want this node's work: it is taken out of the branch, and done again. */
  "review.rejected": z.object({ ...node, by: z.string(), why: z.string() }),
  /** A person wrote this beside a line. */
  "review.commented": z.object({
    ...work,
    comment_id: z.string(),
    path: z.string(),
    line: z.int().positive(),
    side: z.enum(["old", "new"]),
    /** The line and those around it, as they were. */
    quote: z.string(),
    text: z.string(),
  }),
  /** The person has the work: as a branch of their repository, merged into theirs, or as a pull request. */
  "branch.delivered": z.object({
    commit: commitId,
    branch: z.string(),
    how: z.enum(["branch", "merge", "pr"]),
    into: z.string().optional(),
    url: z.string().optional(),
  }),
  /** Everything that a clone held which the branch does not reach, kept in the agent's repository under this name. */
  "snapshot.kept": z.object({ ...node, ref: z.string(), commit: commitId }),
} as const;
