import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import type { MeshMessage } from "../../mesh/files/mesh-message.ts";
import { stemOf } from "../../mesh/files/message-names.ts";
import { hasEnded, type Situation } from "../../projections/index.ts";
import { type AgentId, agentIdSchema, type NodeId, nodeIdSchema } from "../../protocol/index.ts";
import { cloneDir, repositoryDir } from "../../store/paths.ts";
import { AccessTable } from "../../store/scope/access.ts";
import { FileScope } from "../../store/scope/file-scope.ts";

/** A node's clone of the repository, in which the agents of the mesh work that has the node. */
export interface MeshClone {
  folder: string;
  /** The agent's, from which it borrows its objects. */
  repository: string;
}

/** What must be known of an agent that gives its work to a mesh. */
export interface GivingAgent {
  now: Situation;
  log: { dir: string };
}

/**
 * The clone for a message: that of the node whose task everything began with.
 *
 * MESH-CLONE-1. A name in a message opens nothing: the agent must be of this home and of this project, and the node open
 *     and given to this very mesh.
 */
export async function cloneFor(
  message: Pick<MeshMessage, "name" | "header">,
  { mesh, project, meshOf }: { mesh: string; project: string; meshOf(program: string): string | undefined },
  agentOf: (id: AgentId) => Promise<GivingAgent | undefined>,
): Promise<MeshClone | undefined> {
  const task = boardTaskOf(message);
  const agent = task && (await agentOf(task.agent));
  if (!task || !agent) return undefined;
  const { board, roster, repository, agent: about } = agent.now;
  const node = board.nodes[task.node];
  if (!repository || !node || hasEnded(node) || !("worker_id" in node)) return undefined;
  const { kind, program = "" } = roster[node.worker_id]?.spawned ?? {};
  const isItsOwn = kind === "mesh" && meshOf(program) === mesh && realPathOf(about.created.project) === project;
  if (!isItsOwn) return undefined;
  const { dir } = agent.log;
  return { folder: cloneDir(dir, node.spec.run_id, node.id), repository: repositoryDir(dir) };
}

/** The node of a board whose task this message follows from: tasks and their threads are named after both. */
function boardTaskOf({ name, header: { task, thread } }: Pick<MeshMessage, "name" | "header">) {
  const [first = ""] = (task ?? thread ?? stemOf(name)).split(/[.~]/);
  const [, agent, node] = /^(agent-\w+?)-(node-\d+)(?:-\d+)?$/.exec(first) ?? [];
  const ids = [agentIdSchema.safeParse(agent).data, nodeIdSchema.safeParse(node).data] as const;
  return ids[0] && ids[1] ? { agent: ids[0] as AgentId, node: ids[1] as NodeId } : undefined;
}

/** The files of a clone, for agents whose other files are elsewhere. */
export function cloneScope({ folder, repository }: MeshClone, home: string): FileScope {
  return new FileScope({
    agentDir: dirname(folder),
    home,
    project: null,
    top: ["repo"],
    aliases: new Map([["repo", ["repo"]]]),
    cwd: folder,
    table: new AccessTable([
      { at: "repo/.git/**", access: "read", why: "Change it with git, in a command." },
      { at: "repo/**", access: "write", why: "" },
      { at: "**", access: "none", why: "It is outside the clone." },
    ]),
    mayWrite: () => "You may write to the repository.",
    describe: () => "",
    binds: async () => ({ write: [folder], read: [repository], hide: [], cwd: folder }),
  });
}

/** What an agent is told that begins in one. `project` is where the paths of its instructions begin. */
export function cloneWords({ folder }: MeshClone, by: "model" | "tools", project: string): string {
  const paths =
    by === "model"
      ? "Plain paths and commands begin there, and project/… is that clone; output/…, shared/… and workspace/… are as said before."
      : `It is your current folder. Paths of your instructions that begin with .ai/tx/ are below ${project}.`;
  return `## The repository\n\nThis task has a clone of the repository of its own: ${folder}. ${paths} Change files of the project there and nowhere else. git works there, without a network; what you change is committed when the task of the mesh ends.`;
}

function realPathOf(folder: string | null): string | undefined {
  try {
    return folder === null ? undefined : realpathSync(folder);
  } catch {
    return undefined;
  }
}
