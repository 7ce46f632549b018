import {
  checksOfBranch,
  type NodeInRepository,
  type RepositoryState,
  type Situation,
} from "../../projections/index.ts";
import type {
  RepositoryConflict,
  RepositoryLines,
  RepositoryNode,
  RepositoryView,
} from "../../protocol/api/repository.ts";
import { own } from "../../protocol/dict.ts";
import { AgentRepository, type Git, type RepositoryDiff } from "../../repository/index.ts";
import { repositoryDir } from "../../store/paths.ts";
import { HumanRefusal } from "../human/human-refusal.ts";
import { noRepository } from "../human/review-words.ts";

const MOST_COMMITS = 1000;
const MOST_LINES = 1000;
const MOST_BYTES = 16 * 1024 * 1024;

/** What is in the repository of an agent, at work or at rest, as people look at it. Nothing is changed by it. */
export class RepositoryReader {
  readonly #state: RepositoryState;
  readonly #repository: AgentRepository;

  private constructor(state: RepositoryState, repository: AgentRepository) {
    this.#state = state;
    this.#repository = repository;
  }

  /** Refused where it has none. */
  static of({ repository, agent }: Situation, agentDir: string, git: Git): RepositoryReader {
    if (repository) return new RepositoryReader(repository, AgentRepository.open(repositoryDir(agentDir), git));
    throw new HumanRefusal("not_found", noRepository(agent.created));
  }

  async view(): Promise<RepositoryView> {
    const { nodes, deliveries, upstream, checks: _, ...about } = this.#state;
    const { base, tip } = about;
    // From what the person's branch is now: what they did themselves is not the team's.
    const [{ files, insertions, deletions }, commits, snapshots] = await Promise.all([
      this.#repository.stats(upstream, tip),
      this.#repository.commits(base, tip, MOST_COMMITS + 1),
      this.#repository.snapshots(),
    ]);
    return {
      ...about,
      ...{ files, insertions, deletions },
      checks: checksOfBranch(this.#state),
      nodes: Object.fromEntries(Object.entries(nodes).map(([id, node]) => [id, nodeView(node)])),
      comments: Object.entries(nodes).flatMap(([node_id, node]) => node.comments.map((each) => ({ node_id, ...each }))),
      delivered: deliveries,
      commits: commits.slice(0, MOST_COMMITS),
      commits_total: commits.length,
      snapshots: snapshots.sort((a, b) => b.ts - a.ts),
    };
  }

  async diff(order: {
    node_id?: string | undefined;
    path?: string | undefined;
    context: number;
    from?: string | undefined;
    to?: string | undefined;
  }): Promise<RepositoryDiff> {
    const { path, context } = order;
    const { from, to } = await this.#range(order);
    return this.#repository.diff(from, to, { context, ...(path !== undefined && { path }) });
  }

  async patch(node_id: string | undefined): Promise<Buffer> {
    const { from, to } = await this.#range({ node_id });
    return this.#repository.patch(from, to);
  }

  async lines({
    commit,
    path,
    from_line,
    to_line,
  }: {
    commit: string;
    path: string;
    from_line: number;
    to_line: number;
  }): Promise<RepositoryLines> {
    const known = await this.#known(commit);
    const content = await this.#repository.fileAt(known, path, MOST_BYTES);
    if (!content)
      throw new HumanRefusal(
        "not_found",
        `There is no file ${path} at ${commit.slice(0, 10)}, or it has more than 16 MiB.`,
      );
    const lines = content.toString("utf8").replace(/\n$/, "").split("\n");
    const to = Math.min(to_line, from_line + MOST_LINES - 1);
    return { commit, path, from_line, lines: lines.slice(from_line - 1, to), lines_total: lines.length };
  }

  /** Merged again: what git says of it is kept nowhere. */
  async conflict(node_id: string): Promise<RepositoryConflict> {
    const refusal = own(this.#state.nodes, node_id)?.refusals.findLast(({ why }) => why === "conflict");
    if (!refusal) throw new HumanRefusal("not_found", `${node_id} is in no conflict.`);
    const { commit, branch_at, files } = refusal;
    const merged = await this.#repository.merge(branch_at, commit);
    return { node_id, commit, branch_at, files, text: merged.kind === "conflict" ? merged.text : "" };
  }

  async #range(order: {
    node_id?: string | undefined;
    from?: string | undefined;
    to?: string | undefined;
  }): Promise<{ from: string; to: string }> {
    const { nodes, upstream, tip } = this.#state;
    if (order.node_id === undefined) {
      const [from, to] = await Promise.all([this.#known(order.from ?? upstream), this.#known(order.to ?? tip)]);
      return { from, to };
    }
    const node = own(nodes, order.node_id);
    if (!node)
      throw new HumanRefusal("not_found", `There is no node "${order.node_id}" that has changed the repository.`);
    if (node.commit) return { from: node.commit.parent, to: node.commit.merged };
    const refused = node.refusals.at(-1);
    return refused ? { from: node.clone_at, to: refused.commit } : { from: node.clone_at, to: node.clone_at };
  }

  async #known(commit: string): Promise<string> {
    const found = await this.#repository.commitOf(commit);
    if (found !== undefined) return found;
    throw new HumanRefusal("not_found", `The agent has no commit ${commit}.`);
  }
}

function nodeView({ commit, checks, state, clone_at, refusals }: NodeInRepository): RepositoryNode {
  const { files = 0, insertions = 0, deletions = 0 } = commit ?? {};
  const ids = commit && { commit: commit.commit, parent: commit.parent, merged: commit.merged };
  return { state, clone_at, ...ids, files, insertions, deletions, refusals, checks: Object.values(checks) };
}
