import type { Fact } from "../protocol/index.ts";

/** How the last task of a mesh's own ended. */
export interface MeshEnd {
  task: string;
  failed: boolean;
  words: string;
  /** In seconds. */
  at: number;
}

/** By the mesh's name. The files do not say it of what did not pass its gates: nobody in the mesh gave up. */
export type MeshEnds = Record<string, MeshEnd>;

export function applyToMeshEnds(ends: MeshEnds, { type, data, ts: at }: Fact): void {
  if ((type !== "mesh.completed" && type !== "mesh.failed") || data.agent !== null) return;
  ends[data.mesh] = {
    task: data.name,
    failed: type === "mesh.failed",
    words: "why" in data ? data.why : data.gist,
    at,
  };
}
