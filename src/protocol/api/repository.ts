import { z } from "zod";

/**
 * The repository of an agent that writes: what its branch has, what became of each node's work, and what differs. Close
 * to the fold of its facts, so that the page and the terminal read both alike.
 */
const commitSchema = z.string().regex(/^[0-9a-f]{40,64}$/, "expected the whole id of a commit");

export const repositoryCheckSchema = z.object({
  command: z.string(),
  ok: z.boolean(),
  /** What was checked out: the commit as it was merged. */
  commit: z.string(),
  ms: z.number(),
  /** The end of what it printed. */
  output: z.string().optional(),
  /** It fails on the branch without this work too, so it held nothing back. */
  red_before: z.boolean().optional(),
});
export type RepositoryCheck = z.infer<typeof repositoryCheckSchema>;

/** A publish that did not reach the branch. */
export const repositoryRefusalSchema = z.object({
  why: z.enum(["conflict", "checks"]),
  commit: z.string(),
  /** The branch at that moment. */
  branch_at: z.string(),
  /** In conflict. */
  files: z.array(z.string()),
  seq: z.int(),
});
export type RepositoryRefusal = z.infer<typeof repositoryRefusalSchema>;

export const repositoryNodeSchema = z.object({
  /**
   * `working`: it has a clone, or was reopened. `merged`: its work is in the branch. `reverted`: it was, and was taken out.
   * `refused`: it conflicts, or checks fail, and its worker, or the human, has to fix that.
   */
  state: z.enum(["working", "merged", "reverted", "refused"]),
  /** The commit of the branch that its clone was made of; null before it has one. */
  clone_at: z.string().nullable(),
  /** Of its latest publish: its own commit, the commit of the branch that it is compared with, and what it was merged as. */
  commit: z.string().optional(),
  parent: z.string().optional(),
  merged: z.string().optional(),
  files: z.int(),
  insertions: z.int(),
  deletions: z.int(),
  /** Since its work was last merged, oldest first. */
  refusals: z.array(repositoryRefusalSchema),
  /** Of its latest publish. */
  checks: z.array(repositoryCheckSchema),
});
export type RepositoryNode = z.infer<typeof repositoryNodeSchema>;

/** What the human said about a line. */
export const reviewCommentSchema = z.object({
  seq: z.int(),
  ts: z.number(),
  node_id: z.string(),
  worker_id: z.string(),
  path: z.string(),
  line: z.int(),
  side: z.enum(["old", "new"]),
  /** The line as it was. */
  quote: z.string(),
  text: z.string(),
  /** The first commit that the node published after it. */
  answered_by: z.string().nullable(),
});
export type ReviewComment = z.infer<typeof reviewCommentSchema>;

export const deliveredBranchSchema = z.object({
  seq: z.int(),
  ts: z.number(),
  commit: z.string(),
  branch: z.string(),
  how: z.enum(["branch", "merge", "pr"]),
  /** The branch of the person that it was merged into. */
  into: z.string().optional(),
  /** Of the pull request. */
  url: z.string().optional(),
});

export const repositoryCommitSchema = z.object({
  commit: z.string(),
  author: z.string(),
  ts: z.number(),
  subject: z.string(),
});

export const repositoryViewSchema = z.object({
  /** The folder of the person, and the branch that was checked out there; null if none was. */
  source: z.string(),
  source_branch: z.string().nullable(),
  base: z.string(),
  branch: z.string(),
  /** Where the branch is now. */
  tip: z.string(),
  /** Of the person's files at the start: so many had changes that are not in the base. */
  uncommitted: z.int(),
  /** What the team does not see: submodules, files of LFS, paths that were left out. */
  submodules: z.array(z.string()),
  uses_lfs: z.boolean(),
  is_shallow: z.boolean(),
  skipped: z.array(z.string()),
  /** The whole: from the base to the tip. */
  files: z.int(),
  insertions: z.int(),
  deletions: z.int(),
  /** Of what the branch has now; none where the project has no checks. */
  checks: z.array(repositoryCheckSchema),
  nodes: z.record(z.string(), repositoryNodeSchema),
  comments: z.array(reviewCommentSchema),
  /** Oldest first. */
  delivered: z.array(deliveredBranchSchema),
  /** From the base to the tip, newest first: at most 1,000, of `commits_total`. */
  commits: z.array(repositoryCommitSchema),
  commits_total: z.int(),
  /** Work that was saved without being merged, newest first: `restore_work` brings it back. */
  snapshots: z.array(repositoryCommitSchema.omit({ author: true }).extend({ ref: z.string() })),
});
export type RepositoryView = z.infer<typeof repositoryViewSchema>;

/** Without a node: the whole branch, or what is between two commits that the agent has. */
export const repositoryDiffQuery = z.strictObject({
  node_id: z.string().max(60).optional(),
  /** One file, by its name after the change. */
  path: z.string().min(1).max(4096).optional(),
  /** Unchanged lines around each change. */
  context: z.coerce.number().int().min(0).max(1_000_000).default(3),
  from: commitSchema.optional(),
  to: commitSchema.optional(),
});

const diffHunkSchema = z.object({
  old_start: z.int(),
  old_lines: z.int(),
  new_start: z.int(),
  new_lines: z.int(),
  header: z.string(),
  /** Each begins with " ", "+", "-" or "\". */
  lines: z.array(z.string()),
});
const diffFileSchema = z.object({
  path: z.string(),
  old_path: z.string().optional(),
  status: z.enum(["added", "deleted", "modified", "renamed", "copied", "type_changed"]),
  binary: z.boolean(),
  insertions: z.int(),
  deletions: z.int(),
  /** Of a binary file: its size after the change, or before it where it was deleted. */
  bytes: z.int().optional(),
  hunks: z.array(diffHunkSchema),
  /** Lines of it were left out: ask for it by its path. */
  cut: z.literal(true).optional(),
});
/** As `src/repository/diff-types.ts` has it. */
export const repositoryDiffSchema = z.object({
  from: z.string(),
  to: z.string(),
  files: z.array(diffFileSchema),
  files_total: z.int(),
  insertions: z.int(),
  deletions: z.int(),
  /** There are more files than are listed. */
  more: z.boolean(),
});
export type RepositoryDiffView = z.infer<typeof repositoryDiffSchema>;

export const repositoryPatchQuery = z.strictObject({ node_id: z.string().max(60).optional() });

/** Lines of a file as a commit has it: what a diff leaves out between its hunks. */
export const repositoryLinesQuery = z.strictObject({
  commit: commitSchema,
  path: z.string().min(1).max(4096),
  from_line: z.coerce.number().int().min(1).default(1),
  to_line: z.coerce.number().int().min(1),
});
export const repositoryLinesSchema = z.object({
  commit: z.string(),
  path: z.string(),
  from_line: z.int(),
  /** At most 1,000, and as far as the file goes. */
  lines: z.array(z.string()),
  lines_total: z.int(),
});
export type RepositoryLines = z.infer<typeof repositoryLinesSchema>;

/** The latest conflict of a node, as git tells it: with the lines of both sides. */
export const repositoryConflictQuery = z.strictObject({ node_id: z.string().max(60) });
export const repositoryConflictSchema = z.object({
  node_id: z.string(),
  commit: z.string(),
  branch_at: z.string(),
  files: z.array(z.string()),
  text: z.string(),
});
export type RepositoryConflict = z.infer<typeof repositoryConflictSchema>;
