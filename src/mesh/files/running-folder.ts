import { lstatSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { type DeclaredMesh, MeshConfigError } from "./config.ts";
import { type Layout, type Place, QUEUES } from "./layout.ts";

/**
 * The folders below `.ai/tx/` are ours to write, to move files in and to open to the sandbox. A project can come with
 * links in their place: then all of that would happen to wherever they lead. So none of them may be a link.
 */
export function refuseLinks(layout: Layout, { config: { mesh, storage }, agents }: DeclaredMesh): void {
  const places: Place[] = [{ mesh, agent: null }, ...[...agents.keys()].map((agent) => ({ mesh, agent }))];
  const concepts = (storage?.concepts_path ?? "shared/concepts").split("/");
  const paths = [
    layout.mesh(mesh),
    layout.state(mesh),
    layout.shared(mesh),
    layout.output(mesh),
    join(layout.shared(mesh), "refs"),
    ...concepts.map((_, depth) => join(layout.mesh(mesh), ...concepts.slice(0, depth + 1))),
    join(layout.mesh(mesh), "agents"),
    ...[...agents.keys()].flatMap((agent) => [
      layout.agent(mesh, agent),
      layout.prompts(mesh, agent),
      layout.workspace(mesh, agent),
    ]),
    ...places.flatMap((place) => [layout.messages(place), ...QUEUES.map((queue) => layout.queue(place, queue))]),
  ];
  refuse(layout, paths);
}

/** The same for what all meshes of a project have in common; asked before anything of it is opened. */
export function refuseLinkedProject(layout: Layout): void {
  const { running } = layout;
  refuse(layout, [join(running, ".."), running, ...namesIn(running).map((name) => join(running, name))]);
}

function refuse(layout: Layout, paths: readonly string[]): void {
  for (const path of paths) {
    if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) continue;
    const file = relative(layout.project, path);
    throw new MeshConfigError(
      file,
      "it is a link, and what a mesh writes would go where it leads. Remove it; a folder is made in its place.",
    );
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
