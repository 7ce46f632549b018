export { AgentRepository, type CloneSnapshot, type CommitStats, type LoggedCommit } from "./agent-repository.ts";
export type { Author } from "./commit.ts";
export { type Delivered, deliverBranch, mergeIntoCheckedOut, openPullRequest } from "./deliver.ts";
export type { DiffOptions } from "./diff.ts";
export type { DiffFile, DiffHunk, RepositoryDiff } from "./diff-types.ts";
export {
  type FilesToInclude,
  filesToInclude,
  INCLUDE_FILE,
  INCLUDE_LIMITS,
  type IncludeLimits,
} from "./files-to-include.ts";
export { Git, GitError, type GitOptions, type GitResult } from "./git.ts";
export type { ReceiveLimits } from "./limits.ts";
export type { Merged } from "./merge.ts";
export type { PersonFolders } from "./person-objects.ts";
export {
  type Inspected,
  inspectRepository,
  isTooOld as isTooOldGit,
  noSuchRef,
  type PersonRepository,
  repositoryFolders,
  resolveBase,
} from "./person-repository.ts";
export type { Received } from "./receive.ts";
export {
  checkoutScript,
  cloneScript,
  commitScript,
  mergeScript,
  snapshotScript,
  UNFINISHED_CLONE,
} from "./sandboxed-git.ts";
