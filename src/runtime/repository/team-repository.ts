import { join } from "node:path";
import type { Scrubber } from "../../boundary/scrubber.ts";
import {
  hasEnded,
  type NodeState,
  type RepositoryState,
  type Situation,
  type WorkerState,
} from "../../projections/index.ts";
import type { Clock } from "../../protocol/clock.ts";
import type { Config } from "../../protocol/config.ts";
import { HUMAN, type NewFact, type NodeId } from "../../protocol/index.ts";
import { AgentRepository, Git, type PersonRepository, resolveBase } from "../../repository/index.ts";
import type { Sandbox } from "../../sandbox/index.ts";
import { cloneDir, gitTemporaryDir, nodeDir, repositoryDir } from "../../store/paths.ts";
import { rewrite } from "../../store/run/node-folder.ts";
import type { ReadyToPublish, RepositoryPort, WorkToPublish } from "../../workers/workplace.ts";
import { type ProjectConfig, projectEntryFor, readProjectConfig, receiveLimitsOf } from "../config/project-config.ts";
import { folderVariables } from "../programs/folder-variables.ts";
import type { PendingLog } from "../state/pending-log.ts";
import { Branch, type Changed, type Refused } from "./branch.ts";
import { type CheckAccess, CommitChecks } from "./commit-checks.ts";
import { IncludedFiles } from "./included-files.ts";
import {
  cannotRevert,
  checkWords,
  commitMessage,
  conflictWords,
  humanIsNeeded,
  leadWords,
  mergeSubject,
  nothingToRevert,
  redWords,
  revertMessage,
} from "./merge-words.ts";
import { commitMark, NodeClones } from "./node-clones.ts";
import { openRepository } from "./open-repository.ts";
import { gitTemporary } from "./person.ts";
import { ProjectSetup } from "./project-setup.ts";
import { RepositoryProblem, SandboxedScripts, TRUSTING } from "./sandboxed-scripts.ts";

/** What the runtime provides for agents that write. */
export interface RepositoryServices {
  env: Readonly<Record<string, string | undefined>>;
  home: string;
  sandbox(): Promise<Sandbox>;
  scrubber: Scrubber;
  readonly config: Config;
}

export interface TeamRepositoryPorts {
  log: PendingLog;
  now(): Situation;
  pending(): Situation;
  clock: Clock;
  services: RepositoryServices;
}

/**
 * The repository of an agent that writes.
 *
 * TEAM-REPOSITORY-1. It is there, and its branch is where the facts say, before anyone works.
 * TEAM-REPOSITORY-2. A node's clone begins at the branch as it is then, and belongs to the node: the next worker on
 *     the node continues in it.
 * TEAM-REPOSITORY-3. What a node publishes is in the branch, or it is not published.
 * TEAM-REPOSITORY-4. When a node has ended, everything that was in its clone can be restored.
 */
export class TeamRepository implements RepositoryPort {
  readonly #ports: TeamRepositoryPorts;
  readonly git: Git;
  readonly repository: AgentRepository;
  readonly branch: Branch;
  readonly #clones: NodeClones;
  readonly #setup: ProjectSetup;
  readonly #included: IncludedFiles;
  #projectConfig: { of: string; config: ProjectConfig } | undefined;

