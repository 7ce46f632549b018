import { constants, existsSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { Layout } from "../files/layout.ts";
import { type DeclaredMesh, readMesh } from "./declared-mesh.ts";
import { declaredNames } from "./declared-names.ts";

/** The meshes that come with Agiraph: `meshes/` of the package, whether bundled or run from source. */
export const BUNDLED = new Layout(dirname(findPackageJSON(import.meta.url) ?? import.meta.dirname));

export interface Copied {
  /** The files that were written, as seen from the project. */
  made: string[];
  /** The files that were there already, and are left as they were. */
  kept: string[];
}

/** Whether this is a bundled mesh, unchanged: then its text is ours, whatever project it is in. */
export function isBundled({ declaredAs, hash }: Pick<DeclaredMesh, "declaredAs" | "hash">): boolean {
  return bundledHash(declaredAs) === hash;
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

/** Copies bundled meshes into a project, each with its agents, capabilities and gates. Nothing is overwritten. */
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
