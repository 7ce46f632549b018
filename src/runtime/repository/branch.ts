import type { RepositoryState, Situation } from "../../projections/index.ts";
import type { Clock } from "../../protocol/clock.ts";
import type { FactOf, NewFact, NodeId, PublishedCommit } from "../../protocol/index.ts";
import type { AgentRepository } from "../../repository/index.ts";
import type { ProjectConfig } from "../config/project-config.ts";
import type { PendingLog } from "../state/pending-log.ts";
import type { CheckAccess, CheckResult, CommitChecks } from "./commit-checks.ts";
import { Mutex } from "./mutex.ts";

interface BranchPorts {
  log: Pick<PendingLog, "append">;
  now(): Situation;
  pending(): Situation;
  clock: Pick<Clock, "now">;
  repository: AgentRepository;
  checks: CommitChecks;
  projectConfig(): Promise<ProjectConfig>;
}

/** Work that is to be merged into the branch. */
export interface MergeCandidate {
  node_id: NodeId;
  worker_id: string;
  commit: string;
  /** The first line of its merge commit. */
  title: string;
  /** The node's own; those of the project run too. */
  checks: readonly string[];
  /** Checks of the project may fail. */
  mayBeRed: boolean;
  access: CheckAccess;
}

export type Integrated =
  | { kind: "nothing" }
  | { kind: "refused"; refusal: Refused }
  | { kind: "ready"; published: PublishedCommit; moved: NewFact };

/** What did not come in, and why. */
export interface Refused {
  why: "conflict" | "checks";
  text: string;
  /** What a check printed, where the text has only a part of it. */
  whole: string | null;
  /** Since the node's work was last merged, with this one. */
  times: { conflicts: number; checks: number };
}

export type Changed =
  /** Null: nothing had to change. */
  { ok: true; moved: NewFact | null } | { ok: false; why: "conflict" | "checks"; files: string[]; text: string };

/** For whom checks run, and what they may read. */
type CheckPlace = Pick<MergeCandidate, "access" | "node_id">;

/**
 * The agent's branch: what comes into it, one after the other.
 *
 * BRANCH-1. It moves by the fact `branch.moved` alone. What git has follows, and is set right at each start.
 * BRANCH-2. Whatever it moves to was merged without a conflict and passed its checks, on the very tree that it then has.
 *     A check of the project that fails without the new work too keeps nobody out; the checks after it run all the same.
 * BRANCH-3. One change at a time, from before the merge until the fact is appended: nothing moves it in between.
 * BRANCH-4. Work that was refused is on record with the reason; nothing else changes.
 */
export class Branch {
  readonly #ports: BranchPorts;
  readonly #mutex = new Mutex();
  /** By command, at the commit of the key. */
  readonly #withoutIt = new Map<string, boolean>();

  constructor(ports: BranchPorts) {
    this.#ports = ports;
  }

  get state(): RepositoryState {
    const state = this.#ports.pending().repository;
    if (!state) throw new Error("the agent has no repository");
    return state;
  }

  /** Resolves with a function that unlocks it. */
  lock(signal: AbortSignal): Promise<() => void> {
    return this.#mutex.acquire(signal);
  }

  /** Only while it is locked. Nothing has moved when it resolves: the caller appends `moved`, then calls `syncGit`. */
  async integrate(candidate: MergeCandidate, signal: AbortSignal): Promise<Integrated> {
    const { repository } = this.#ports;
    const { tip } = this.state;
    const { commit, node_id } = candidate;
    const merged = await this.#merged(tip, commit, candidate.title, signal);
    if (merged.kind === "nothing") return this.#unchanged(candidate, signal);
    if (merged.kind === "conflict") return this.#refuse(candidate, await this.#conflictAsIn(commit, tip, merged));
    const stats = await repository.stats(tip, merged.commit);
    if (stats.files === 0) return this.#unchanged(candidate, signal);
    const failed = await this.#failedCheck(candidate, merged.commit, signal);
    if (failed) return this.#refuse(candidate, failedChecks(failed));
    const { tree, parent, files, insertions, deletions } = stats;
    const published = { commit, tree, parent, merged: merged.commit, files, insertions, deletions };
    return { kind: "ready", published, moved: movement(tip, merged.commit, "node", { node_id }) };
  }