  constructor(ports: TeamRepositoryPorts) {
    const { log, now, pending, clock, services } = ports;
    this.#ports = ports;
    this.git = new Git({ env: services.env, temporary: gitTemporaryDir(services.home) });
    this.repository = AgentRepository.open(repositoryDir(log.dir), this.git);
    const scripts = new SandboxedScripts(() => services.sandbox(), services.scrubber);
    const { repository } = this;
    this.#clones = new NodeClones({ agentDir: log.dir, repository, scripts });
    this.#setup = new ProjectSetup({ agentDir: log.dir, repository, scripts, hosts: () => this.#hosts });
    this.#included = new IncludedFiles({ git: this.git, source: () => this.state.source });
    const checks = new CommitChecks({ agentDir: log.dir, scripts, setup: this.#setup, included: this.#included });
    const projectConfig = () => this.projectConfig();
    this.branch = new Branch({ log, now, pending, clock, repository, checks, projectConfig });
  }

  /** Before anybody works. */
  async prepare(): Promise<void> {
    const { pending, log } = this.#ports;
    await gitTemporary(this.#ports.services.home);
    const { project, write } = pending().agent.created;
    if (!pending().repository && project !== null && write)
      await openRepository(this.repository, this.git, log, project, write);
    if (!(await this.repository.exists()))
      throw new RepositoryProblem(
        `The repository of ${log.id} is missing: ${this.repository.dir}. Restore it from a backup.`,
      );
    await this.projectConfig();
    await this.branch.syncGit();
    await this.#endAgain();
  }

  /** What a killed process had left of nodes that have ended. What cannot be saved stays. */
  async #endAgain(): Promise<void> {
    const ended = Object.values(this.#ports.pending().board.nodes).filter(hasEnded);
    for (const node of await this.#clones.leftOf(ended)) await this.ended(node).catch(() => {});
  }

  get state(): RepositoryState {
    return this.branch.state;
  }

  /** From the person's newest commit on the branch: what a worker writes there does not count. */
  async projectConfig(): Promise<ProjectConfig> {
    const { upstream, source } = this.state;
    const entry = projectEntryFor(this.#ports.services.config.projects, source);
    const of = JSON.stringify([upstream, entry]);
    if (this.#projectConfig?.of === of) return this.#projectConfig.config;
    const read = await readProjectConfig(this.repository, upstream, entry);
    if (!read.ok) throw new RepositoryProblem(read.reason);
    this.repository.limit(receiveLimitsOf(read.config.limits));
    this.#projectConfig = { of, config: read.config };
    return read.config;
  }

  async about(): Promise<string> {
    return leadWords(this.state, (await this.projectConfig()).checks);
  }

  async aboutChecks(): Promise<string> {
    return checkWords((await this.projectConfig()).checks);
  }

  async open(node: NodeState, worker: WorkerState, signal: AbortSignal): Promise<void> {
    if (node.spec.inference === "single") return;
    const { log } = this.#ports;
    const { tip, nodes } = this.state;
    const who = { node_id: node.id, worker_id: worker.id };
    const { commit, isNew } = await this.#clones.open(node, worker, tip, signal);
    if (!isNew && nodes[node.id]) return;
    const folder = this.#clones.folder(node);
    const projectConfig = await this.projectConfig();
    const included = await this.#included.bring(folder, projectConfig.limits);
    const setup = await this.#setup.run(folder, commit, projectConfig, signal);
    const facts: NewFact[] = [];
    if (setup) {
      const { output, ...result } = setup;
      facts.push({ type: "setup.finished", data: { ...who, ...result, ...(!setup.ok && { output }) } });
    }
    const isReady = setup?.ok ?? true;
    if (isReady) facts.push({ type: "node.cloned", data: { ...who, commit, ...(isNew && included && { included }) } });
    if (!isReady) await this.#clones.remove(node);
    await log.append({ facts }).durable;
    if (!isReady)
      throw new RepositoryProblem(
        `The setup of the project failed (${projectConfig.setup?.command}):\n${setup?.output}`,
      );
  }

  async makeReady(work: WorkToPublish, signal: AbortSignal): Promise<ReadyToPublish> {
    const { node, summary } = work;
    const { clone_at: base, refusals = [] } = this.state.nodes[node.id] ?? {};
    if (base === undefined) throw new Error(`${node.id} has no clone`);
    const refused = refusals.map(({ commit }) => commit).reverse();
    const message = commitMessage(summary, commitMark(node));
    const made = await this.#clones.commit(node, { message, base, refused }, signal);
    if (made.kind === "refused") return { ok: false, reason: made.reason };
    const unlock = await this.branch.lock(signal);
    try {
      const ready = await this.#integrated(work, made.kind === "commit" ? made.commit : undefined, signal);
      if (!ready.ok) unlock();
      return ready.ok ? { ...ready, end: unlock } : ready;
    } catch (error) {
      unlock();
      throw error;
    }
  }

  async #integrated(
    { node, worker, checks, scope, toHuman }: WorkToPublish,
    commit: string | undefined,
    signal: AbortSignal,
  ): Promise<ReadyToPublish> {
    const binds = await scope.binds();
    const { PROJECT: _, ...folders } = folderVariables(scope, this.#ports.now().agent);
    const env = { ...folders, ...TRUSTING };
    const access = { read: [...binds.read, ...binds.write], env, hosts: this.#hosts };
    const candidate = {
      ...{ node_id: node.id, worker_id: worker.id, checks, access },
      commit: commit ?? this.state.tip,
      title: mergeSubject(node.id, node.spec.task),
      mayBeRed: node.spec.allow_red === true,
    };
    const result = await this.branch.integrate(candidate, signal);
    const has = (at: string) => (path: string) =>
      this.repository.has(at, path.replace(/^(?:\.\/|repo\/)/, "").replace(/\/$/, ""));
    const ready = { ok: true as const, inClone: true, end: () => {} };
    if (result.kind === "nothing") return { ...ready, facts: [], has: has(this.state.tip), landed: async () => {} };
    if (result.kind === "refused") return this.#refused(result.refusal, { node, worker, toHuman }, signal);
    const { published, moved } = result;
    const landed = () => this.branch.syncGit();
    return { ...ready, commit: published, facts: [moved], has: has(published.merged), landed };
  }

  async #refused(
    refused: Refused,
    { node, worker, toHuman }: Pick<WorkToPublish, "node" | "worker" | "toHuman">,
    signal: AbortSignal,
  ): Promise<ReadyToPublish> {
    const { log } = this.#ports;
    const { why, text, whole, times } = refused;
    const dir = nodeDir(log.dir, node.spec.run_id, node.id);
    if (whole !== null) await rewrite(dir, CHECK_FILE, `${whole}\n`);
    const reason =
      why === "conflict"
        ? conflictWords(this.state.branch, text, await this.#clones.beginMerge(node, this.state, signal))
        : redWords(text, whole === null ? null : `nodes/${node.id}/${CHECK_FILE}`);
    if (times.conflicts + times.checks <= MOST_REFUSALS) return { ok: false, reason };
    const words = humanIsNeeded(node.id, refused, whole === null ? null : join(dir, CHECK_FILE));
    if (toHuman) await log.append({ facts: [toHuman(worker.id, words)] }).durable;
    return { ok: false, reason: `${reason}\n${TOLD}` };
  }

  async revert(id: NodeId, why: string, by: string): Promise<{ ok: boolean; said: string }> {
    const { signal } = new AbortController();
    const unlock = await this.branch.lock(signal);
    try {
      const state = this.state.nodes[id]?.state;
      if (state !== "merged") return { ok: false, said: nothingToRevert(id, state === "reverted") };
      const reverted = await this.branch.revert(id, revertMessage(id, why), this.#ownChecks, signal);
      if (!reverted.ok)
        return {
          ok: false,
          said: cannotRevert(id, reverted, by === HUMAN ? this.#ports.pending().agent.created.name : undefined),
        };
      const rejected: NewFact = { type: "review.rejected", data: { node_id: id, by, why } };
      await this.#ports.log.append({ facts: [rejected, ...(reverted.moved ? [reverted.moved] : [])] }).durable;
      await this.branch.syncGit();
      return { ok: true, said: `The work of ${id} is no longer in the branch.` };
    } finally {
      unlock();
    }
  }

  /** The person's commit of this name, in the agent's repository too; undefined if there is none. */
  async fetch(person: PersonRepository, ref: string): Promise<string | undefined> {
    const commit = await resolveBase(person, ref, this.git);
    return commit === undefined ? undefined : this.repository.fetchFrom(person, commit);
  }

  /** Merges the person's commits into the branch, if they pass the checks with it. */
  async takeIn(upstream: string): Promise<{ result: Changed; branch: string }> {
    const { signal } = new AbortController();
    const unlock = await this.branch.lock(signal);
    try {
      const result = await this.branch.takeIn(upstream, this.#ownChecks, signal);
      if (result.ok && result.moved) await this.#ports.log.append({ facts: [result.moved] }).durable;
      await this.branch.syncGit();
      return { result, branch: this.state.branch };
    } finally {
      unlock();
    }
  }

  async ended(node: NodeState): Promise<void> {
    await this.#clones.clear(node);
    if (!(await this.#clones.isThere(node))) return;
    const state = this.state.nodes[node.id];
    const base = state?.state === "merged" ? state.commit?.commit : state?.clone_at;
    if (base === undefined) return;
    const kept = await this.#clones.save(node, base, new AbortController().signal);
    if (kept)
      await this.#ports.log.append({ facts: [{ type: "snapshot.kept", data: { node_id: node.id, ...kept } }] }).durable;
    await this.#clones.remove(node);
  }

  /** The folder of a node's clone, to be read. */
  folderOf({ id, spec }: NodeState): string {
    return cloneDir(this.#ports.log.dir, spec.run_id, id);
  }

  /** Of what no node has brought. */
  get #ownChecks(): { node_id: NodeId; access: CheckAccess } {
    return { node_id: "node-0", access: { read: [], env: TRUSTING, hosts: this.#hosts } };
  }

  get #hosts(): readonly string[] {
    return this.#ports.services.config.network?.allow ?? [];
  }
}

const MOST_REFUSALS = 2;
const TOLD = "Your human has been told. Go on fixing; wait for their word (check_messages) only if you cannot.";
/** In the folder of a node: what its last failed check printed. */
const CHECK_FILE = "_check.txt";
