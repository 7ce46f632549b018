import { isTakenByHouse } from "../engine/mesh-context.ts";
import type { Queues } from "./queue.ts";

/** How many tasks of its own a mesh has completed, by its files. */
export function completedTasks(queues: Queues): number {
  return queues.count("complete", isTask) + queues.count("archive", isTask);
}

/** What the mesh said to the house lies beside its tasks once it was taken. */
function isTask(name: string): boolean {
  return !isTakenByHouse(name);
}