  /** The project's checks are about what comes in, the node's own about what it was asked for. */
  async #unchanged(candidate: MergeCandidate, signal: AbortSignal): Promise<Integrated> {
    const failed = await this.#recorded(candidate, this.state.tip, candidate.checks, "node", signal);
    return failed ? this.#refuse(candidate, failedChecks(failed)) : { kind: "nothing" };
  }

  /** As it is in the clone once the branch is merged there. */
  async #conflictAsIn(commit: string, tip: string, { files, text }: { files: string[]; text: string }) {
    const names = { ours: "HEAD", theirs: `origin/${this.state.branch}` };
    const there = await this.#ports.repository.merge(commit, tip, names);
    return { why: "conflict" as const, files, text: there.kind === "conflict" ? there.text : text, whole: null };
  }

  /** Takes a node's work out again. Only while it is locked. */
  async revert(node_id: NodeId, message: string, check: CheckPlace, signal: AbortSignal): Promise<Changed> {
    const { repository } = this.#ports;
    const { tip, nodes } = this.state;
    const published = nodes[node_id]?.commit;
    if (!published) throw new Error(`${node_id} has no commit to revert`);
    const { merged, parent } = published;
    const result = await repository.revert(tip, { commit: merged, parent });
    if (result.kind === "conflict") return { ok: false, why: "conflict", files: result.files, text: result.text };
    const to = await this.#commit(result.tree, [tip], message);
    const { failed, checks } = await this.#checked(to, tip, check, signal);
    if (failed) return { ok: false, why: "checks", files: [], text: failedText(failed) };
    return { ok: true, moved: movement(tip, to, "revert", { node_id, checks }) };
  }

  /** Takes commits of the person in. Only while it is locked. */
  async takeIn(upstream: string, check: CheckPlace, signal: AbortSignal): Promise<Changed> {
    const { tip } = this.state;
    const merged = await this.#merged(tip, upstream, "Take in new commits", signal);
    if (merged.kind === "nothing") return { ok: true, moved: null };
    if (merged.kind === "conflict") return { ok: false, why: "conflict", files: merged.files, text: merged.text };
    const { failed, checks } = await this.#checked(merged.commit, upstream, check, signal);
    if (failed) return { ok: false, why: "checks", files: [], text: failedText(failed) };
    return { ok: true, moved: movement(tip, merged.commit, "rebase", { upstream, checks }) };
  }

  /** git's branch as the facts say it is. */
  async syncGit(): Promise<void> {
    const { repository } = this.#ports;
    const { branch, tip } = this.state;
    const there = await repository.tip(branch);
    if (there !== undefined && there !== tip) await repository.moveBranch(branch, there, tip);
  }

  /** Kept where it is clean; `nothing` where the branch has it already. */
  async #merged(tip: string, commit: string, title: string, signal: AbortSignal) {
    const { repository } = this.#ports;
    signal.throwIfAborted();
    const common = await repository.mergeBase(tip, commit);
    if (common === commit) return { kind: "nothing" as const };
    if (common === tip) {
      await repository.keep(`refs/agiraph/merges/${commit}`, commit);
      return { kind: "clean" as const, commit };
    }
    const result = await repository.merge(tip, commit);
    if (result.kind === "conflict") return result;
    return { kind: "clean" as const, commit: await this.#commit(result.tree, [tip, commit], `${title}\n`) };
  }

  async #commit(tree: string, parents: string[], message: string): Promise<string> {
    const { repository, clock } = this.#ports;
    const made = await repository.commitTree(tree, parents, message, AUTHOR, clock.now() / 1000);
    await repository.keep(`refs/agiraph/merges/${made}`, made);
    return made;
  }

  async #refuse(
    { node_id, worker_id, commit }: MergeCandidate,
    { files, ...refused }: Omit<Refused, "times"> & { files: string[] },
  ): Promise<Integrated> {
    const data = { node_id, worker_id, commit, branch_at: this.state.tip, why: refused.why, files };
    await this.#ports.log.append({ facts: [{ type: "merge.refused", data }] }).durable;
    const all = this.state.nodes[node_id]?.refusals ?? [];
    const conflicts = all.filter(({ why }) => why === "conflict").length;
    return { kind: "refused", refusal: { ...refused, times: { conflicts, checks: all.length - conflicts } } };
  }

  /** The first failed check that blocks it. */
  async #failedCheck(candidate: MergeCandidate, merged: string, signal: AbortSignal): Promise<CheckResult | undefined> {
    const project = await this.#ports.projectConfig();
    const ofProject = project.checks.filter((command) => !candidate.checks.includes(command));
    const own = await this.#recorded(candidate, merged, candidate.checks, "node", signal);
    if (own) return own;
    return this.#recorded(candidate, merged, ofProject, "project", signal);
  }

  async #recorded(
    candidate: MergeCandidate,
    merged: string,
    commands: readonly string[],
    of: "node" | "project",
    signal: AbortSignal,
  ): Promise<CheckResult | undefined> {
    const known = this.state.nodes[candidate.node_id]?.checks ?? {};
    const open = commands.filter((command) => !(known[command]?.ok && known[command]?.commit === merged));
    const { tip } = this.state;
    const keepsOut = async (result: CheckResult): Promise<boolean> => {
      const isRedBefore =
        of === "project" && !result.ok && (await this.#failsAt(tip, result.command, candidate, signal));
      const facts = [checkFact(candidate.node_id, merged, of, result, isRedBefore)];
      await this.#ports.log.append({ facts }).durable;
      return !result.ok && !isRedBefore && !(of === "project" && candidate.mayBeRed);
    };
    return this.#firstThat(keepsOut, merged, open, candidate, signal);
  }

  /** Also after a failed check that keeps nothing out: what comes after it may. */
  async #firstThat(
    keepsOut: (result: CheckResult) => Promise<boolean>,
    commit: string,
    commands: readonly string[],
    at: CheckPlace,
    signal: AbortSignal,
  ): Promise<CheckResult | undefined> {
    for (let done = 0; done < commands.length; ) {
      const results = await this.#results(commit, commands.slice(done), at, signal);
      for (const result of results) if (await keepsOut(result)) return result;
      done += results.length;
    }
    return undefined;
  }

  /** The checks of the project at a commit, up to the first that fails there and not at another. */
  async #checked(
    commit: string,
    before: string,
    check: CheckPlace,
    signal: AbortSignal,
  ): Promise<{ failed: CheckResult | undefined; checks: BranchCheck[] }> {
    const project = await this.#ports.projectConfig();
    const checks: BranchCheck[] = [];
    const isNew = async ({ ok, command, ms, output }: CheckResult) => {
      const isRedBefore = !ok && (await this.#failsAt(before, command, check, signal));
      const more = { ...(output !== "" && { output }), ...(isRedBefore && { red_before: true as const }) };
      checks.push({ command, ok, ms, ...more });
      return !ok && !isRedBefore;
    };
    return { failed: await this.#firstThat(isNew, commit, project.checks, check, signal), checks };
  }

  async #results(
    commit: string,
    commands: readonly string[],
    { node_id, access }: CheckPlace,
    signal: AbortSignal,
  ): Promise<CheckResult[]> {
    const project = await this.#ports.projectConfig();
    return this.#ports.checks.run(commit, commands, { node: node_id, project, access }, signal);
  }

  /** Whether the check fails there too. */
  async #failsAt(commit: string, command: string, at: CheckPlace, signal: AbortSignal): Promise<boolean> {
    const key = `${commit} ${command}`;
    const known = this.#withoutIt.get(key);
    if (known !== undefined) return known;
    const [result] = await this.#results(commit, [command], at, signal);
    const fails = result?.ok === false;
    this.#withoutIt.set(key, fails);
    return fails;
  }
}

const AUTHOR = { name: "agiraph" };

type MovedBranch = FactOf<"branch.moved">["data"];
type BranchCheck = NonNullable<MovedBranch["checks"]>[number];

function movement(
  from: string,
  to: string,
  why: MovedBranch["why"],
  about: Pick<MovedBranch, "node_id" | "upstream" | "checks">,
): NewFact {
  return { type: "branch.moved", data: { from, to, why, ...about } };
}

function checkFact(
  node_id: NodeId,
  commit: string,
  of: "node" | "project",
  { command, ok, ms, output }: CheckResult,
  isRedBefore: boolean,
): NewFact {
  const red = isRedBefore ? { red_before: true as const } : {};
  return {
    type: "check.finished",
    data: { node_id, commit, command, of, ok, ms, ...(output !== "" && { output }), ...red },
  };
}

function failedChecks(failed: CheckResult) {
  return { why: "checks" as const, files: [], text: failedText(failed), whole: failed.whole ?? null };
}

function failedText({ command, output }: CheckResult): string {
  return `the check \`${command}\` did not pass:\n${output || "(it printed nothing)"}`;
}
