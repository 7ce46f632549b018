import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type MeshState, meshStateSchema } from "../../protocol/index.ts";
import type { DeclaredMesh } from "../declaration/declared-mesh.ts";
import { isDone, leaves, type StepProgress, type WorkflowPlan } from "../declaration/topology.ts";
import type { Layout } from "../files/layout.ts";

export interface MeshProgress {
  declared: DeclaredMesh;
  /** Of its active task. */
  plan: WorkflowPlan;
  progress: StepProgress;
  isActive: boolean;
  isWaiting: boolean;
  tasksCompleted: number;
  now: number;
}

/**
 * The state of the queues as seed 004's `state.json`.
 *
 * MESH-STATE-1. It is written as a whole, only when it has changed: the first time at once, then at a limited rate.
 * MESH-STATE-2. It is derived: a failure to write it (a full disk, a deleted folder) stops nothing.
 */
export class StateFile {
  readonly #path: string;
  readonly #startedAt: string;
  #progress: (() => MeshProgress) | undefined;
  #written = "";
  #timer: NodeJS.Timeout | NodeJS.Immediate | undefined;
  #at = 0;

  constructor(path: string, startedAt: string) {
    this.#path = path;
    this.#startedAt = startedAt;
  }

  of(progress: MeshProgress): MeshState {
    return stateOf(progress, this.#startedAt);
  }

  keep(progress: () => MeshProgress): void {
    this.#progress = progress;
    if (this.#timer !== undefined) return;
    const wait = this.#at + BETWEEN_MS - performance.now();
    this.#timer = wait > 0 ? setTimeout(() => this.#write(), wait) : setImmediate(() => this.#write());
  }

  /** What was to be written later is written now. */
  write(): void {
    if (this.#timer instanceof Object && "refresh" in this.#timer) clearTimeout(this.#timer);
    else clearImmediate(this.#timer);
    this.#write();
  }

  close(): void {
    this.write();
  }

  #write(): void {
    this.#timer = undefined;
    this.#at = performance.now();
    try {
      if (!this.#progress) return;
      const state = this.of(this.#progress());
      this.#progress = undefined;
      const key = JSON.stringify({ ...state, updated_at: "" });
      if (this.#written === key) return;
      mkdirSync(dirname(this.#path), { recursive: true });
      writeFileSync(`${this.#path}.tmp`, `${JSON.stringify(state, null, 2)}\n`);
      renameSync(`${this.#path}.tmp`, this.#path);
      this.#written = key;
    } catch {
      // MESH-STATE-2: the next change writes it.
    }
  }
}

const BETWEEN_MS = 50;

/** Undefined if it is missing or unreadable: it is written again with the next change. */
export function readState(layout: Layout, mesh: string): MeshState | undefined {
  try {
    return meshStateSchema.parse(JSON.parse(readFileSync(layout.state(mesh), "utf8")));
  } catch {
    return undefined;
  }
}

export function stateOf(
  { declared, plan, progress, isActive, isWaiting, tasksCompleted, now }: MeshProgress,
  startedAt: string,
): MeshState {
  const steps = leaves(plan);
  const done = steps.filter(({ at }) => progress.get(at) === "done");
  const given = steps.filter(({ at }) => progress.get(at) === "given");
  const isComplete = isActive && isDone(plan, progress);
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
