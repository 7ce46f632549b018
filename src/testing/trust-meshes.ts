import { realpathSync } from "node:fs";
import { readDeclared } from "../mesh/declaration/declared-mesh.ts";
import { Layout } from "../mesh/files/layout.ts";
import { MeshTrust } from "../runtime/meshes/trust.ts";

/** What `tx trust --terminals --yes` does in a project: a person agrees to its meshes as they are now. */
export async function trustMeshes(
  home: string,
  project: string,
  { terminals = true }: { terminals?: boolean } = {},
): Promise<void> {
  const layout = new Layout(realpathSync(project));
  const trust = new MeshTrust(home, Date.now);
  const { meshes } = await readDeclared(layout);
  for (const mesh of meshes.values()) await trust.grant(layout.project, mesh, { terminals, by: "terminal" });
}
