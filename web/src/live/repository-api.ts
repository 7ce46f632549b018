import type {
  RepositoryConflict,
  RepositoryDiffView,
  RepositoryLines,
  RepositoryView,
} from "../../../src/protocol/api/repository.ts";
import { get, post } from "./api.ts";

export type {
  RepositoryCheck,
  RepositoryConflict,
  RepositoryDiffView,
  RepositoryNode,
  RepositoryRefusal,
  RepositoryView,
  ReviewComment,
} from "../../../src/protocol/api/repository.ts";
export type FileDiff = RepositoryDiffView["files"][number];
export type FileHunk = FileDiff["hunks"][number];

/** The repository of an agent that writes. */
export const repositoryOf = (id: string) => get<RepositoryView>(`/agents/${id}/repository`);

/** What is compared: the work of a node, two commits, or the whole branch. */
export interface Compared {
  node_id?: string;
  from?: string;
  to?: string;
}

export const diffOf = (id: string, compared: Compared) =>
  get<RepositoryDiffView>(`/agents/${id}/repository/diff${queryOf({ ...compared })}`);

/** One file of it, also where it was too much to come with the others. */
export async function diffOfFile(id: string, compared: Compared, path: string): Promise<FileDiff | undefined> {
  const { files } = await get<RepositoryDiffView>(`/agents/${id}/repository/diff${queryOf({ ...compared, path })}`);
  return files.find((file) => file.path === path);
}

/** Lines of a file as a commit has it. */
export const linesOfFile = (id: string, commit: string, path: string, from: number, to: number) =>
  get<RepositoryLines>(
    `/agents/${id}/repository/lines${queryOf({ commit, path, from_line: String(from), to_line: String(to) })}`,
  );

export const conflictOf = (id: string, node: string) =>
  get<RepositoryConflict>(`/agents/${id}/repository/conflict${queryOf({ node_id: node })}`);

export const patchAddress = (id: string, node: string | null) =>
  `/agents/${id}/repository/patch${queryOf(node === null ? {} : { node_id: node })}`;

function queryOf(fields: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(fields).toString();
  return query === "" ? "" : `?${query}`;
}

interface CommandReply {
  detail: string;
}

export interface AcceptOrder {
  how: "branch" | "merge" | "pr";
  title?: string;
  remote?: string;
}

export const accept = (id: string, order: AcceptOrder) => post<CommandReply>(`/agents/${id}/repository/accept`, order);
export const takeInCommits = (id: string) => post<CommandReply>(`/agents/${id}/repository/rebase`, {});
export const rejectWork = (id: string, node: string, reason: string) =>
  post<CommandReply>(`/agents/${id}/board/${node}/reject`, { reason });

export interface CommentOrder {
  path: string;
  line: number;
  side: "old" | "new";
  text: string;
}
export const commentOn = (id: string, node: string, order: CommentOrder) =>
  post<CommandReply>(`/agents/${id}/board/${node}/comments`, order);
