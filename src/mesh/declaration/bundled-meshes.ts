import { constants, existsSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { Layout } from "../files/layout.ts";
import { type DeclaredMesh, declaredNames, readMesh } from "./declared-mesh.ts";

/** The meshes that come with us: `meshes/` of the package, from the bundle as from the source. */
export const BUNDLED = new Layout(dirname(findPackageJSON(import.meta.url) ?? import.meta.dirname));

export interface Copied {
  /** What is there now and was not before, as seen from the project. */
  made: string[];
  /** What was there already and is as it was: a project's own words stand. */
  kept: string[];
}

/** Whether this is one of them, unchanged: then what it says are our own words, whoever put them into the project. */
export function isBundled({ config: { mesh }, hash }: Pick<DeclaredMesh, "config" | "hash">): boolean {
  return bundledHash(mesh) === hash;
}

const hashes = new Map<string, string | null>();

function bundledHash(mesh: string): string | null {
  let hash = hashes.get(mesh);
  if (hash === undefined) {
    hash = existsSync(join(BUNDLED.configs, `${mesh}.json`)) ? readMesh(BUNDLED, mesh).hash : null;
    hashes.set(mesh, hash);
  }
  return hash;
}

export function bundledMeshes(): Promise<string[]> {
  return declaredNames(BUNDLED);
}

/** Puts ready meshes into a project, each with its agents, capabilities and gates. Nothing is overwritten. */
export async function copyBundled(project: Layout, meshes: readonly string[]): Promise<Copied> {
  const files = new Set<string>();
  for (const mesh of meshes) for (const file of readMesh(BUNDLED, mesh).sources.keys()) files.add(file);
  const copied: Copied = { made: [], kept: [] };
  for (const file of [...files].toSorted()) {
    const to = join(project.project, file);
    await mkdir(dirname(to), { recursive: true });
    copied[await copyNew(join(BUNDLED.project, file), to)].push(file);
  }
  return copied;
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
