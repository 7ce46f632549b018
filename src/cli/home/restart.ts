import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { z } from "zod";

/**
 * How a server continues after an uncaught error: it replaces itself with a new process image (`execve`).
 *
 * RESTART-1. Pid, terminal, streams and parent stay the same, so signals, exit codes, npm and service managers see one
 *     process. There is no supervisor that could die alone or outlive the server.
 * RESTART-2. There is no graceful shutdown: the new image recovers as after SIGKILL. The kernel drops the home's lock
 *     and the port with the old image. Commands and programs that the old one started are killed first.
 * RESTART-3. At most MOST crashes within WITHIN_MS; each waits longer than the one before.
 */
export function restart(process: NodeJS.Process, { port, crashes }: Restarted): void {
  killChildren(process.pid);
  const note = JSON.stringify({ port, crashes } satisfies Restarted);
  const words = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  process.execve?.(process.execPath, words, { ...process.env, [NOTE]: note });
}

const restartedSchema = z.object({ port: z.int().min(1).max(65_535), crashes: z.array(z.number()).max(100) });
/** What the new image is told: where to listen, and the times of earlier crashes, in milliseconds. */
export type Restarted = z.infer<typeof restartedSchema>;

const NOTE = "AGIRAPH_RESTARTED";
const MOST = 5;
const WITHIN_MS = 10 * 60_000;
const FIRST_WAIT_MS = 250;

/** The note that the previous image left. It is removed from the environment, which programs inherit. */
export function takeNote(env: NodeJS.ProcessEnv): Restarted | undefined {
  const text = env[NOTE];
  delete env[NOTE];
  if (text === undefined) return undefined;
  try {
    return restartedSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The recent crashes including this one, or undefined if there are too many to try again. */
export function crashesWith(now: number, before: readonly number[]): number[] | undefined {
  const recent = [...before.filter((at) => now - at < WITHIN_MS && at <= now), now];
  return recent.length > MOST ? undefined : recent;
}

/** How long to wait after these crashes. The first restart is immediate. */
export function waitAfter({ crashes }: Pick<Restarted, "crashes">): number {
  return crashes.length <= 1 ? 0 : FIRST_WAIT_MS * 2 ** (crashes.length - 2);
}

/** `execve` keeps the pid, so the kernel does not tell our children that we are gone. Most lead a group of their own. */
function killChildren(parent: number): void {
  for (const pid of childrenOf(parent)) {
    for (const target of [-pid, pid]) {
      try {
        process.kill(target, "SIGKILL");
      } catch {
        // It has no group of its own, or it has ended.
      }
    }
  }
}

function childrenOf(parent: number): number[] {
  try {
    const tasks = readdirSync(`/proc/${parent}/task`);
    const lists = tasks.map((task) => readFileSync(`/proc/${parent}/task/${task}/children`, "utf8"));
    return lists.flatMap((list) => list.split(" ").filter(Boolean).map(Number));
  } catch {
    return childrenByPs(parent);
  }
}

/** Where there is no /proc. */
function childrenByPs(parent: number): number[] {
  try {
    const lines = execFileSync("ps", ["-axo", "pid=,ppid="], { encoding: "utf8" }).split("\n");
    const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number));
    return pairs.flatMap(([pid = 0, ppid]) => (ppid === parent && pid > 1 ? [pid] : []));
  } catch {
    return [];
  }
}
