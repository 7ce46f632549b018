import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { MeshConfigError } from "../declaration/config-json.ts";
import type { DeclaredMesh } from "../declaration/declared-mesh.ts";
import { type Layout, type MeshAddress, QUEUES } from "../files/layout.ts";
import { stampOf } from "../files/message-names.ts";

/** The folders of a mesh besides its queues (seed 004, "Directory Structure"). */
export function makeFolders(layout: Layout, { config: { mesh, storage }, agents }: DeclaredMesh): void {
  const concepts = join(layout.mesh(mesh), storage?.concepts_path ?? join("shared", "concepts"));
  for (const dir of [layout.output(mesh), concepts]) mkdirSync(dir, { recursive: true });
  for (const agent of agents.keys()) {
    mkdirSync(layout.prompts(mesh, agent), { recursive: true });
    mkdirSync(layout.workspace(mesh, agent), { recursive: true });
  }
}

/** Puts the running folder of a mesh away, whole, by one rename. Returns its new path. */
export function putAway(layout: Layout, mesh: string, now: number): string {
  mkdirSync(layout.archive, { recursive: true });
  for (let number = 1; ; number++) {
    const away = join(layout.archive, `${stampOf(new Date(now))}-${String(number).padStart(4, "0")}-${mesh}`);
    if (existsSync(away)) continue;
    renameSync(layout.mesh(mesh), away);
    return away;
  }
}

/** Returns messages that arrived between the last scan and the rename to their queues. True if there were any. */
export function takeBack(layout: Layout, { config: { mesh }, agents }: DeclaredMesh, away: string): boolean {
  let found = false;
  const addresses: MeshAddress[] = [{ mesh, agent: null }, ...[...agents.keys()].map((agent) => ({ mesh, agent }))];
  for (const address of addresses) {
    for (const queue of ["inbox", "outbox"] as const) {
      const now = layout.queue(address, queue);
      const then = join(away, now.slice(layout.mesh(mesh).length));
      for (const name of existsSync(then) ? readdirSync(then) : []) {
        mkdirSync(now, { recursive: true });
        renameSync(join(then, name), join(now, name));
        found = true;
      }
    }
  }
  return found;
}

/** Deletes files that a killed process was writing. Other processes write here too, so only old files are deleted. */
export function clearTmp(layout: Layout): void {
  const { tmp } = layout;
  for (const name of existsSync(tmp) ? readdirSync(tmp) : []) {
    const written = statSync(join(tmp, name), { throwIfNoEntry: false })?.mtimeMs;
    if (written !== undefined && Date.now() - written > OLD_MS) rmSync(join(tmp, name), { force: true });
  }
}

const OLD_MS = 600_000;

/**
 * We write to the folders below `.ai/tx/`, move files in them and open them to the sandbox. A project could contain
 * links in their place, and all of that would then happen wherever they lead. So none of them may be a link.
 */
export function refuseLinks(layout: Layout, { config: { mesh, storage }, agents }: DeclaredMesh): void {
  const addresses: MeshAddress[] = [{ mesh, agent: null }, ...[...agents.keys()].map((agent) => ({ mesh, agent }))];
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
    ...addresses.flatMap((address) => [
      layout.messages(address),
      ...QUEUES.map((queue) => layout.queue(address, queue)),
    ]),
  ];
  refuse(layout, paths);
}

/** The same for the folders that all meshes of a project share; checked before any mesh is opened. */
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
      "it is a link, so a mesh would write wherever it leads. Remove it; a folder will be created in its place.",
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
