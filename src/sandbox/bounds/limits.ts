/** `disk`: bytes on disk; `files`: number of files. */
export type Bound = "memory" | "disk" | "files";

export interface Limits {
  processes: number;
  /** Of one process. What is reserved and not used costs nothing: WebAssembly takes 10 GiB for each memory. */
  addressSpaceBytes: number;
  /** Of all its processes together, with what lies in /tmp and /dev/shm inside. */
  memoryBytes: number;
  /** Of one file. */
  fileBytes: number;
  /** Of all that its writable folders hold. */
  diskBytes: number;
  /** In its writable folders together. */
  files: number;
  /** What must stay free on the disks it writes to. */
  freeDiskBytes: number;
  /** How many files must still find room there; on small disks a twentieth of all that do. */
  freeFiles: number;
  /** Of /tmp and of /dev/shm inside, which live in memory. */
  tmpBytes: number;
}

const GiB = 1024 ** 3;

export const defaultLimits: Limits = {
  processes: 512,
  addressSpaceBytes: 128 * GiB,
  memoryBytes: 4 * GiB,
  fileBytes: 2 * GiB,
  diskBytes: 8 * GiB,
  files: 1_000_000,
  freeDiskBytes: GiB / 2,
  freeFiles: 50_000,
  tmpBytes: GiB / 2,
};

/** With the limits of one command or program before those of the sandbox. */
export function limited<P extends { limits: Limits }>(ports: P, { limits }: { limits?: Partial<Limits> }): P {
  return { ...ports, limits: { ...ports.limits, ...limits } };
}
