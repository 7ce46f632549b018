import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { nearest } from "../../boundary/nearest.ts";
import type { ApiClient } from "../../client/client.ts";
import { type DeclaredMesh, readDeclared } from "../../mesh/declaration/declared-mesh.ts";
import { Layout, type MeshAddress } from "../../mesh/files/layout.ts";
import { isAtWork } from "../../projections/index.ts";
import type { MeshProjectView } from "../../protocol/api/meshes.ts";
import { Refusal, UsageError } from "../exit-code.ts";
import { settingsOf } from "../home/look.ts";
import { runningServer } from "../home/other-process.ts";
import type { Invocation } from "../invocation.ts";

/** One call of `tx`. */
export interface TxCall extends Invocation {
  /** From --project. */
  project: string | undefined;
  /** The agent that speaks, in its session; undefined for a person. */
  speaker: { mesh: string; agent: string } | undefined;
}

/** The project: the given folder, or the nearest one above the current directory that declares meshes. */
export function layoutOf({ project, terminal, packageRoot }: TxCall): Layout {
  const named = project ?? terminal.env.TX_PROJECT;
  const here = terminal.cwd;
  if (named !== undefined) {
    const folder = resolve(here, named);
    if (!isProject(folder)) throw new UsageError(`There are no meshes in ${folder}: it has no meshes/mesh-configs/.`);
    return new Layout(realpathSync(folder));
  }
  for (let folder = here; ; folder = dirname(folder)) {
    if (isProject(folder)) return new Layout(realpathSync(folder));
    if (dirname(folder) === folder) break;
  }
  throw new UsageError(
    `There are no meshes here: neither ${here} nor a folder above it has meshes/mesh-configs/. Go to the project, pass --project DIR, or begin with bundled ones: tx init. How to declare a mesh: ${join(packageRoot, "docs/meshes.md")}`,
  );
}

function isProject(folder: string): boolean {
  return existsSync(join(folder, "meshes", "mesh-configs"));
}

/** A mesh as declared, read from its files, without a server. */
export async function declaredMesh(layout: Layout, name: string): Promise<DeclaredMesh> {
  const { meshes, problems } = await readDeclared(layout);
  const declared = meshes.get(name);
  if (declared) return declared;
  const broken = problems.find(({ file }) => file.endsWith(`/${name}.json`));
  if (broken) throw new Refusal(broken.message);
  throw new UsageError(unknown("mesh", name, [...meshes.keys()]));
}

export function agentIn(declared: DeclaredMesh, agent: string | undefined): string {
  if (agent === undefined) return declared.entry;
  if (declared.agents.has(agent)) return agent;
  throw new UsageError(unknown(`agent of ${declared.config.mesh}`, agent, [...declared.agents.keys()]));
}

/** `mesh` or `mesh/agent`. */
export async function parsedAddress(layout: Layout, to: string): Promise<MeshAddress> {
  const [mesh = "", agent, ...more] = to.split("/");
  if (more.length > 0) throw new UsageError(`"${to}": expected mesh or mesh/agent.`);
  const declared = await declaredMesh(layout, mesh);
  return { mesh, agent: agent === undefined ? null : agentIn(declared, agent) };
}

export function unknown(kind: string, name: string, names: readonly string[]): string {
  const [near] = nearest(name, names, 1);
  const list = names.length > 0 ? `Choose from: ${names.join(", ")}.` : "None is declared (meshes/mesh-configs/).";
  return `There is no ${kind} "${name}".${near ? ` Did you mean ${near}?` : ""} ${list}`;
}

export interface RunningMeshes {
  client: ApiClient;
  view: MeshProjectView;
}

/** The server of the home, if it runs the meshes of this project. */
export async function runningMeshes(call: TxCall, layout: Layout): Promise<RunningMeshes | undefined> {
  const client = await runningServer(await settingsOf(call));
  if (!client) return undefined;
  const { projects } = await client.meshProjects({ limit: 1000 });
  const found = projects.find(({ project }) => project === layout.project);
  if (!found) return undefined;
  const view = await client.meshProject(found.id);
  return isAtWork(view.status) ? { client, view } : undefined;
}

export async function startedMeshes(call: TxCall, layout: Layout): Promise<RunningMeshes> {
  const running = await runningMeshes(call, layout);
  if (running) return running;
  throw new Refusal(`The meshes of ${layout.project} are not started. Start them: tx start`);
}
