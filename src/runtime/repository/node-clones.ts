import { lstat, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { NodeState, WorkerState } from "../../projections/index.ts";
import type { NodeId } from "../../protocol/index.ts";
import {
  type AgentRepository,
  cloneScript,
  commitScript,
  mergeScript,
  snapshotScript,
  UNFINISHED_CLONE,
} from "../../repository/index.ts";
import { cloneDir, repositoryDir, transitDir } from "../../store/paths.ts";
import { checksFolder } from "./commit-checks.ts";
import type { SandboxedScripts, ScriptAccess } from "./sandboxed-scripts.ts";

interface ClonePorts {
  agentDir: string;
  repository: AgentRepository;
  scripts: SandboxedScripts;
}

export type CommitResult =
  | { kind: "commit"; commit: string }
  | { kind: "nothing" }
  | { kind: "refused"; reason: string };

/**
 * The clones of nodes: made, committed, saved and removed. git runs there in the sandbox alone, and what it made comes
 * out as a bundle.
 *
 * NODE-CLONE-1. A clone is removed only when everything in it that git knows is in the agent's repository.
 */
export class NodeClones {
  readonly #ports: ClonePorts;

  constructor(ports: ClonePorts) {
    this.#ports = ports;
  }

  folder({ id, spec }: NodeState): string {
    return cloneDir(this.#ports.agentDir, spec.run_id, id);
  }

  /** `isNew` unless a worker may have written there already. Its HEAD is then `commit`. */
  async open(
    node: NodeState,
    { spawned }: WorkerState,
    at: string,
    signal: AbortSignal,
  ): Promise<{ commit: string; isNew: boolean }> {
    const folder = this.folder(node);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const names = await readdir(folder);
    const isNew = names.length === 0 || names.includes(UNFINISHED_CLONE);
    const { name } = spawned;
    const email = `${node.id}@agiraph.localhost`;
    const script = cloneScript({ repository: this.#repository, folder, branch: node.id, commit: at, name, email });
    const { rest } = await this.#ports.scripts.lastLine(script, this.#access(node, []), signal);
    return { commit: rest, isNew };
  }

  /**
   * Commits what is not committed, and takes everything since `base` into the agent's repository. Our own commits for
   * publishes that were refused (`refused`, the newest first) are in its history no more.
   */
  async commit(
    node: NodeState,
    { message, base, refused }: { message: string; base: string; refused: readonly string[] },
    signal: AbortSignal,
  ): Promise<CommitResult> {
    return this.#withTransit(node.id, async (transit) => {
      const bundle = join(transit, "work.bundle");
      const ours = { commits: refused, mark: commitMark(node) };
      const script = commitScript({ folder: this.folder(node), message, bundle, base, refused: ours });
      const { word, rest } = await this.#ports.scripts.lastLine(script, this.#access(node, [transit]), signal);
      if (word === "REFUSED") return { kind: "refused", reason: rest };
      if (word === "NOTHING") return { kind: "nothing" };
      const received = await this.#ports.repository.receive(bundle, node.id, ({ HEAD }) =>
        HEAD === undefined ? {} : { [`refs/agiraph/work/${node.id}/${HEAD}`]: HEAD },
      );
      if (!received.ok) return { kind: "refused", reason: notTaken(received.reason, base) };
      const commit = received.refs.HEAD;
      if (commit === undefined) throw new Error(`${node.id}: the bundle has no HEAD`);
      return { kind: "commit", commit };
    });
  }

  /** Begins to merge the branch in the clone, where all is committed; false where the worker has to. */
  async beginMerge(node: NodeState, { branch, tip }: { branch: string; tip: string }, signal: AbortSignal) {
    const script = mergeScript({ folder: this.folder(node), branch, tip });
    const { word } = await this.#ports.scripts.lastLine(script, this.#access(node, []), signal);
    return word !== "FAILED";
  }

  /** Everything in the clone that neither `base` nor a publish of it reaches; undefined where there is nothing. */
  async save(node: NodeState, base: string, signal: AbortSignal): Promise<{ ref: string; commit: string } | undefined> {
    return this.#withTransit(node.id, async (transit) => {
      const bundle = join(transit, "saved.bundle");
      const message = `What was left in the clone of ${node.id}`;
      const kept = await this.#ports.repository.commitsIn(`refs/agiraph/work/${node.id}`);
      const script = snapshotScript({ folder: this.folder(node), message, bundle, base, kept });
      const { word, rest } = await this.#ports.scripts.lastLine(script, this.#access(node, [transit]), signal);
      if (word === "NOTHING") return undefined;
      const received = await this.#ports.repository.receive(bundle, node.id);
      if (!received.ok) throw new Error(`${this.folder(node)}: ${received.reason}`);
      const ref = `refs/agiraph/snapshots/${node.id}/${rest}`;
      await this.#ports.repository.keep(ref, rest);
      return { ref, commit: rest };
    });
  }

  async isThere(node: NodeState): Promise<boolean> {
    const stats = await lstat(join(this.folder(node), ".git")).catch(() => undefined);
    return stats?.isDirectory() === true;
  }

  /** Those of which a clone is there, or something on its way to the repository. */
  async leftOf<T extends NodeState>(nodes: readonly T[]): Promise<T[]> {
    const onTheirWay = await readdir(transitDir(this.#ports.agentDir)).catch((): string[] => []);
    const isLeft = await Promise.all(
      nodes.map(async (node) => transitNames(node).some((name) => onTheirWay.includes(name)) || this.isThere(node)),
    );
    return nodes.filter((_, at) => isLeft[at]);
  }

  /** Nothing is on its way any more: it was there when a process was killed. */
  async clear(node: NodeState): Promise<void> {
    for (const name of transitNames(node))
      await rm(join(transitDir(this.#ports.agentDir), name), { recursive: true, force: true });
  }

  async remove(node: NodeState): Promise<void> {
    await rm(this.folder(node), { recursive: true, force: true });
  }

  get #repository(): string {
    return repositoryDir(this.#ports.agentDir);
  }

  #access(node: NodeState, write: readonly string[]): ScriptAccess {
    const folder = this.folder(node);
    return { cwd: folder, write: [folder, ...write], read: [this.#repository], seconds: SECONDS };
  }

  /** Emptied before and after: a bundle that an earlier try left must not be taken for this one's. */
  async #withTransit<T>(node: NodeId, work: (folder: string) => Promise<T>): Promise<T> {
    const folder = join(transitDir(this.#ports.agentDir), node);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    try {
      return await work(folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

const SECONDS = 1800;

/** The last line of the commits that we make for a node. */
export function commitMark({ id }: Pick<NodeState, "id">): string {
  return `Agiraph-Node: ${id}`;
}

/** What was committed or saved, and the checkout that its checks run in. */
function transitNames({ id }: NodeState): string[] {
  return [id, checksFolder(id)];
}

/** To remove it by another commit does not help: the earlier one is still there. */
function notTaken(reason: string, base: string): string {
  return `${reason}\nYour earlier commits count too. Make one of them all (git reset --soft ${base.slice(0, 12)}), take it out, and publish again.`;
}
