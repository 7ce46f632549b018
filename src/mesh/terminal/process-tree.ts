import { readdirSync, readFileSync } from "node:fs";

/** A process as the kernel shows it. Pids are reused, so a process is identified by its start time, too. */
export interface Process {
  pid: number;
  parent: number;
  /** The session (of the kernel, not of tmux) that it belongs to. */
  session: number;
  /** In ticks since the machine was started. */
  began: string;
}

/** Null if there is none, or if it has ended and is only waiting to be reaped. */
export function processOf(pid: number): Process | null {
  if (!Number.isSafeInteger(pid) || pid < 1) return null;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program stands in brackets and may hold anything, brackets too.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, parent = "", , session = ""] = fields;
    if (state === "Z" || state === "X") return null;
    return { pid, parent: Number(parent), session: Number(session), began: fields[19] ?? "" };
  } catch {
    return null;
  }
}

/** The command line it was started with; empty if that cannot be read. */
export function commandLineOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}

export function isSame(one: Process, now: Process | null): boolean {
  return now !== null && now.pid === one.pid && now.began === one.began;
}

/** A process with all its descendants. Empty if another process has its pid by now. */
export function processTreeOf(root: Process): Process[] {
  if (root.pid <= 1 || !isSame(root, processOf(root.pid))) return [];
  const all = allProcesses();
  const tree = new Map([[root.pid, root]]);
  // A process that lost its parent has another one by then, but is still in the session of the terminal.
  for (const one of all) if (one.session === root.pid && one.pid > 1) tree.set(one.pid, one);
  for (let size = 0; size !== tree.size; ) {
    size = tree.size;
    for (const one of all) if (one.pid > 1 && tree.has(one.parent)) tree.set(one.pid, one);
  }
  tree.delete(process.pid);
  return [...tree.values()];
}

function allProcesses(): Process[] {
  try {
    return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (processOf(Number(name)) ?? []) : []));
  } catch {
    return [];
  }
}

export type SendSignal = (pid: number, signal: "SIGTERM" | "SIGKILL") => void;

/**
 * Asks those of these processes that still run to end, then kills them, with everything that they have started
 * meanwhile. A process that has reused one of their pids is left alone.
 */
export async function endAll(processes: readonly Process[], signal: SendSignal): Promise<void> {
  let ours = processes;
  const living = () => ours.filter((one) => isSame(one, processOf(one.pid)));
  const wait = async () => {
    const end = performance.now() + GRACE_MS;
    while (living().length > 0 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  };
  for (const how of ["SIGTERM", "SIGKILL"] as const) {
    await wait();
    ours = [...new Map(living().flatMap((one) => processTreeOf(one).map((each) => [each.pid, each]))).values()];
    for (const { pid } of living()) {
      try {
        signal(pid, how);
      } catch {
        // It ended by itself.
      }
    }
  }
  // The kernel takes its time too, and the caller relies on their end.
  await wait();
}

const GRACE_MS = 1_000;
const LOOK_MS = 25;
