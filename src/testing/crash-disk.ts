import type { Disk } from "../store/disk/disk.ts";
import { CrashMedium } from "./crash-medium.ts";
import { ProcessDisk } from "./crash-process.ts";

/**
 * A disk in memory that remembers what a real one would not have kept. It records every change, so that for every
 * instant one can ask: had the power failed here, which disks could be found afterwards? (`crashPoints`)
 *
 * CRASH-DISK-1. An unsynced write survives whole, in part (torn at any byte, or in scattered sectors, the rest old or
 *     zero) or not at all, whatever happened to the writes around it.
 * CRASH-DISK-2. An unsynced name (made, renamed, removed) survives or not, each by itself.
 * CRASH-DISK-3. A sync makes safe what was done before it began, when it has ended. A write-through makes only itself
 *     safe.
 * CRASH-DISK-4. A failed sync leaves what it was to make safe visible and unsafe forever (as Linux does: the pages are
 *     clean).
 *
 * ```ts
 * const disk = new CrashDisk();
 * const store = await openStore({ root: "/home", disk: disk.process(), clock });
 * …
 * for (const { states } of crashPoints(disk, { random, budget: 50 })) {
 *   for (const tree of states) await openStore({ root: "/home", disk: new CrashDisk(tree).process(), clock });
 * }
 * ```
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
