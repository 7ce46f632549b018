import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { thisProcess } from "../first-process.ts";

/**
 * Kernel limits on all memory of a sandbox, including memory that belongs to no process (memfds, files in /tmp, buffers
 * of pipes and sockets), which cannot be counted from outside.
 *
 * CGROUP-1. A process enters its cgroup before it becomes the sandbox; nothing inside can leave it.
 * CGROUP-2. The server's own cgroup is never changed: those of sandboxes are in it (v1) or beside it (v2).
 * CGROUP-3. Cgroups that a server left behind (it was killed or restarted in place, or a process in them was still
 *     ending) are removed by the next server.
 */
export interface Cgroups {
  /** One for a sandbox that is about to start; null when none can be made. */
  take(bounds: CgroupBounds): Cgroup | null;
}

export interface CgroupBounds {
  memoryBytes: number;
  processes: number;
}

export interface Cgroup {
  /** The files into which a process writes its number to enter. */
  readonly enter: readonly string[];
  /** Whether a process in it was killed because its memory was full. */
  ranOutOfMemory(): boolean;
  /** Nothing runs in it any more. A second time does nothing. */
  release(): void;
}

/** Null if there are none, or we may not use them. */
export async function openCgroups(): Promise<Cgroups | null> {
  opened ??= tried();
  return opened;
}

/** The same without trying whether a process can enter one: the first that does will tell. */
export function untriedCgroups(): Cgroups | null {
  if (untried === undefined) untried = made();
  return untried;
}

let opened: Promise<Cgroups | null> | undefined;
let untried: AllCgroups | null | undefined;

async function tried(): Promise<Cgroups | null> {
  untriedCgroups();
  const trial = untried?.take(TRIAL);
  const enters = trial && (await canEnter(trial));
  trial?.release();
  if (untried && enters) return untried;
  untried?.removeSpare();
  return null;
}

/** Null where none can be made. */
function made(): AllCgroups | null {
  const us = thisProcess(process.pid);
  const bases = us && cgroupBases(read("/proc/self/cgroup"), read("/proc/self/mountinfo"));
  if (!bases) return null;
  const owner = `agiraph-${us.pid}-${us.since}`;
  for (const { base } of bases) removeAbandoned(base);
  const all = new AllCgroups(bases, owner);
  process.on("exit", () => all.removeSpare());
  const trial = all.take(TRIAL);
  trial?.release();
  return trial ? all : null;
}

const TRIAL: CgroupBounds = { memoryBytes: 2 ** 30, processes: 64 };

const canEnter = ({ enter }: Cgroup) =>
  promisify(execFile)("/bin/sh", ["-c", 'for file; do echo $$ > "$file" || exit 1; done', "sh", ...enter]).then(
    () => true,
    () => false,
  );

/** A folder of the cgroup file system below which ours are made, and what is written there for the bounds. */
interface CgroupBase {
  base: string;
  version: 1 | 2;
  controllers: readonly ("memory" | "pids")[];
}

