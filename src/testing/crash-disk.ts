import type { Disk } from "../store/disk/disk.ts";
import { CrashMedium } from "./crash-medium.ts";
import { ProcessDisk } from "./crash-process.ts";

/**
 * A disk in memory that knows what a real one may lose. It records every change, so that for every instant it can tell
 * which states the disk could be in if the power had failed there (`crashPoints`).
 *
 * CRASH-DISK-1. An unsynced write survives whole, in part (torn at any byte, or in scattered sectors, the rest old or
 *     zero) or not at all, whatever happened to the writes around it.
 * CRASH-DISK-2. An unsynced name (created, renamed, removed) survives or not, each independently.
 * CRASH-DISK-3. When a sync has ended, everything done before it began is durable. A write-through makes only itself
 *     durable.
 * CRASH-DISK-4. After a failed sync, its data stay visible and are never durable (as in Linux: the pages are marked
 *     clean).
 *
 * ```ts const disk = new CrashDisk(); const store = await openStore({ root: "/home", disk: disk.process(), clock }); …
 * for (const { states } of crashPoints(disk, { random, budget: 50 })) { for (const tree of states) await openStore({
 * root: "/home", disk: new CrashDisk(tree).process(), clock }); } ```
 */
export class CrashDisk extends CrashMedium {
  #alive = {};

  /** The disk as one process sees it. The process before it is dead: what it still wants is no longer done. */
  process(): Disk {
    this.#alive = {};
    this.locks.clear();
    const me = this.#alive;
    return new ProcessDisk(this, () => this.#alive === me);
  }

  /** Ends the process, with nothing lost of what it had written: kill -9. */
  kill(): void {
    this.#alive = {};
  }

  /** Every file below a folder with its bytes, to compare whole homes. */
  files(under: string): Record<string, string> {
    const found: Record<string, string> = {};
    const walk = (path: string) => {
      const inode = this.inodeAt(path);
      if (inode?.kind === "file") found[path] = inode.bytes.toString("latin1");
      if (inode?.kind === "dir") for (const name of [...inode.names.keys()].sort()) walk(`${path}/${name}`);
    };
    walk(under);
    return found;
  }
}
