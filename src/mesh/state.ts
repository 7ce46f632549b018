import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type MeshState, meshStateSchema } from "../protocol/index.ts";
import type { DeclaredMesh } from "./config.ts";
import type { Layout } from "./layout.ts";
import { isDone, leaves, type Progress } from "./topology.ts";

export interface Standing {
  declared: DeclaredMesh;
  progress: Progress;
  isActive: boolean;
  isWaiting: boolean;
  tasksCompleted: number;
  startedAt: string;
  now: number;
}

/** What the queues say, as seed 004's `state.json`: whole or not at all, and only when it has changed. */
export function writeState(layout: Layout, standing: Standing): void {
  const state = stateOf(standing);
  const key = JSON.stringify({ ...state, updated_at: "" });
  const path = layout.state(state.mesh);
  if (lastWritten.get(path) === key) return;
  lastWritten.set(path, key);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.tmp`, `${JSON.stringify(state, null, 2)}\n`);
  renameSync(`${path}.tmp`, path);
}

const lastWritten = new Map<string, string>();

/** Undefined when there is none, or none that can be read: it is made again with the next change. */
export function readState(layout: Layout, mesh: string): MeshState | undefined {
  try {
    return meshStateSchema.parse(JSON.parse(readFileSync(layout.state(mesh), "utf8")));
  } catch {
    return undefined;
  }
}

export function stateOf({
  declared,
  progress,
  isActive,
  isWaiting,
  tasksCompleted,
  startedAt,
  now,
}: Standing): MeshState {
  const steps = leaves(declared.plan);
  const done = steps.filter(({ at }) => progress.get(at) === "done");
  const given = steps.filter(({ at }) => progress.get(at) === "given");
  const isComplete = isActive && isDone(declared.plan, progress);
  return {
    mesh: declared.config.mesh,
    status: isActive ? "processing" : isWaiting ? "active" : tasksCompleted > 0 ? "complete" : "idle",
    current_agent: given[0]?.agent ?? null,
    previous_agent: done.at(-1)?.agent ?? null,
    workflow: steps.map(({ agent }) => agent),
    workflow_position: done.length,
    workflow_complete: isComplete || (!isActive && tasksCompleted > 0),
    tasks_completed: tasksCompleted,
    started_at: startedAt,
    updated_at: new Date(now).toISOString(),
  };
}
