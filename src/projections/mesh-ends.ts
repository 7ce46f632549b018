import type { Fact } from "../protocol/index.ts";

/** How the last of a mesh's own tasks ended. */
export interface MeshEnd {
  task: string;
  failed: boolean;
  words: string;
  /** In seconds. */
  at: number;
}

/**
 * By the mesh's name. The files do not show it for a task that did not pass its gates, since nobody in the mesh gave
 * up.
 */
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
