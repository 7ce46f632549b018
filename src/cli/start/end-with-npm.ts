import { readFileSync } from "node:fs";

/**
 * `npm start` stands between the terminal and this process, and a shell between npm and us. When npm is killed nobody
 * tells either: the work would go on unseen and spend money. So we look whether those above us are still the same.
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
