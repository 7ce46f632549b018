import { dict } from "../protocol/dict.ts";
import type { Fact, NodeId, WorkerId } from "../protocol/index.ts";

/** A command that runs, or ran, in the background of its worker's turns. */
export interface BackgroundCommand {
  id: string;
  pid: number;
  node_id: NodeId | null;
  command: string;
  /** Null while it runs. `interrupted`: it ended with our process, and what it had printed is lost. */
  ended: { code: number | null; output: string; interrupted: boolean } | null;
}

/** By worker, the newest last: those of its current work. */
export type BackgroundCommands = Record<WorkerId, BackgroundCommand[]>;

/** Those that have ended are kept so that their output can be read. */
const MOST_KEPT = 16;

export function applyToBackgroundCommands(
  commands: BackgroundCommands | undefined,
  fact: Fact,
): BackgroundCommands | undefined {
  switch (fact.type) {
    case "process.started": {
      const { worker_id, node_id, pid, command, background: id } = fact.data;
      if (id === undefined) return commands;
      const all = commands ?? dict<BackgroundCommand[]>();
      const started = { id, pid, node_id, command, ended: null };
      all[worker_id] = [...(all[worker_id] ?? []), started].slice(-MOST_KEPT);
      return all;
    }
    case "process.exited": {
      const { worker_id, pid, code, output = "", interrupted = false } = fact.data;
      const command = commands?.[worker_id]?.findLast((each) => each.pid === pid && each.ended === null);
      if (command) command.ended = { code, output, interrupted };
      return commands;
    }
    case "worker.idle":
      if (commands) delete commands[fact.data.worker_id];
      return commands;
    case "run.finished":
      return undefined;
    default:
      return commands;
  }
}

export function backgroundCommandNamed(
  commands: BackgroundCommands | undefined,
  worker: WorkerId,
  id: string,
): BackgroundCommand | undefined {
  return commands?.[worker]?.findLast((command) => command.id === id);
}

/** Those of a worker that still run. */
export function runningCommandsOf(commands: BackgroundCommands | undefined, worker: WorkerId): BackgroundCommand[] {
  return (commands?.[worker] ?? []).filter(({ ended }) => ended === null);
}

/** Those that were running when our process ended: none of them can have outlived it. */
export function lostBackgroundCommands(
  commands: BackgroundCommands | undefined,
): (BackgroundCommand & { worker_id: WorkerId })[] {
  return Object.entries(commands ?? {}).flatMap(([worker_id, all]) =>
    all.filter(({ ended }) => ended === null).map((command) => ({ ...command, worker_id })),
  );
}
