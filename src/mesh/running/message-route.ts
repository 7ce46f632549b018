import type { MessageHeader } from "../../protocol/index.ts";
import { addressName, type MeshAddress } from "../files/layout.ts";
import { BOARD } from "../files/message-names.ts";

export type MessageRoute =
  /** The agent's task is done. */
  | { kind: "done" }
  /** The agent cannot do its task. */
  | { kind: "failed" }
  | { kind: "agent"; mesh: string; agent: string }
  /** The mesh as a whole: its own inbox. */
  | { kind: "mesh"; mesh: string }
  | { kind: "human" }
  /** The board that gave the mesh a node. */
  | { kind: "board" }
  | { kind: "nowhere"; reason: string };

/** The agents of every mesh, by the mesh's name. */
export type AgentsByMesh = ReadonlyMap<string, readonly string[]>;

/** Where a message goes (seed 004, "Routing Destinations"). Pure. */
export function messageRouteOf(
  { to, type }: Pick<MessageHeader, "to" | "type">,
  from: MeshAddress,
  agentsByMesh: AgentsByMesh,
): MessageRoute {
  const own = agentsByMesh.get(from.mesh) ?? [];
  if (to === "human") return { kind: "human" };
  if (to === BOARD) return { kind: "board" };
  if (to === "mesh" || to === from.mesh) {
    if (type === "task-complete" && from.agent !== null) return { kind: "done" };
    if (type === "error" && from.agent !== null) return { kind: "failed" };
    return { kind: "mesh", mesh: from.mesh };
  }
  if (own.includes(to)) return { kind: "agent", mesh: from.mesh, agent: to };
  if (agentsByMesh.has(to)) return { kind: "mesh", mesh: to };
  const [mesh = "", agent = "", ...more] = to.split("/");
  if (more.length === 0 && agent !== "" && agentsByMesh.get(mesh)?.includes(agent))
    return { kind: "agent", mesh, agent };
  const agents = own.length > 0 ? `Agents here: ${own.join(", ")}. ` : "";
  return {
    kind: "nowhere",
    reason: `"to": there is no ${to} for ${addressName(from)}. ${agents}Meshes: ${[...agentsByMesh.keys()].join(", ")}. Also: mesh, human.`,
  };
}

/** Why the `from` of a message is rejected: the folder says who sent it. Within a mesh a short name is enough. */
export function senderProblem(from: string, address: MeshAddress, route: MessageRoute): string | undefined {
  const own = addressName(address);
  if (from === own) return undefined;
  if (from !== address.agent) return `"from" says ${from}, but it is in the outbox of ${own}.`;
  const leaves = "mesh" in route && route.mesh !== address.mesh;
  return leaves
    ? `"from" says ${from}; an agent of another mesh can answer only to the full name. Write ${own}.`
    : undefined;
}

/** Where an answer goes, if anywhere; a short name means an agent of the mesh in which the message was sent. */
export function senderOf(from: string, within: string, agentsByMesh: AgentsByMesh): MeshAddress | "human" | null {
  if (from === "human") return "human";
  if (agentsByMesh.get(within)?.includes(from)) return { mesh: within, agent: from };
  const [mesh = "", agent] = from.split("/");
  if (!agentsByMesh.has(mesh)) return null;
  if (agent === undefined) return { mesh, agent: null };
  return agentsByMesh.get(mesh)?.includes(agent) ? { mesh, agent } : null;
}
