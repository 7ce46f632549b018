import type { Compared, RepositoryDiffView, RepositoryNode, RepositoryView } from "../live/repository-api.ts";

/** What is being reviewed: the work of one node, or the whole branch. */
export interface ReviewTarget {
  agent: string;
  node: string | null;
  compared: Compared;
  repository: RepositoryView;
  diff: RepositoryDiffView;
  /** Not in replay, and not of an archived agent. */
  canComment: boolean;
}

/**
 * What is to be compared, if there is anything yet. Work that was refused is shown as it was offered: from where its
 * clone began.
 */
export function comparedOf(
  repository: RepositoryView,
  node: string | null,
  work: RepositoryNode | null,
): Compared | null {
  if (node === null || work === null) return repository.tip === repository.base ? null : {};
  const offered = work.state === "refused" ? work.refusals.at(-1)?.commit : undefined;
  if (offered !== undefined && work.clone_at !== null) return { from: work.clone_at, to: offered };
  return work.commit === undefined ? null : { node_id: node };
}