/** Exported for its tests: our cgroups and mounts, parsed from the kernel's text. */
export function cgroupBases(cgroups: string, mounts: string): CgroupBase[] | null {
  const own = new Map<string, string>();
  for (const line of cgroups.split("\n")) {
    const [, names, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    for (const name of names?.split(",") ?? []) own.set(name, path as string);
  }
  const folderOf = (controller: string) => {
    const path = own.get(controller);
    const mount = path === undefined ? undefined : mountOf(mounts, controller, path);
    return mount && path !== undefined ? join(mount.at, path.slice(mount.root === "/" ? 0 : mount.root.length)) : null;
  };
  const memory = folderOf("memory");
  if (memory) {
    const pids = folderOf("pids");
    const one = (base: string, controller: "memory" | "pids"): CgroupBase => ({
      base,
      version: 1,
      controllers: [controller],
    });
    return isOurs(memory) ? [one(memory, "memory"), ...(pids && isOurs(pids) ? [one(pids, "pids")] : [])] : null;
  }
  const unified = folderOf("");
  const base =
    unified && [unified, dirname(unified)].find((folder) => isOurs(folder) && gives(folder).includes("memory"));
  if (!base) return null;
  return [{ base, version: 2, controllers: gives(base).includes("pids") ? ["memory", "pids"] : ["memory"] }];
}

function mountOf(mounts: string, controller: string, path: string): { at: string; root: string } | undefined {
  for (const line of mounts.split("\n")) {
    const [, root = "", at = "", kind, options = ""] =
      /^\d+ \d+ \S+ (\S+) (\S+) .* - (cgroup2?) \S+ (\S+)$/.exec(line) ?? [];
    const fits = controller === "" ? kind === "cgroup2" : kind === "cgroup" && options.split(",").includes(controller);
    if (fits && (root === "/" || path === root || path.startsWith(`${root}/`))) return { at, root };
  }
  return undefined;
}

function isOurs(folder: string): boolean {
  try {
    for (const path of [folder, join(folder, "cgroup.procs")]) accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

const gives = (folder: string) => read(join(folder, "cgroup.subtree_control")).trim().split(" ");

class AllCgroups implements Cgroups {
  readonly #bases: readonly CgroupBase[];
  readonly #owner: string;
  /** A cgroup that was removed stays in the kernel as long as files it read are cached: it is better used again. */
  readonly #spare = new Map<string, string[]>();

  constructor(bases: readonly CgroupBase[], owner: string) {
    this.#bases = bases;
    this.#owner = owner;
  }

  take(bounds: CgroupBounds): Cgroup | null {
    const key = `${bounds.memoryBytes} ${bounds.processes}`;
    const spare = this.#spare.get(key)?.pop();
    const name = spare !== undefined && this.#isThere(spare) ? spare : this.#make(bounds);
    if (name === null) return null;
    const kills = this.#killsIn(name);
    let isTaken = true;
    return {
      enter: this.#bases.map(({ base }) => join(base, name, "cgroup.procs")),
      ranOutOfMemory: () => this.#killsIn(name) > kills,
      release: () => {
        if (isTaken) this.#release(key, name);
        isTaken = false;
      },
    };
  }

  removeSpare(): void {
    for (const names of this.#spare.values()) for (const name of names.splice(0)) this.#remove(name);
  }

  #isThere(name: string): boolean {
    return this.#bases.every(({ base }) => existsSync(join(base, name)));
  }

  #make(bounds: CgroupBounds): string | null {
    const name = `${this.#owner}-${randomBytes(4).toString("hex")}`;
    try {
      for (const { base, version, controllers } of this.#bases) {
        const folder = join(base, name);
        mkdirSync(folder);
        for (const controller of controllers) bound(folder, version, controller, bounds);
      }
      return name;
    } catch {
      this.#remove(name);
      return null;
    }
  }

  #release(key: string, name: string): void {
    const names = this.#spare.get(key) ?? [];
    this.#spare.set(key, names);
    if (names.length < mostSpare || !this.#remove(name)) names.push(name);
  }

  #remove(name: string): boolean {
    return this.#bases.map(({ base }) => removeFolder(join(base, name))).every(Boolean);
  }

  #killsIn(name: string): number {
    for (const { base, version, controllers } of this.#bases) {
      if (!controllers.includes("memory")) continue;
      const counts = read(join(base, name, version === 2 ? "memory.events" : "memory.oom_control"));
      return Number(/^oom_kill (\d+)$/m.exec(counts)?.[1] ?? 0);
    }
    return 0;
  }
}

const mostSpare = 8;

/** What confines has processes of its own in there. */
const confiningProcesses = 16;

function bound(folder: string, version: 1 | 2, controller: "memory" | "pids", bounds: CgroupBounds): void {
  const set = (file: string, value: number) => writeFileSync(join(folder, file), `${Math.ceil(value)}\n`);
  if (controller === "pids") {
    if (Number.isFinite(bounds.processes)) set("pids.max", bounds.processes + confiningProcesses);
    return;
  }
  if (!Number.isFinite(bounds.memoryBytes)) return;
  set(version === 2 ? "memory.max" : "memory.limit_in_bytes", bounds.memoryBytes);
  try {
    set(version === 2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes", version === 2 ? 0 : bounds.memoryBytes);
  } catch {
    // This kernel does not count swap.
  }
}

/** Of servers that are dead: their sandboxes died with them. Of ourselves too: a restart in place keeps the pid. */
function removeAbandoned(base: string): void {
  for (const name of list(base)) {
    const [, pid, since] = /^agiraph-(\d+)-(\d+)-[0-9a-f]+$/.exec(name) ?? [];
    const isOurs = Number(pid) === process.pid;
    if (pid && (isOurs || thisProcess(Number(pid))?.since !== since)) removeFolder(join(base, name));
  }
}

function removeFolder(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ENOENT";
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
