import { readFileSync } from "node:fs";

/**
 * `npm start` puts npm and a shell between the terminal and this process. If npm is killed, neither we nor the shell
 * are told: the work would continue unseen and spend money. So we check whether our ancestors are still the same.
 */
export function endWithNpm(process: NodeJS.Process, everyMs = 1000): void {
  const above = ancestors(process.ppid);
  const looking = setInterval(() => {
    if (ancestors(process.ppid) === above) return;
    clearInterval(looking);
    process.kill(process.pid, "SIGTERM");
  }, everyMs);
  looking.unref();
}

/** The parent and, where the system tells without another program, its parent. */
function ancestors(parent: number): string {
  try {
    // After the name, which may hold anything: state, parent.
    const [, grandparent] = readFileSync(`/proc/${parent}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return `${parent} ${grandparent}`;
  } catch {
    return String(parent);
  }
}
