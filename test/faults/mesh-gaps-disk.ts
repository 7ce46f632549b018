import type * as fs from "node:fs";
import { dirname, join } from "node:path";

/**
 * What stands between the meshes and the disk in `mesh-gaps.test.ts`: it counts every change to a project's queues and can
 * end the process that makes them before any one of them. What agents and people write (`aside-…`) is not ours and goes
 * through; so does `state.json`, which is derived and written by a timer.
 */
export class Gaps {
  /** Before which change it happens; none by default. */
  at = Number.POSITIVE_INFINITY;
  /** Killed, nothing reaches the disk any more; failed, just this one change does not. */
  how: "kill" | "fail" = "kill";
  count = 0;
  isDead = false;
  /** It is a person who does it, not the process. */
  isByHand = false;
  /** What was about to be done when it happened. */
  change: string | undefined;
  happened: () => void = () => {};

  /** Throws where the process is dead, or dies now. */
  before(change: string): void {
    if (this.isDead) throw new Error("The process was killed.");
    if (++this.count !== this.at) return;
    this.change = change;
    this.isDead = this.how === "kill";
    this.happened();
    throw Object.assign(new Error(`${this.how} before ${change}`), { code: "ENOSPC" });
  }
}

/** By the project's folder. */
const watched = new Map<string, Gaps>();

export function watchGaps(project: string): Gaps {
  const gaps = new Gaps();
  watched.set(project, gaps);
  return gaps;
}

export function forgetGaps(project: string): void {
  watched.delete(project);
}

/** The functions of `node:fs` by which meshes change the disk, each with its gap before it. */
export function withGaps(real: typeof fs): Partial<typeof fs> {
  const before = (name: string, paths: readonly unknown[]) => {
    const path = String(paths.at(-1));
    const [project, gaps] = [...watched].find(([dir]) => path.startsWith(join(dir, ".ai"))) ?? [];
    if (!project || !gaps || gaps.isByHand || paths.some((one) => String(one).includes("/aside-"))) return;
    if (path.includes("state.json") && !gaps.isDead) return;
    gaps.before(`${name} ${paths.map((one) => String(one).slice(project.length)).join(" → ")}`);
  };
  return {
    renameSync: (from, to) => {
      before("rename", [from, to]);
      real.renameSync(from, to);
    },
    linkSync: (from, to) => {
      before("link", [from, to]);
      real.linkSync(from, to);
    },
    unlinkSync: (path) => {
      before("unlink", [path]);
      real.unlinkSync(path);
    },
    rmSync: (path, options) => {
      if (real.existsSync(path)) before("rm", [path]);
      real.rmSync(path, options);
    },
    writeFileSync: (path, ...rest) => {
      before("write", [path]);
      real.writeFileSync(path, ...rest);
    },
    // Only what makes something: everybody makes sure that folders are there.
    mkdirSync: ((path: string, options?: fs.MakeDirectoryOptions) => {
      if (!real.existsSync(path) && real.existsSync(dirname(path))) before("mkdir", [path]);
      return real.mkdirSync(path, options);
    }) as typeof fs.mkdirSync,
  };
}
