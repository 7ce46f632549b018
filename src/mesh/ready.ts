import { constants } from "node:fs";
import { copyFile, mkdir, readdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type DeclaredMesh, declaredNames, readMesh } from "./config.ts";
import { Layout } from "./layout.ts";

/** The meshes that come with us: `meshes/` of the package, from the bundle as from the source. */
export const READY = new Layout(fileURLToPath(new URL("../..", import.meta.url)));

export interface Copied {
  /** What is there now and was not before, as seen from the project. */
  made: string[];
  /** What was there already and is as it was: a project's own words stand. */
  kept: string[];
}

export function readyMeshes(): Promise<string[]> {
  return declaredNames(READY);
}

/** Puts ready meshes into a project, each with its agents, capabilities and gates. Nothing is overwritten. */
export async function copyReady(project: Layout, meshes: readonly string[]): Promise<Copied> {
  const files = new Set<string>();
  for (const mesh of meshes) for (const file of await filesOf(await readMesh(READY, mesh))) files.add(file);
  const copied: Copied = { made: [], kept: [] };
  for (const file of [...files].toSorted()) {
    const to = join(project.project, file);
    await mkdir(dirname(to), { recursive: true });
    copied[await copyNew(join(READY.project, file), to)].push(file);
  }
  return copied;
}

async function filesOf({ config, agents }: DeclaredMesh): Promise<string[]> {
  const folders = await Promise.all([...agents.values()].map(({ dir }) => filesBelow(dir)));
  const abilities = [config, ...[...agents.values()].map((agent) => agent.config)].flatMap(
    ({ capabilities = [] }) => capabilities,
  );
  const common = new Set(await filesBelow(READY.capabilities));
  const gates = new Set(await filesBelow(READY.gates));
  return [
    join(READY.configs, `${config.mesh}.json`),
    ...folders.flat(),
    ...abilities.map((name) => join(READY.capabilities, `${name}.md`)).filter((path) => common.has(path)),
    ...(config.validation_gates ?? []).map((name) => join(READY.gates, `${name}.sh`)).filter((path) => gates.has(path)),
  ].map((path) => relative(READY.project, path));
}

async function filesBelow(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: true });
  return entries.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []));
}

async function copyNew(from: string, to: string): Promise<keyof Copied> {
  try {
    await copyFile(from, to, constants.COPYFILE_EXCL);
    return "made";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return "kept";
  }
}
