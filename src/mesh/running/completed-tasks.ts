import type { Queues } from "../files/queue.ts";

/** How many of its own tasks a mesh has completed, counted from its files. */
export function completedTasks(queues: Queues): number {
  return queues.count("complete", isTask) + queues.count("archive", isTask);
}

/**
 * What the mesh said to the board lies beside its tasks once the board has taken it: ends under their own names, other
 * messages as `taken`.
 */
function isTask(name: string): boolean {
  return !/\.(?:done|taken)(?:~\d+)?\.md$/.test(name);
}
