import { realpath } from "node:fs/promises";
import type { MeshProjectView, MeshView } from "../protocol/api/meshes.ts";
import type { CheckedArgs, CommandName, CommandResult } from "../protocol/commands.ts";
import { type Actor, type AgentId, HUMAN } from "../protocol/index.ts";
import type { Agent } from "./agent.ts";
import { checkProject } from "./agent-order.ts";
import { HumanRefusal } from "./human/human-refusal.ts";
import type { HostedMeshes } from "./meshes/hosted-meshes.ts";
import { actingAs } from "./state/acting.ts";

export interface MeshCommandPorts {
  /** Rejects with a refusal where there is none of that id. */
  agent(id: AgentId): Promise<Agent>;
  /** The record of a project's meshes; made where there is none. */
  meshRecord(project: string): Promise<Agent>;
  /** By project: what programs of its meshes get of the environment of the person who started them. */
  meshEnvironments: Map<string, Readonly<Record<string, string>>>;
}

type MeshCommandName = Extract<CommandName, `${string}_mesh${string}`>;
type OfMesh = Exclude<MeshCommandName, "start_meshes" | "stop_meshes">;
type CommandHandler<C extends CommandName> = (
  args: CheckedArgs<C>,
  ports: MeshCommandPorts,
  actor: Actor,
) => Promise<CommandResult<C>>;

/** What each command to a mesh does. */
export const MESH_HANDLERS: { readonly [C in MeshCommandName]: CommandHandler<C> } = {
  start_meshes: async ({ project, environment }, ports, actor) => {
    await checkProject(project);
    const folder = await realpath(project);
    if (environment) ports.meshEnvironments.set(folder, environment);
    return actingAs(actor, async () => {
      const agent = await ports.meshRecord(folder);
      const isFirst = await startOnce(agent);
      // Only the process that carries the command out learns of it: it is not part of the result.
      return { ...(await projectView(agent)), ...(!isFirst && { unchanged: true }) };
    });
  },
  stop_meshes: async ({ id }, ports, actor) => {
    const agent = recordOfMeshes(await ports.agent(id as AgentId));
    await actingAs(actor, () => agent.stop(HUMAN));
    return projectView(agent);
  },
  send_to_mesh: onMesh(async (meshes, { mesh, to, type, text, answers }) => {
    const agent = to ?? null;
    const message = { to: agent, type, text, ...(answers !== undefined && { answers }) };
    return { mesh, agent, name: meshes.send(mesh, message) };
  }),
  archive_mesh: onMesh(async (meshes, { mesh, days }) => ({ mesh, archived: meshes.archive(mesh, days) })),
  trust_mesh: steer((meshes, { mesh, hash, terminals, by }) => meshes.trust(mesh, { hash, terminals, by })),
  untrust_mesh: steer((meshes, { mesh }) => meshes.distrust(mesh)),
  spawn_mesh_agent: steer((meshes, { mesh, agent }) => meshes.spawn(mesh, agent)),
  kill_mesh_agent: steer((meshes, { mesh, agent }) => meshes.kill(mesh, agent)),
};

function onMesh<C extends OfMesh, T>(act: (meshes: HostedMeshes, args: CheckedArgs<C>) => Promise<T>) {
  return async (args: CheckedArgs<C>, ports: MeshCommandPorts, actor: Actor): Promise<T> => {
    const meshes = hostedMeshes(await ports.agent((args as unknown as { id: AgentId }).id));
    const done = await actingAs(actor, () => act(meshes, args));
    await meshes.recorded();
    return done;
  };
}

/** Answered with how the mesh is doing then. */
function steer<C extends OfMesh>(act: (meshes: HostedMeshes, args: CheckedArgs<C>) => Promise<void>) {
  return onMesh<C, MeshView>(async (meshes, args) => {
    await act(meshes, args);
    const { mesh } = args as unknown as { mesh: string };
    const { meshView } = await views();
    const view = meshView(meshes, mesh);
    if (!view) throw noMesh(mesh);
    return view;
  });
}

/** False where they are running already. */
async function startOnce(agent: Agent): Promise<boolean> {
  // Someone else may be starting them now, or the server itself, which resumes what was running.
  await agent.drained();
  const isFirst = !agent.isWorking;
  if (isFirst) await agent.start(agent.now.agent.status === "idle" ? "created" : "resumed");
  else await agent.drained();
  return isFirst;
}

export function recordOfMeshes(agent: Agent): Agent {
  const { name, meshes } = agent.now.agent.created;
  if (meshes) return agent;
  throw new HumanRefusal("not_found", `${name} is not the record of a project's meshes. GET /meshes lists those.`);
}

/** The meshes of a project, if they are running. */
export function hostedMeshes(agent: Agent): HostedMeshes {
  const { meshes, now } = recordOfMeshes(agent);
  if (meshes) return meshes;
  const { name } = now.agent.created;
  throw new HumanRefusal("not_started", `${name} is stopped. Start it: tx start, in its folder.`);
}

export function noMesh(mesh: string): HumanRefusal {
  return new HumanRefusal("not_found", `There is no mesh "${mesh.slice(0, 80)}" here.`);
}

export async function projectView({ now, meshes: hosted }: Agent): Promise<MeshProjectView> {
  const { id, created, status } = now.agent;
  const project = { id, name: created.name, project: created.project ?? "", status };
  if (!hosted) return { ...project, meshes: [], problems: [] };
  const { meshView } = await views();
  const names = [...hosted.meshes.declared().keys()];
  return { ...project, meshes: names.flatMap((name) => meshView(hosted, name) ?? []), problems: hosted.problems() };
}

/** Heavy, and not needed by those who have no meshes. */
function views() {
  return import("./meshes/views.ts");
}
